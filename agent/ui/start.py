"""Starts what the command line asks for: a chat, a single answer, the tour or another command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from agent.chat.events import TurnEnded
from agent.chat.messages import Stop
from agent.chat.report import Report
from agent.host.config.config import ConfigError
from agent.host.faults import innermost
from agent.host.options import Options
from agent.ui.configuring import configure
from agent.ui.environment import Environment, FolderError, OutputError
from agent.ui.escapes import clean
from agent.ui.exit_codes import ExitCode
from agent.ui.jsonl import json_line
from agent.ui.keyboard import keyboard
from agent.ui.logs import logs
from agent.ui.piped import NoPromptError, read_prompt
from agent.ui.result import result_object

if TYPE_CHECKING:
    from agent.ui.cli import Invocation


def start(invocation: Invocation, environment: Environment) -> ExitCode:
    """Run the invocation. Returns the exit code."""
    options = invocation.options
    try:
        with logs(shown=options.verbose > 1):
            return _do(invocation, environment)
    except NoPromptError as error:
        environment.say(str(error))
        return ExitCode.USAGE
    except (ConfigError, FolderError) as error:
        _report(str(error), "config", options, environment)
        return ExitCode.USAGE
    except KeyboardInterrupt:
        _result(Report(), options, environment)
        raise
    except Exception as error:  # an internal error too becomes a message for people and a result for scripts
        fault = innermost(error)
        if options.verbose > 1 or isinstance(fault, BrokenPipeError | OutputError):
            raise fault from error
        said = f"Something went wrong inside mcp-chat: {type(fault).__name__}: {fault} (-vv shows where)."
        _report(said, "internal", options, environment)
        return ExitCode.FAILED


def _do(invocation: Invocation, environment: Environment) -> ExitCode:
    if invocation.command == "demo":
        from agent.ui.tour import tour

        return tour(invocation.options, environment)
    if invocation.command:
        return _command(invocation, environment)
    return _talk(invocation.options, environment)


def _talk(options: Options, environment: Environment) -> ExitCode:
    prompt = read_prompt(options.prompt, environment)
    if prompt is None and not environment.can_chat:
        environment.say(
            "A chat needs a terminal for input and output. For one answer use -p TEXT, or pipe a prompt in."
        )
        return ExitCode.USAGE
    if prompt is None and options.output != "text":
        environment.say(f"-o {options.output} is for single answers: give a prompt with -p TEXT, or pipe one in.")
        return ExitCode.USAGE
    if prompt is None:
        return _chat(options, environment)
    ask = environment.can_ask and options.output == "text"
    config = configure(options, environment, ask=ask)
    from agent.ui.one_shot import answer_once, renderer

    shown = renderer(options.output, environment, verbose=options.verbose > 0)
    return anyio.run(answer_once, config, prompt, shown, environment, ask)


def _chat(options: Options, environment: Environment) -> ExitCode:
    with keyboard(environment.stdin) as typed:
        if typed:
            environment.stdout.write("\r\x1b[K")  # erase what the terminal has echoed; it appears in the draft
        draft = [typed]
        config = configure(options, environment, ask=environment.can_ask, draft=draft)
        from agent.ui.terminal.chat import chat

        return anyio.run(chat, config, options, environment, None, "".join(draft))


def _command(invocation: Invocation, environment: Environment) -> ExitCode:
    config = configure(invocation.options, environment, ask=environment.can_ask and invocation.command != "config")
    if invocation.command == "config":
        from agent.ui.checking import check

        return check(config, invocation, environment)
    if invocation.command in ("login", "logout"):
        from agent.ui.signing_in import sign_in_or_out

        return anyio.run(sign_in_or_out, config, invocation, environment)
    from agent.ui.by_hand import by_hand

    return anyio.run(by_hand, config, invocation, environment)


def _report(message: str, kind: str, options: Options, environment: Environment) -> None:
    """Report a run that could not start, in the output format of the options."""
    environment.say(clean(message))
    report = Report()
    report.add(TurnEnded(Stop.ERROR, message, kind))
    _result(report, options, environment)


def _result(report: Report, options: Options, environment: Environment) -> None:
    """Print the result object of a run that did not start, if the output format is JSON."""
    if options.output != "text":
        environment.stdout.write(json_line(result_object(report, 0.0)) + "\n")
        environment.stdout.flush()
