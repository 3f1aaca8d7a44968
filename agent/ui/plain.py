"""The answer as text on stdout, and everything else as lines on stderr."""

from __future__ import annotations

from agent.chat.events import (
    Event,
    MessageFinished,
    Noticed,
    QuestionSettled,
    Retrying,
    ServerChanged,
    TextArrived,
    ToolFinished,
    TurnEnded,
)
from agent.chat.messages import Stop
from agent.chat.report import Report
from agent.ui.environment import Environment
from agent.ui.escapes import Cleaner, clean, cleaned
from agent.ui.lines import call_line, result_lines, retry_line

_LOUD = ("warning", "error", "critical", "alert", "emergency")


class Plain:
    """On a terminal the text is streamed; a pipe gets the last message only, which is the answer."""

    shows_cost = False

    def __init__(self, environment: Environment, *, verbose: bool = False) -> None:
        self._environment, self._verbose = environment, verbose
        self._streams = environment.stdout.isatty()
        self._cleaner = Cleaner()
        self._detail = ""

    def show(self, event: Event) -> None:
        match event:
            case TextArrived(text, origin="") if self._streams:
                self._write(self._cleaner.feed(text))
            case MessageFinished(message) if self._streams and message.text:
                self._write(self._cleaner.finish() + "\n" * (not message.text.endswith("\n")))
            case TextArrived() | MessageFinished():
                pass
            case _:
                self._note(cleaned(event))

    def finish(self, report: Report, seconds: float, cost: float | None = None) -> None:
        if not self._streams and report.text:
            self._write(clean(report.text) + "\n" * (not report.text.endswith("\n")))
        if report.stop is not Stop.END:
            self._say(clean(self._detail) or "Interrupted.")

    def _note(self, event: Event) -> None:
        match event:
            case TurnEnded(detail=detail):
                self._detail = detail
            case ServerChanged(name, "failed" | "lost", detail):
                self._say(f"{name}: {detail}")
            case Noticed(server, level, text) if self._verbose or level in _LOUD:
                self._say(f"{server}: {text}" if server else text)
            case Retrying(reason, seconds):
                self._say(retry_line(reason, seconds))
            case QuestionSettled(question, verdict, "policy", why) if verdict != "accept":
                self._say(f"{question.server}: {why or 'refused'}")
            case ToolFinished(call, server, tool, result) if self._verbose:
                name = f"{server}/{tool}" if tool else call.tool
                self._say(f"{'✗' if result.is_error else '●'} {call_line(name, call)}")
                self._say("\n".join(f"  {line}" for line in result_lines(result.content)))
            case _:
                pass

    def _say(self, line: str) -> None:
        self._environment.say(line)

    def _write(self, text: str) -> None:
        self._environment.stdout.write(text)
        self._environment.stdout.flush()
