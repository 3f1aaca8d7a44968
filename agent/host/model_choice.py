"""Chooses the chat's model, and says why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast, get_args

from agent.host.config.errors import ConfigError, Disabled, nearest
from agent.host.config.models import Kind, ProviderTable
from agent.providers.registry import DEFAULT_MODELS, ProviderConfig

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
MOCK = "mock/demo"
MOCK_MODELS = ("demo", "script")


def provider_configs(
    tables: Mapping[str, ProviderTable | Disabled], environ: Mapping[str, str]
) -> dict[str, ProviderConfig | Disabled]:
    """Every available provider: the configured ones, and each kind under its own name without configuration."""
    known = {kind: ProviderTable() for kind in get_args(Kind)} | dict(tables)
    return {
        name: table if isinstance(table, Disabled) else _provider_config(name, table, environ)
        for name, table in known.items()
    }


def _provider_config(name: str, table: ProviderTable, environ: Mapping[str, str]) -> ProviderConfig:
    kind: Kind = table.kind or cast(Kind, name)  # a provider without `kind` is named like a kind, or has been disabled
    key = table.api_key.get_secret_value() if table.api_key else None
    if key is None and table.base_url is None:  # the key in the environment is only for the vendor's own URL
        key = environ.get(KEYS.get(kind, ""))
    return ProviderConfig(
        name,
        kind,
        api=table.api,
        api_key=key,
        base_url=table.base_url,
        script=Path(table.script) if table.script else None,
        headers={header: value.get_secret_value() for header, value in table.headers.items()},
    )


def choose_model(
    asked: str | None,
    configured: str | None,
    aliases: Mapping[str, str],
    providers: Mapping[str, ProviderConfig | Disabled],
) -> tuple[str, str]:
    """PROVIDER/MODEL, and a sentence that says why it was chosen.

    Raises:
        ConfigError: there is no such provider, or it is disabled.
    """
    if asked is not None:
        return resolve_label(asked, aliases, providers), f"{asked} was asked for."
    if configured is not None:
        return resolve_label(configured, aliases, providers), "The configuration names it."
    for kind, variable in KEYS.items():
        provider = providers[kind]
        if isinstance(provider, ProviderConfig) and provider.api_key:
            return f"{kind}/{DEFAULT_MODELS[kind]}", f"No model is configured, and {variable} is set."
    return MOCK, f"No model is configured, and neither {' nor '.join(KEYS.values())} is set."


def resolve_label(label: str, aliases: Mapping[str, str], providers: Mapping[str, ProviderConfig | Disabled]) -> str:
    """PROVIDER/MODEL for a label given by a person: the same text, or what an alias stands for.

    Raises:
        ConfigError: there is no such provider, it is disabled, or there is no such mock model.
    """
    full = aliases.get(label, label)
    name, _, model = full.partition("/")
    if not model and name in providers:
        raise ConfigError(f"{full!r} is a provider without a model: write {name}/MODEL.")
    if not model:
        known = [*aliases, *(f"{provider}/MODEL" for provider in providers)]
        raise ConfigError(f"{full!r} is neither PROVIDER/MODEL nor an alias.{nearest(full, known)}")
    provider = providers.get(name)
    if provider is None:
        raise ConfigError(f"{full}: there is no provider {name!r}.{nearest(name, providers)}")
    if isinstance(provider, Disabled):
        raise ConfigError(f"{full} cannot be used: {provider.reason}")
    if provider.kind == "mock" and model not in MOCK_MODELS:  # of other providers the models are not known here
        raise ConfigError(f"{full}: there is no such model.{nearest(model, MOCK_MODELS)}")
    return full
