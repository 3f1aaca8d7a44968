"""Which addresses that servers name are not gone to."""

from __future__ import annotations

import pytest

from agent.host.oauth.addresses import objection

FAR, HERE, LAN = "https://mcp.example/mcp", "http://127.0.0.1:8000/mcp", "https://192.168.1.5/mcp"
PLAIN, PRIVATE = "it has no https", "it is an address of this network, and the server is not on it"


@pytest.mark.parametrize(
    ("url", "server", "why"),
    [
        ("https://login.example/authorize", FAR, None),
        ("http://login.example/authorize", FAR, PLAIN),
        ("http://login.example/authorize", HERE, PLAIN),
        ("http://127.0.0.1/authorize", HERE, None),
        ("http://localhost:9/authorize", HERE, None),
        ("http://127.0.0.1/authorize", FAR, PRIVATE),
        ("https://192.168.1.1/reboot", FAR, PRIVATE),
        ("https://192.168.1.1/authorize", LAN, None),
        ("https://[fe80::1]/authorize", FAR, PRIVATE),
        ("https://login.internal/authorize", FAR, PRIVATE),
        ("file:///etc/passwd", FAR, PLAIN),
        ("nowhere", FAR, PLAIN),
    ],
)
def test_only_what_is_safe_to_go_to_is_gone_to(url: str, server: str, why: str | None) -> None:
    assert objection(url, server) == why
