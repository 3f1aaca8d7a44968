"""The guided tour: shows, offline and step by step, what a chat with MCP servers can do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from agent.chat.events import (
    Event,
    QuestionSettled,
    TextArrived,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
)
from agent.chat.messages import user
from agent.chat.outbox import Outbox, Pending
from agent.chat.questions import Answer, ApproveTool, FillForm, OpenUrl, Question
from agent.chat.report import KINDS
from agent.host.config.config import resolve
from agent.host.host import open_host
from agent.host.options import Options
from agent.ui.entries import parse
from agent.ui.environment import Environment
from agent.ui.escapes import cleaned
from agent.ui.exit_codes import ExitCode, exit_code
from agent.ui.forms import Field, form_fields
from agent.ui.lines import call_line, result_lines

if TYPE_CHECKING:
    from agent.ui.terminal.chat import Chat

_CONFIG = Path(__file__).with_name("tour.toml")
_TYPING = 0.015
"""Seconds between the characters of a request that is typed automatically."""


@dataclass(frozen=True, slots=True)
class Step:
    explanation: str
    request: str


STEPS = (
    Step(
        "1. A tool. The model asks for one of the server's tools, and nothing runs before you agree "
        "(y once, s twice for the whole session, n no).",
        "echo hello from the tour",
    ),
    Step("2. Arguments. They are checked against the tool's schema before it runs.", "add 3 and 5"),
    Step("3. Progress. A tool that takes its time says how far it is.", "run long_task for 2 seconds with 4 steps"),
    Step("4. Elicitation. In the middle of its work the server asks you, field by field.", "book a seat on ICE 5"),
    Step(
        "5. A page. What is no business of this chat, such as signing in, a server asks on a page in your own browser. "
        "You see where it leads, and it is opened only if you agree; y says that you are done there.",
        "link account example",
    ),
    Step(
        "6. Sampling. In the middle of its work the server asks the model. You see what it wants to know, and then "
        "what it will be told: either can be edited (e), allowed for good (a), or refused (n).",
        "summarize Servers offer tools, models choose them, people decide.",
    ),
)
FAREWELL = """That was the tour. What to try next:
  mcp-chat                           a chat, with the demo server
  mcp-chat -s my_server.py           with a server of your own
  mcp-chat tools                     what the servers offer
  mcp-chat -p "add 3 and 5" -y       one answer, for scripts; -o json for all of it
Set OPENAI_API_KEY or ANTHROPIC_API_KEY, and a real model answers."""


def tour(options: Options, environment: Environment) -> ExitCode:
    """Run the tour interactively; without a terminal, print it as a transcript."""
    options = Options(config=_CONFIG, yes=options.yes, color=options.color, verbose=options.verbose)
    if not environment.can_chat:
        config = resolve(replace(options, yes=True), environment.environ, environment.folder)
        return anyio.run(_show, config, environment)
    from agent.ui.terminal.chat import chat

    config = resolve(options, environment.environ, environment.folder)
    return anyio.run(chat, config, options, environment, _Guide(by_itself=options.yes))


@dataclass(frozen=True, slots=True)
class _Guide:
    """Types each request visibly. The user sends it; with `by_itself` the guide sends it, and leaves at the end."""

    by_itself: bool

    async def __call__(self, chat: Chat) -> None:
        await chat.host.settled()
        for step in STEPS:
            chat.say(f"\n{step.explanation}{'' if self.by_itself else ' Press Enter.'}", "bold yellow")
            await chat.screen.type_out(step.request, _TYPING)
            if self.by_itself:
                chat.screen.enter()
            await chat.take_line()
        chat.say(f"\n{FAREWELL}", "bold yellow")
        if self.by_itself:
            chat.leave()
        else:
            chat.say("\nThe chat goes on: type what you like, or leave with Ctrl-D.")


async def _show(config: Any, environment: Environment) -> ExitCode:
    """Run the same steps as a transcript; questions are answered automatically."""
    outbox = Outbox(_nearest_answer)
    code = ExitCode.ANSWERED
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write, outbox, environment)
        async with open_host(config, outbox, interactive=True) as host:
            await host.settled()
            for step in STEPS:
                environment.stdout.write(f"\n{step.explanation}\n> {step.request}\n")
                ended = await host.agent.turn(user(step.request))
                code = code or exit_code(ended.stop)
                await anyio.lowlevel.checkpoint()
        outbox.close()
    environment.stdout.write(f"\n{FAREWELL}\n")
    environment.stdout.flush()
    return code


async def _write(outbox: Outbox, environment: Environment) -> None:
    async for item in outbox.items:
        if not isinstance(item, Pending) and (text := _transcript(cleaned(item))):
            environment.stdout.write(text)
            environment.stdout.flush()


def _transcript(event: Event) -> str:
    match event:
        case TextArrived(text, origin=""):
            return text
        case ToolStarted(call, server, tool):
            return f"● {call_line(f'{server}/{tool}', call)}\n"
        case ToolProgressed(_, done, _, note):
            return f"  {note or f'{done:g}'}\n"
        case ToolFinished(result=result):
            return "".join(f"  └ {line}\n" for line in result_lines(result.content))
        case QuestionSettled(question, verdict) if not isinstance(question, ApproveTool):
            return f"  ? {question.server} asked ({KINDS[type(question)]}): {verdict}\n"
        case TurnEnded(detail=detail):
            return f"{detail}\n"
        case _:
            return ""


def _nearest_answer(question: Question) -> Answer:
    if isinstance(question, OpenUrl):
        return Answer("decline")  # nobody is there to visit the page
    if not isinstance(question, FillForm):
        return Answer("accept")
    return Answer("accept", {field.name: parse(field, _nearest(field)) for field in form_fields(question.schema)})


def _nearest(field: Field) -> str:
    if field.prefill or not field.choices:
        return field.prefill or "1"
    return field.choices[0].title
