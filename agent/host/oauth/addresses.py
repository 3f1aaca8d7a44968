"""Which URLs named by servers during authorization must not be requested."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from agent.host.transports import is_local


def objection(url: str, server: str) -> str | None:
    """Why a URL named by `server` or its authorization server is not requested (section "Security Considerations").

    Secrets are only sent over TLS, and a remote server must not direct requests to the local network.

    Raises:
        ValueError: the URL is invalid.
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
