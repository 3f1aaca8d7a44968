"""Which adapter serves which provider, and the configuration needed to open one."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from agent.chat.provider import Provider, ProviderError
from agent.providers import sdk

SHORTEST_SECRET = 6
"""Minimum length of a key that is masked, in characters: a shorter one may occur within ordinary words."""

DEFAULT_MODELS = {"openai": "gpt-6.1-terra", "anthropic": "claude-sonnet-5-5"}

_OFFICIAL = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
_NO_KEY = "none"  # the SDKs require a key, local servers do not

_ADAPTERS = {
    "responses": ("agent.providers.openai_responses", "OpenAIResponses"),
    "chat": ("agent.providers.openai_chat", "OpenAIChat"),
    "messages": ("agent.providers.anthropic", "AnthropicMessages"),
}


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """One `[providers.NAME]`. `api` is for kind "openai" only; None chooses it by `base_url`."""

    name: str
    kind: Literal["openai", "anthropic", "mock"]
    api: Literal["responses", "chat"] | None = None
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    script: Path | None = None
    headers: dict[str, str] = field(default_factory=dict, hash=False, repr=False)

    @property
    def url(self) -> str:
        """The base URL. Always passed to the SDK, which would otherwise read it from the environment."""
        return self.base_url or _OFFICIAL[self.kind]

    @property
    def host(self) -> str:
        """Empty if the base URL is invalid."""
        try:
            address = urlsplit(self.url)
        except ValueError:
            return ""
        return address.hostname or "" if address.scheme in ("http", "https") else ""

    @property
    def is_official(self) -> bool:
        return self.host == urlsplit(_OFFICIAL[self.kind]).hostname

    @property
    def key(self) -> str:
        return self.api_key or _NO_KEY

    def mask(self, text: str) -> str:
        """`text` with the key masked."""
        return text if len(self.api_key or "") < SHORTEST_SECRET else text.replace(self.key, "***")


def open_provider(config: ProviderConfig, model: str) -> Provider:
    """The adapter for one model. Cheap: the SDK is imported by the first request, or earlier by `warm_up`.

    Raises:
        ProviderError: with kind "missing" when the provider needs an API key and has none, "not_found" when its
            `base_url` is not a usable address.
    """
    if config.kind == "mock":
        mock: Provider = import_module("agent.providers.mock.mock").MockProvider(model, config.script)
        return mock
    if not config.host:
        text = f"The base_url {config.url!r} of {config.name} is no address: write http://HOST or https://HOST."
        raise ProviderError("not_found", text)
    if config.is_official and not config.api_key:
        raise _missing_key(config)
    module, name = _ADAPTERS[_api_of(config)]
    adapter: type[Any] = getattr(import_module(module), name)
    provider: Provider = adapter(config, model)
    return provider


def warm_up(config: ProviderConfig) -> None:
    """Import the modules that the first request needs. Takes seconds, so run it in a thread."""
    if config.kind != "mock":
        sdk.load(config.kind)
        import_module("httpcore2")  # the SDK only imports it with the first client


def _api_of(config: ProviderConfig) -> str:
    if config.kind == "anthropic":
        return "messages"
    return config.api or ("chat" if config.base_url else "responses")


def _missing_key(config: ProviderConfig) -> ProviderError:
    variable = f"{config.kind.upper()}_API_KEY"
    return ProviderError(
        "missing",
        f"There is no API key for {config.name}: set {variable}, or api_key under [providers.{config.name}].",
    )
