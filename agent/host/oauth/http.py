"""The requests that signing in takes beside those of the transport."""

from __future__ import annotations

import httpx2

from agent import __version__
from agent.host.oauth.errors import failed


def open_client(server: str, seconds: float) -> httpx2.AsyncClient:
    """What makes them, each in as many seconds at most, through the proxies that the environment names.

    Raises:
        SignInFailed: what the environment names cannot be used.
    """
    try:
        return httpx2.AsyncClient(timeout=seconds, headers={"user-agent": f"mcp-chat/{__version__}"})
    except (ValueError, OSError) as error:
        why = f"a proxy or certificates that the environment names cannot be used: {error}"
        raise failed(server, why) from error
