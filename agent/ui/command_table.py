"""The commands and global options as a static table: help and errors come from it without importing what they run."""

from __future__ import annotations

from typing import NamedTuple

import click


class Entry(NamedTuple):
    """`takes` are the names of the command's arguments as usage shows them: "[X]" is optional, "X…" takes the rest."""

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
)


class Argument(click.Argument):
    """Shown in usage exactly as the table writes it."""

    def __init__(self, shown: str) -> None:
        optional, rest = shown.startswith("[") and shown.rstrip("…").endswith("]"), shown.endswith("…")
        super().__init__(
            [shown.strip("[]…").split("/")[-1].strip("]").lower()], required=not optional, nargs=-1 if rest else 1
        )
        self.shown = shown

    def make_metavar(self, ctx: click.Context) -> str:
        return self.shown


def global_options(*, hidden: bool = False) -> list[click.Parameter]:
    """Every option that stands before or after the command. Their names are the fields of `Options`."""
    made: list[click.Parameter] = [
        click.Option(["-p", "--prompt"], metavar="TEXT", help="Answer once and leave; - waits for a prompt on stdin."),
        click.Option(
            ["-m", "--model"], metavar="PROVIDER/MODEL", help="Which model answers, or an alias of the config."
        ),
        click.Option(["--system"], metavar="TEXT|@FILE", help="The system prompt."),
        click.Option(["-c", "--config"], metavar="FILE", help="Instead of your file and the project's."),
        click.Option(["--mcp-config"], multiple=True, metavar="FILE", help="Servers from another host's JSON."),
        click.Option(
            ["-s", "--server", "servers"],
            multiple=True,
            metavar="[NAME=]SPEC",
            help="One more server: a .py file, a command line, or bundled:NAME.",
        ),
        click.Option(["--only"], multiple=True, metavar="NAME", help="Start only this configured server."),
        click.Option(["--no-servers"], is_flag=True, help="Start none of the configured servers."),
        click.Option(
            ["-o", "--output"],
            type=click.Choice(["text", "json", "jsonl"]),
            default="text",
            help="The answer, one result object, or every event.",
        ),
        click.Option(["-y", "--yes"], is_flag=True, help="Run tools without asking, but for those denied."),
        click.Option(
            ["--allow"], multiple=True, metavar="PATTERN", help="Run these tools without asking: server/tool, *."
        ),
        click.Option(["--deny"], multiple=True, metavar="PATTERN", help="Never run these tools."),
        click.Option(
            ["--sampling"], type=click.Choice(["ask", "allow", "deny"]), help="May servers put requests to the model?"
        ),
        click.Option(
            ["--elicit"],
            metavar="ask|decline|cancel|defaults|FILE",
            help="How servers' forms are answered; FILE holds answers as JSON.",
        ),
        click.Option(["--max-turns"], type=click.IntRange(1), metavar="N", help="Model requests within one user turn."),
        click.Option(
            ["--timeout"],
            type=click.FloatRange(0, min_open=True),
            metavar="SECONDS",
            help="For the whole run of a single answer.",
        ),
        click.Option(["--max-tokens"], type=click.IntRange(1), metavar="N", help="The length of one reply."),
        click.Option(["--color"], type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours."),
        click.Option(["-v", "--verbose"], count=True, help="Show what is usually left out; -vv also tracebacks."),
    ]
    for option in made:
        assert isinstance(option, click.Option)
        option.hidden = hidden
    return made
