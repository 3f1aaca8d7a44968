"""Renders events as text for a terminal with rich; each is drawn once and never redrawn."""

from __future__ import annotations

import io
import re
from typing import Any, ClassVar

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text as Styled

from agent.chat.events import (
    Event,
    Noticed,
    QuestionSettled,
    Retrying,
    SampleFinished,
    ServerChanged,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from agent.chat.messages import Stop
from agent.chat.questions import ApproveSampling, ApproveTool, AwaitPage, OpenUrl, Question
from agent.chat.report import KINDS
from agent.host.sampling.edits import BY_HAND
from agent.ui.lines import call_line, dollars, message_text, result_lines, retry_line

_PADDED = re.compile(r" +$", re.MULTILINE)
_LOUD = ("warning", "error", "critical", "alert", "emergency")


class Painter:
    """Renders values whose texts are cleaned as ANSI text of `width` cells."""

    def __init__(self, *, color: bool, verbose: bool = False) -> None:
        self._verbose = verbose
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system="standard" if color else None,
            no_color=not color,
            highlight=False,
            legacy_windows=False,
        )

    def ansi(self, renderable: RenderableType, width: int) -> str:
        self._console.width = max(10, width)  # else rich would prefer the variable COLUMNS to the terminal
        with self._console.capture() as capture:
            self._console.print(renderable, no_wrap=False)
        return _PADDED.sub("", capture.get())

    def text(self, text: str, width: int, style: str = "") -> str:
        """`text` unformatted, wrapped at words."""
        return self.ansi(Styled(text, style), width)

    def markdown(self, text: str, origin: str = "") -> RenderableType:
        """A finished block of a reply; a reply to a sampling request is indented under the name of the server."""
        drawn = _Prose(text, code_theme="ansi_dark", hyperlinks=False)
        return Padding(drawn, (0, 0, 0, 4)) if origin else drawn

    def event(self, event: Event) -> RenderableType | None:
        """The lines above the prompt for an event; None for what is shown elsewhere or not at all."""
        match event:
            case TurnStarted(message):
                return Styled("\n› ", "bold cyan") + Styled(message_text(message.content), "bold")
            case ToolFinished():
                return _tool(event)
            case SampleFinished(model=model) if model == BY_HAND:
                return Styled(f"◇ {event.server} was answered by you", "magenta")
            case SampleFinished(server, model, usage, verdict, cost):
                spent = f", {usage.input_tokens} + {usage.output_tokens} tokens" if usage else ""
                spent += f", {dollars(cost)}" if cost is not None else ""
                return Styled(f"◇ {server} asked {model}: {_SAMPLED[verdict]}{spent}", "magenta")
            case QuestionSettled():
                return _settled(event)
            case ServerChanged(name, "failed" | "lost" as state, detail):
                return Styled(f"✗ {name} {state}: {detail}", "red")
            case Noticed(server, level, text) if self._verbose or level not in ("debug", "info") or not server:
                return _notice(server, level, text)
            case Retrying(reason, seconds):
                return Styled(f"↻ {retry_line(reason, seconds)}", "yellow")
            case TurnEnded(stop, detail) if stop is not Stop.END:
                return Styled(f"■ {detail or _ENDED.get(stop, str(stop))}", "red" if stop is Stop.ERROR else "yellow")
            case _:
                return None


class _Code(CodeBlock):
    """A code block without a coloured box, which would be copied with the code and break in a narrower window."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        drawn = Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, background_color="default")
        yield Padding(drawn, (0, 0, 0, 2), expand=False)


class _Title(Heading):
    """A heading on the left, in bold, whatever its level."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.stylize("bold underline" if self.tag == "h1" else "bold")
        self.text.justify = "left"
        yield self.text


class _Prose(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Code,
        "code_block": _Code,
        "heading_open": _Title,
    }


def tool_block(title: str, lines: list[str], *, failed: bool, seconds: float) -> RenderableType:
    took = f" {seconds:.1f} s" if seconds >= 0.1 else ""
    head = Styled.assemble(("✗ " if failed else "● ", "red" if failed else "green"), title, (took, "dim"))
    body = Table.grid(padding=(0, 1, 0, 0))
    body.add_column(width=3)
    body.add_column(overflow="fold")
    style = "red" if failed else "dim"
    for number, line in enumerate(lines):
        body.add_row(Styled("  └" if number == 0 else "", style), Styled(line, style))
    return Group(head, body)


def _tool(event: ToolFinished) -> RenderableType:
    name = f"{event.server}/{event.tool}" if event.tool else event.call.tool
    lines = result_lines(event.result.content)
    return tool_block(call_line(name, event.call), lines, failed=event.result.is_error, seconds=event.seconds)


def _settled(event: QuestionSettled) -> RenderableType | None:
    if event.verdict == "accept" and isinstance(event.question, ApproveTool):
        return None  # the result of the call shows it
    if event.by == "withdrawn" and isinstance(event.question, AwaitPage):
        return None  # the server has reported that the page is finished
    why = f": {event.why}" if event.why else ""
    verdict = "withdrawn" if event.by == "withdrawn" else _VERDICTS[event.verdict]
    if event.by == "policy" and isinstance(event.question, ApproveSampling) and event.verdict != "accept":
        verdict = "stopped"
    return Styled(f"? {_asked(event.question)} was {verdict}{why}", "dim")


def _asked(question: Question) -> str:
    if isinstance(question, ApproveTool):
        return f"The call of {question.server}/{question.tool}"
    on = f" on {question.host}" if isinstance(question, OpenUrl) and question.host else ""
    return f"{_ASKED[KINDS[type(question)]]} {question.server}{on}"


def _notice(server: str, level: str, text: str) -> RenderableType:
    style = "yellow" if level in _LOUD else "dim"
    return Styled(f"! {server + ': ' if server else ''}{text}", style)


_VERDICTS: dict[Any, str] = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
_ASKED = {
    "form": "The form of",
    "url": "The page of",
    "page": "The page of",
    "roots": "Sharing the folders with",
    "sampling": "The model request of",
    "review": "The model's answer to",
}
_SAMPLED: dict[Any, str] = {**_VERDICTS, "accept": "answered", "error": "failed", "limit": "stopped by a limit"}
_ENDED = {
    Stop.INTERRUPTED: "Stopped. What was said so far is kept.",
    Stop.REFUSAL: "The model refused to answer.",
    Stop.TIMEOUT: "The time was up.",
}
