"""Providers, opened on first use and kept open; a model without a key fails when it is first asked."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator

import anyio

from agent.chat.provider import Provider, ProviderError, ProviderItem, Request
from agent.host.config.config import Config, ConfigError
from agent.host.model_choice import resolve_label
from agent.providers.registry import ProviderConfig, open_provider, warm_up

GOODBYE_SECONDS = 1.0


class Providers:
    def __init__(self, config: Config) -> None:
        self._config = config
        self._open: dict[str, Provider] = {}

    def get(self, label: str) -> Provider:
        """The provider of PROVIDER/MODEL, or of an alias.

        Raises:
            ConfigError: there is no such provider.
        """
        full = resolve_label(label, self._config.settings.models, self._config.providers)
        if full not in self._open:
            self._open[full] = _opened(full, self._config_of(full))
        return self._open[full]

    def usable(self, label: str) -> Provider:
        """As `get`, for a caller that can still choose another one.

        Raises:
            ConfigError: there is no such provider, or it cannot be used at present, for example without a key.
        """
        provider = self.get(label)
        if isinstance(provider, _Unusable):
            raise ConfigError(str(provider.error))
        return provider

    def _config_of(self, full: str) -> ProviderConfig:
        config = self._config.providers[full.partition("/")[0]]
        assert isinstance(config, ProviderConfig), "resolve_label refuses disabled ones"
        return config

    def warm_up(self, full: str) -> None:
        """Import the model's SDK in a daemon thread, so that the program's exit does not wait for it."""
        config = self._config_of(full)
        if config.kind == "mock":
            return
        import httpx2  # noqa: F401  # now: importing it in two threads at once may give one a partial module

        threading.Thread(target=warm_up, args=(config,), name=f"import for {full}", daemon=True).start()

    async def aclose(self) -> None:
        with anyio.move_on_after(GOODBYE_SECONDS, shield=True):
            for provider in self._open.values():
                await provider.aclose()


def _opened(full: str, config: ProviderConfig) -> Provider:
    try:
        return open_provider(config, full.partition("/")[2])
    except ProviderError as error:
        return _Unusable(full, error)


class _Unusable:
    """Replaces a model that cannot be used, so that everything else works without it."""

    def __init__(self, name: str, error: ProviderError) -> None:
        self.name, self.error = name, error

    async def stream(self, request: Request) -> AsyncGenerator[ProviderItem, None]:
        nothing: tuple[ProviderItem, ...] = ()
        for item in nothing:  # makes this function a generator, although it yields nothing
            yield item
        raise self.error

    async def aclose(self) -> None:
        pass
