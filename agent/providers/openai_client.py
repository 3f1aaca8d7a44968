"""Opens the HTTP client used by both OpenAI adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.providers.sdk import timeouts

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from agent.providers.registry import ProviderConfig


def open_client(config: ProviderConfig) -> AsyncOpenAI:
    """A client without retries of its own, whose base URL and API key are not taken from the environment."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(
        api_key=config.key,
        base_url=config.url,
        max_retries=0,
        timeout=timeouts(),
        default_headers=config.headers,
    )
    if not config.is_official:
        client.organization = client.project = None
    return client
