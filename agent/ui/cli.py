"""The command line: parses the arguments into an `Invocation` and passes it to the code that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from agent import __version__
from agent.ui.command_table import COMMANDS, Argument, Entry, global_options

if TYPE_CHECKING:
    from agent.host.options import Options
    from agent.ui.environment import Environment

SUMMARY = """Chat with a model that uses the tools of MCP servers.

Without a command it is a chat in the terminal; with -p, or with a prompt on a piped stdin, one answer."""


class Invocation(NamedTuple):
    """A parsed command line. `command` is "" for a chat or a single answer."""

    options: Options
    command: str = ""
    arguments: tuple[str, ...] = ()
    json: bool = False


class TextAskedError(Exception):
    """The command line asked only for a text, such as the help."""


def run(argv: Sequence[str], environment: Environment) -> int:
    """Run the whole program, from the arguments on. Returns the exit code."""
    try:
        invocation = parse(argv)
    except TextAskedError as asked:
        environment.stdout.write(f"{asked}\n")
        return 0
    except click.UsageError as error:
        environment.say(f"{_explained(error)}\nTry 'mcp-chat --help'.")
        return 2
    from agent.ui.start import start

    return start(invocation, environment)


def _explained(error: click.UsageError) -> str:
    if not isinstance(error, click.NoSuchOption):
        return error.format_message()
    from difflib import get_close_matches

    close = get_close_matches(error.option_name, error.possibilities or (), n=1)
    return f"There is no option {error.option_name!r}." + (f" Did you mean {close[0]!r}?" if close else "")


def parse(argv: Sequence[str]) -> Invocation:
    """
    Raises:
        click.UsageError: names what is wrong, and the nearest right one.
        TextAskedError: for --help and --version.
    """
    group = _Group(
        name="mcp-chat",
        help=SUMMARY,
        params=[*global_options(), *_texts()],
        callback=_without_command,
        invoke_without_command=True,
        no_args_is_help=False,
        add_help_option=False,
    )
    invocation = group.main(list(argv), prog_name="mcp-chat", standalone_mode=False)
    assert isinstance(invocation, Invocation)
    return invocation


class _Group(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, names = args[0], self.list_commands(ctx)
        if name not in names:
            from difflib import get_close_matches

            close = get_close_matches(name, names, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(names)}."
            raise click.UsageError(f"There is no command {name!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return next((_command(entry) for entry in COMMANDS if entry.name == cmd_name), None)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(" ".join([entry.name, *entry.takes]), entry.summary) for entry in COMMANDS])


def _command(entry: Entry) -> click.Command:
    arguments = [Argument(shown) for shown in entry.takes]
    listing: list[click.Parameter] = [click.Option(["--json", "as_json"], is_flag=True, help="As JSON.")]
    return click.Command(
        entry.name,
        help=entry.summary,
        params=[*arguments, *(listing if entry.lists else []), *global_options(hidden=True), *_texts()],
        epilog="Every option of 'mcp-chat --help' may stand here too.",
        callback=_with_command(entry, [str(argument.name) for argument in arguments]),
        add_help_option=False,
    )


def _with_command(entry: Entry, names: list[str]) -> Callable[..., Invocation]:
    def invoked(*, as_json: bool = False, **values: Any) -> Invocation:
        arguments: list[str] = []
        for name in names:
            value = values[name]
            arguments += [] if value is None else [value] if isinstance(value, str) else value
        return Invocation(_options(click.get_current_context()), entry.name, tuple(arguments), as_json)

    return invoked


def _without_command(**values: Any) -> Invocation:
    return Invocation(_options(click.get_current_context()))


def _options(context: click.Context) -> Options:
    """Merge the options before and after the command: the latter override, and repeatable options are concatenated."""
    from dataclasses import fields
    from pathlib import Path

    from agent.host.options import Options

    given: dict[str, Any] = {}
    for one in filter(None, (context.parent, context)):
        for field in fields(Options):
            if one.get_parameter_source(field.name) is click.core.ParameterSource.COMMANDLINE:
                value = one.params[field.name]
                given[field.name] = given.get(field.name, ()) + value if isinstance(value, tuple) else value
    given |= {name: Path(given[name]) for name in ("config", "trace") if name in given}
    if "mcp_config" in given:
        given["mcp_config"] = tuple(map(Path, given["mcp_config"]))
    return Options(**given)


def _texts() -> list[click.Parameter]:
    def help(context: click.Context, param: click.Parameter, asked: bool) -> None:
        if asked:
            _print(context.get_help())

    def version(context: click.Context, param: click.Parameter, asked: bool) -> None:
        if asked:
            _print(f"mcp-chat {__version__}")

    return [
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=version, help="Print the version."
        ),
        click.Option(
            ["--help"], is_flag=True, is_eager=True, expose_value=False, callback=help, help="Print this text."
        ),
    ]


def _print(text: str) -> NoReturn:
    raise TextAskedError(text)
