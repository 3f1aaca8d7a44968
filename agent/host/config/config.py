"""Combines files, options and the environment into one immutable configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.chat.policy import OfServer, Rule, ToolPolicy
from agent.host.config import values as config_values
from agent.host.config.answers import Answers, read_answers
from agent.host.config.entries import (
    choose,
    distrusted,
    entries_of,
    foreign_entries,
    load_answers,
    load_providers,
    load_servers,
    withhold,
)
from agent.host.config.errors import ConfigError, Disabled
from agent.host.config.files import Layer, data_folder, find_layers, settings_of
from agent.host.config.merge import loosened, merge_settings
from agent.host.config.models import ANSWERS, Approval, ProviderTable, ServerTable, Settings
from agent.host.config.options import apply_options, apply_to_server, named_files
from agent.host.config.servers import Entry, parse_spec
from agent.host.consent import Consent, agree
from agent.host.model_choice import choose_model, provider_configs
from agent.host.options import Options
from agent.providers.registry import ProviderConfig

__all__ = ["Config", "ConfigError", "Consent", "Disabled", "agree", "load_config", "resolve"]


@dataclass(frozen=True, slots=True)
class Config:
    """The complete configuration, determined before anything starts.

    `disabled` has the entries left out, each with its reason; `consent` is what the person must agree to before further
    servers start; `notices` are sentences for the person; `model_reason` says why `model` was chosen; `trace` is the
    file for all messages. `added` are the servers from --server; `files` are the options that name the files used.
    """

    settings: Settings
    servers: Mapping[str, ServerTable]
    providers: Mapping[str, ProviderConfig | Disabled]
    disabled: tuple[Disabled, ...]
    model: str
    model_reason: str
    answers: Answers = field(default_factory=dict)
    consent: Consent | None = None
    notices: tuple[str, ...] = ()
    data_folder: Path = Path()
    trace: Path | None = None
    added: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    def mask(self, text: str) -> str:
        """`text` with every secret of this configuration masked."""
        return config_values.mask(text, self.secrets)

    def approval(self, server: str) -> Approval:
        """The approval mode for sampling requests of `server`."""
        table = self.servers.get(server)
        return (table.sampling if table else None) or self.settings.sampling.approve

    def form_answer(self, server: str) -> str:
        """How elicitation forms of `server` are answered: one of `ANSWERS`, or the path of a file in `answers`."""
        table = self.servers.get(server)
        return (table.elicitation if table else None) or self.settings.elicitation.answer

    @property
    def tool_policy(self) -> ToolPolicy:
        permissions = self.settings.permissions
        allow: list[Rule] = [*permissions.allow]
        deny: list[Rule] = [*permissions.deny]
        for name, table in self.servers.items():
            allow += [OfServer(name, pattern) for pattern in table.tools.allow]
            deny += [OfServer(name, pattern) for pattern in table.tools.deny]
        return ToolPolicy(permissions.default, tuple(allow), tuple(deny))


def load_config(path: str | Path | None = None) -> Config:
    """The configuration from one file; without `path`, from the user's and the project's files.

    Raises:
        ConfigError: the configuration is invalid. An error in one server or provider only disables that one.
    """
    options = Options(config=Path(path) if path is not None else None)
    return resolve(options, os.environ, Path.cwd())


def resolve(options: Options, environ: Mapping[str, str], cwd: Path, agreed_to: Consent | None = None) -> Config:
    """Combine options, files and environment. `agreed_to` is valid for this run, whether or not it is remembered.

    Raises:
        ConfigError: the configuration is invalid. An error in one server or provider only disables that one.
    """
    layers = find_layers(options.config, environ, cwd)
    user, merged, notices = _settings(layers)
    settings = apply_options(merged, options, cwd)
    answers = _answers(settings)

    entries, added = _server_entries(layers, options, cwd)
    users = entries_of((layer for layer in layers if not layer.project), "servers")
    servers = load_servers(entries, users, user, environ)
    load_answers(entries, servers, answers)
    notices += distrusted(entries, servers)
    provider_entries = entries_of(layers, "providers")
    tables = load_providers(provider_entries, environ)
    both = [*entries.values(), *provider_entries.values()]
    consent = withhold(servers, tables, both, data_folder(environ) / "consent.json", agreed_to)
    if not (layers or options.mcp_config or added or options.no_servers):
        servers = {"demo": ServerTable(bundled="demo")}

    ready = {name: table for name, table in servers.items() if isinstance(table, ServerTable)} | added
    ready = {name: apply_to_server(table, options, cwd) for name, table in ready.items()}
    providers = provider_configs(tables, environ)
    model, reason = choose_model(options.model, settings.chat.model, settings.models, providers)
    return Config(
        settings=settings,
        servers=ready,
        providers=providers,
        disabled=tuple(table for table in (*servers.values(), *providers.values()) if isinstance(table, Disabled)),
        model=model,
        model_reason=reason,
        answers=answers,
        consent=consent,
        notices=notices,
        data_folder=data_folder(environ),
        trace=cwd / options.trace.expanduser() if options.trace else None,
        added=frozenset(added),
        files=named_files(options),
        secrets=_secrets(both, [*ready.values(), *tables.values()], providers, environ),
    )


def _settings(layers: list[Layer]) -> tuple[Settings, Settings, tuple[str, ...]]:
    """The user's settings, the same overlaid with the project's, and the project's keys that have no effect."""
    user = merged = Settings()
    notices: tuple[str, ...] = ()
    for layer in layers:
        if not layer.project:
            user = merged = settings_of(layer)
            continue
        project = settings_of(layer)
        merged = merge_settings(user, project)
        notices = tuple(
            f"{layer.path}: {key} has no effect: a project's file may not permit more than your own file does."
            for key in loosened(user, project)
        )
    return user, merged, notices


def _answers(settings: Settings) -> Answers:
    answer = settings.elicitation.answer
    return {} if answer in ANSWERS else {answer: read_answers(Path(answer))}


def _server_entries(
    layers: Iterable[Layer], options: Options, cwd: Path
) -> tuple[dict[str, Entry], dict[str, ServerTable]]:
    """The configured servers to start, and those from `--server`, which are added or replace one of the same name."""
    configured = entries_of(layers, "servers") | foreign_entries(cwd / path.expanduser() for path in options.mcp_config)
    added: dict[str, ServerTable] = {}
    for spec in options.servers:
        name, table = parse_spec(spec, {*configured, *added}, cwd)
        if name in added:
            raise ConfigError(f"--server: {name} is given twice; give one of them another name.")
        added[name] = table
    chosen = {} if options.no_servers else choose(configured, options.only, added)
    return {name: entry for name, entry in chosen.items() if name not in added}, added


def _secrets(
    entries: Iterable[Entry],
    tables: Iterable[ServerTable | ProviderTable | Disabled],
    providers: Mapping[str, ProviderConfig | Disabled],
    environ: Mapping[str, str],
) -> frozenset[str]:
    found: set[str] = set()
    for entry in entries:
        found |= config_values.secret_variables(entry.raw, environ)
    for table in tables:
        found |= set() if isinstance(table, Disabled) else config_values.secrets_of(table)
    for provider in providers.values():
        if isinstance(provider, ProviderConfig) and provider.api_key:
            found.add(provider.api_key)
    return frozenset(found)
