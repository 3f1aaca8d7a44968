"""Questions as small state machines: what they show, which keys they take, and finally the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agent.chat.questions import (
    Answer,
    ApproveSampling,
    ApproveTool,
    AwaitPage,
    FillForm,
    OpenUrl,
    Question,
    ReviewSample,
    ShareRoots,
)
from agent.ui.consenting import FOLDED, LONGEST_ROW, folded
from agent.ui.escapes import spell, spell_line
from agent.ui.filling import Filling, Line, Style
from agent.ui.sampling_dialogues import approving, arguments_text, reviewing

__all__ = ["Choosing", "Dialogue", "Filling", "Line", "Style", "dialogue", "yes_or_no"]

Keys = dict[str, tuple[str, Answer]]


class Dialogue(Protocol):
    """`answer` is None until the user has answered. If `typing`, a line of text is expected, else single keys."""

    answer: Answer | None

    @property
    def typing(self) -> bool: ...

    @property
    def prefill(self) -> str: ...

    @property
    def is_default(self) -> bool:
        """Whether the first typed character replaces the prefill."""
        ...

    @property
    def details(self) -> str:
        """The full text where `lines` shows only its beginning; else empty."""
        ...

    def lines(self) -> list[Line]: ...

    def enter(self, text: str) -> None:
        """Take a submitted line."""

    def press(self, key: str) -> None:
        """Take a key: a letter, or one of "enter", "back", "decline", "cancel"."""


@dataclass(slots=True, eq=False)
class Choosing:
    """A question that one key answers. `keys` maps a key to its label and answer; `above` is never folded.

    The key "decline" (Ctrl-X) gives the first answer whose verdict is "decline".
    """

    title: str
    body: str
    keys: Keys
    above: tuple[Line, ...] = ()
    answer: Answer | None = None
    typing: bool = False
    prefill: str = ""
    is_default: bool = False

    @property
    def details(self) -> str:
        rows = self.body.splitlines()
        return self.body if len(rows) > FOLDED or any(len(row) > LONGEST_ROW for row in rows) else ""

    def lines(self) -> list[Line]:
        said = " · ".join(f"{key} {label}" for key, (label, _) in self.keys.items())
        return [
            ("title", self.title),
            *self.above,
            *folded(self.body.splitlines()),
            ("keys", f"{said} · Ctrl-C cancel"),
        ]

    def enter(self, text: str) -> None:
        self.press(text)

    def press(self, key: str) -> None:
        if key == "cancel":
            self.answer = Answer("cancel")
        elif key == "decline":
            self.answer = next((one for _, one in self.keys.values() if one.verdict == "decline"), None)
        elif key in self.keys:
            self.answer = self.keys[key][1]


def dialogue(question: Question) -> Dialogue:
    """The dialogue that asks `question`."""
    match question:
        case FillForm():
            return Filling(question)
        case ApproveSampling():
            return approving(question)
        case ReviewSample():
            return reviewing(question)
        case OpenUrl():
            return _opening(question)
        case AwaitPage(server, message, url, host):
            title = f"{spell_line(server)} waits until you are done on {spell_line(host)}"
            return Choosing(title, f"{spell(message)}\n{spell(url)}", _page_keys())
        case ShareRoots(server, folders):
            title = f"{spell_line(server)} asks which folders you work in. May it know these?"
            return Choosing(title, "\n".join(map(spell, folders)), _granting("this time", "no, not in this session"))
        case ApproveTool(call, server, tool):
            title = f"Run {spell_line(server)}/{spell_line(tool)}?"
            return Choosing(title, arguments_text(call), _approval("run it once", "for this session", "don't"))


def yes_or_no(yes: str, no: str) -> Keys:
    """The keys of a question whose answer is not remembered for the session."""
    return {"y": (yes, Answer("accept")), "n": (no, Answer("decline"))}


def _opening(question: OpenUrl) -> Choosing:
    """The host has a line of its own, because it is what the user judges a URL by; the whole URL stands below it."""
    above: list[Line] = [("host", f"  {spell_line(question.host)}")]
    above += [("warning", f"! {spell(warning)}") for warning in question.warnings]
    keys = {
        "y": ("open it in the browser", Answer("accept")),
        "m": ("I open it myself", Answer("accept", {"open": False})),
        "n": ("no", Answer("decline")),
    }
    title = f"{spell_line(question.server)} asks you to open a page on"
    return Choosing(title, f"{spell(question.message)}\n{spell(question.url)}", keys, tuple(above))


def _page_keys() -> Keys:
    return {
        "y": ("I am done", Answer("accept")),
        "o": ("open it again", Answer("accept", {"open": True})),
        "n": ("give up", Answer("decline")),
    }


def _approval(once: str, session: str, no: str) -> Keys:
    return {
        "y": (once, Answer("accept")),
        "s": (session, Answer("accept", remember="session")),
        "n": (no, Answer("decline")),
    }


def _granting(once: str, no: str) -> Keys:
    return {
        "y": (once, Answer("accept")),
        "s": ("for this session", Answer("accept", remember="session")),
        "a": ("always", Answer("accept", remember="always")),
        "n": (no, Answer("decline")),
    }
