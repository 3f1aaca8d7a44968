"""The HTTP client for OAuth requests."""

from __future__ import annotations

import httpx2

from agent import __version__
from agent.host.oauth.errors import failed


def open_client(server: str, seconds: float) -> httpx2.AsyncClient:
    """A client with a timeout of `seconds` for each request, and the proxies of the environment.

    Raises:
        SignInFailed: the environment's proxy settings are invalid.
    """
    try:
        return httpx2.AsyncClient(timeout=seconds, headers={"user-agent": f"mcp-chat/{__version__}"})
    except (ValueError, OSError) as error:
        why = f"a proxy or certificates that the environment names cannot be used: {error}"
        raise failed(server, why) from error
