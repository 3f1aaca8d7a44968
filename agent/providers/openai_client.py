"""Opens the client that both of OpenAI's APIs are spoken through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.providers.sdk import timeouts

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from agent.providers.registry import ProviderConfig


def open_client(config: ProviderConfig) -> AsyncOpenAI:
    """A client that retries nothing, and asks the environment neither where to go nor with which key."""
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
