"""Loads all servers and providers of the files one by one: an error in an entry only disables that entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent.host.config.answers import Answers, read_answers
from agent.host.config.errors import ConfigError, Disabled, nearest
from agent.host.config.files import Layer
from agent.host.config.json import own_keys, read_servers
from agent.host.config.merge import restrain
from agent.host.config.models import ANSWERS, ProviderTable, ServerTable, Settings
from agent.host.config.servers import Entry, load_provider, load_server
from agent.host.consent import Consent, agreed, describe_provider, describe_server, digest, leaves_this_machine

Loaded = Mapping[str, ServerTable | Disabled]

UNAGREED = (
    "nobody has agreed to it yet. Start mcp-chat in a terminal in that folder to be asked, or name the file with -c."
)


def entries_of(layers: Iterable[Layer], section: str) -> dict[str, Entry]:
    """Every entry of `section`, by name; an entry in a later file replaces one in an earlier file."""
    return {
        name: Entry(name, raw, f"{section}.{name}", layer.path, layer.text, layer.project)
        for layer in layers
        for name, raw in layer.entries(section).items()
    }


def foreign_entries(files: Iterable[Path]) -> dict[str, Entry]:
    """The servers in other hosts' files. Naming such a file on the command line counts as consent."""
    found: dict[str, Entry] = {}
    for path in files:
        key, servers = read_servers(path)
        found |= {
            name: Entry(name, own_keys(raw), f"{key}.{name}", path)
            for name, raw in servers.items()
            if not (isinstance(raw, dict) and raw.get("disabled") is True)
        }
    return found


def choose(entries: Mapping[str, Entry], only: Sequence[str], also: Iterable[str]) -> dict[str, Entry]:
    """The entries named in `only`, or all if it is empty.

    Raises:
        ConfigError: a name is neither an entry nor in `also`.
    """
    known = {*entries, *also}
    for name in only:
        if name not in known:
            raise ConfigError(f"--only {name}: there is no such server.{nearest(name, known)}")
    return {name: entry for name, entry in entries.items() if not only or name in only}


def load_servers(
    entries: Mapping[str, Entry], users: Mapping[str, Entry], user: Settings, environ: Mapping[str, str]
) -> dict[str, ServerTable | Disabled]:
    """`users` are the entries of the user's own file, `user` its settings: both restrict the project's servers."""
    loaded: dict[str, ServerTable | Disabled] = {}
    for name, entry in entries.items():
        table = load_server(entry, environ)
        if entry.project and isinstance(table, ServerTable):
            own = load_server(users[name], environ) if name in users else None
            table = restrain(table, own if isinstance(own, ServerTable) else None, user)
        loaded[name] = table
    return loaded


def distrusted(entries: Mapping[str, Entry], loaded: Loaded) -> tuple[str, ...]:
    """A sentence for each server that only the project's file, not the user's, marks as trusted."""
    return tuple(
        f"{entry.source}: {entry.where}.trust has no effect: your own file must trust the server."
        for name, entry in entries.items()
        if entry.project
        and isinstance(entry.raw, dict)
        and entry.raw.get("trust") is True
        and isinstance(table := loaded[name], ServerTable)
        and not table.trust
    )


def load_answers(entries: Mapping[str, Entry], loaded: dict[str, ServerTable | Disabled], answers: Answers) -> None:
    """Read the answer files that servers name into `answers`; a server whose file is invalid is disabled."""
    for name, table in loaded.items():
        if isinstance(table, Disabled) or table.elicitation in (None, *ANSWERS) or table.elicitation in answers:
            continue
        try:
            answers[table.elicitation] = read_answers(Path(table.elicitation))
        except ConfigError as error:
            loaded[name] = entries[name].disabled(f"{entries[name].where}.elicitation: {error}")


def load_providers(entries: Mapping[str, Entry], environ: Mapping[str, str]) -> dict[str, ProviderTable | Disabled]:
    return {name: load_provider(entry, environ) for name, entry in entries.items()}


def withhold(
    servers: dict[str, ServerTable | Disabled],
    providers: dict[str, ProviderTable | Disabled],
    entries: Iterable[Entry],
    remembered_in: Path,
    agreed_to: Consent | None = None,
) -> Consent | None:
    """Disable the project's entries without consent, and return the question to ask; None if there are none."""
    just_now = agreed_to.digests if agreed_to else ()
    lines, digests, path = [], [], Path()
    for entry in entries:
        table = (providers if entry.kind == "provider" else servers).get(entry.name)
        if not entry.project or table is None or isinstance(table, Disabled):
            continue
        if isinstance(table, ProviderTable) and not leaves_this_machine(table):
            continue
        mark = digest(entry.kind, entry.name, entry.raw)
        if mark in just_now or mark in agreed(remembered_in, entry.source):
            continue
        if isinstance(table, ProviderTable):
            lines.append(describe_provider(entry.name, table))
            providers[entry.name] = _withheld(entry)
        else:
            lines.append(describe_server(entry.name, table, entry.raw))
            servers[entry.name] = _withheld(entry)
        digests.append(mark)
        path = entry.source
    return Consent(path, tuple(lines), tuple(digests), remembered_in) if lines else None


def _withheld(entry: Entry) -> Disabled:
    return replace(entry.disabled(f"{entry.where}: {UNAGREED}"), awaits_consent=True)
