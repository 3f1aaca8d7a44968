"""The commands and global options as a static table, so that help and usage errors need no import of the commands."""

from __future__ import annotations

from typing import NamedTuple

import click


class Entry(NamedTuple):
    """A command. `takes` names its arguments as usage shows them: "[X]" is optional, "X…" takes all that follow."""

    name: str
    summary: str
    takes: tuple[str, ...] = ()
    lists: bool = False


COMMANDS = (
    Entry("demo", "A guided tour of tools, progress, elicitation and sampling, offline."),
    Entry("servers", "Connect to each server: transport, revision, latency and counts, or why not.", (), True),
    Entry("tools", "The tools of all servers, or of one.", ("[SERVER]",), True),
    Entry("call", "Call a tool by hand, with a JSON object or KEY=VALUE.", ("[SERVER/]TOOL", "[ARGUMENTS]…"), True),
    Entry("resources", "The resources of all servers, or of one.", ("[SERVER]",), True),
    Entry("read", "Read a resource.", ("URI",), True),
    Entry("prompts", "The prompts of all servers, or of one.", ("[SERVER]",), True),
    Entry("prompt", "Get a prompt, with a JSON object or KEY=VALUE.", ("[SERVER/]NAME", "[ARGUMENTS]…"), True),
    Entry("login", "Sign in to a server, by its name or URL, in the browser.", ("SERVER",)),
    Entry("logout", "Forget the token for a server.", ("SERVER",)),
    Entry("config", "With check: faults in the configuration, and secrets that others can see.", ("ACTION",)),
)


class Argument(click.Argument):
    """A click argument, shown in usage exactly as the table writes it."""

    def __init__(self, shown: str) -> None:
        optional, rest = shown.startswith("[") and shown.rstrip("…").endswith("]"), shown.endswith("…")
        super().__init__(
            [shown.strip("[]…").split("/")[-1].strip("]").lower()], required=not optional, nargs=-1 if rest else 1
        )
        self.shown = shown

    def make_metavar(self, ctx: click.Context) -> str:
        return self.shown


def global_options(*, hidden: bool = False) -> list[click.Parameter]:
    """Every option that may stand before or after the command. Their names are the fields of `Options`."""
    made = [*_conversation(), *_servers(), *_permissions(), *_limits(), *_appearance()]
    for option in made:
        option.hidden = hidden
    return list(made)


def _conversation() -> list[click.Option]:
    return [
        _text("-p", "--prompt", metavar="TEXT", help="Answer once and leave; - waits for a prompt on stdin."),
        _text("-m", "--model", metavar="PROVIDER/MODEL", help="Which model answers, or an alias of the config."),
        _text("--system", metavar="TEXT|@FILE", help="The system prompt."),
        _choice("-o", "--output", of=("text", "json", "jsonl"), help="The answer, one result object, or every event."),
    ]


def _servers() -> list[click.Option]:
    spec = "One more server: a .py file, a command line, a URL, or bundled:NAME."
    return [
        _text("-c", "--config", metavar="FILE", help="Instead of your file and the project's."),
        _texts("--mcp-config", metavar="FILE", help="Servers from another host's JSON."),
        _texts("-s", "--server", "servers", metavar="[NAME=]SPEC", help=spec),
        _texts("--only", metavar="NAME", help="Start only this configured server."),
        click.Option(["--no-servers"], is_flag=True, help="Start none of the configured servers."),
    ]


def _permissions() -> list[click.Option]:
    elicit = 'How servers\' forms are answered; FILE holds answers: {"SERVER": {"FIELD": "VALUE"}}.'
    return [
        click.Option(["-y", "--yes"], is_flag=True, help="Run tools without asking, but for those denied."),
        _texts("--allow", metavar="PATTERN", help="Run these tools without asking: server/tool, *."),
        _texts("--deny", metavar="PATTERN", help="Never run these tools."),
        _choice("--sampling", of=("ask", "allow", "deny"), help="May servers put requests to the model?"),
        _text("--elicit", metavar="ask|decline|cancel|defaults|FILE", help=elicit),
    ]


def _limits() -> list[click.Option]:
    count, seconds = click.IntRange(1), click.FloatRange(0, min_open=True)
    return [
        click.Option(["--max-turns"], type=count, metavar="N", help="Model requests within one user turn."),
        click.Option(["--timeout"], type=seconds, metavar="SECONDS", help="For the whole run of a single answer."),
        click.Option(["--max-tokens"], type=count, metavar="N", help="The length of one reply."),
    ]


def _appearance() -> list[click.Option]:
    return [
        _text("--trace", metavar="FILE", help="Write every message of every server there, as lines of JSON."),
        _choice("--color", of=("auto", "always", "never"), help="Colours."),
        click.Option(["-v", "--verbose"], count=True, help="Show what is usually left out; -vv also tracebacks."),
    ]


def _text(*names: str, metavar: str, help: str) -> click.Option:
    return click.Option(names, metavar=metavar, help=help)


def _texts(*names: str, metavar: str, help: str) -> click.Option:
    return click.Option(names, multiple=True, metavar=metavar, help=help)


def _choice(*names: str, of: tuple[str, ...], help: str) -> click.Option:
    return click.Option(names, type=click.Choice(of), help=help)
