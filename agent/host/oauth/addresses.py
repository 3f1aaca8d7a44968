"""Addresses that servers name on the way to a token: which of them are not gone to."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from agent.host.transports import is_local


def objection(url: str, server: str) -> str | None:
    """Why nobody goes to a URL that `server` or its authorization server named (section "Security Considerations").

    Secrets travel by TLS or not at all, and a server elsewhere has no business with what is on this network.

    Raises:
        ValueError: the URL is none.
    """
    scheme = urlsplit(url).scheme
    if scheme != "https" and not (scheme == "http" and is_local(url)):
        return "it has no https"
    if _is_private(url) and not _is_private(server):
        return "it is an address of this network, and the server is not on it"
    return None


def _is_private(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return is_local(url) or host.endswith((".localhost", ".local", ".internal"))
