"""Guards every question: nothing can be accepted before all of it was shown, and a lasting grant needs a second key."""

from __future__ import annotations

from dataclasses import dataclass

from agent.chat.questions import Answer
from agent.ui.dialogues import Dialogue, Line

_LASTING = {"session": "for the whole session", "always": "always, in later sessions too"}
_FOLDED = "Not all of this has been in sight yet: v shows it."
_BELOW = "Not all of this has been on the screen yet: Space shows more."


@dataclass(slots=True, eq=False)
class Guarded:
    """Wraps another `agent.ui.dialogues.Dialogue`, and is one.

    The caller keeps `in_sight` up to date: whether all lines of the question have been on the screen.
    """

    inner: Dialogue
    in_sight: bool = True
    answer: Answer | None = None
    _read: str = ""
    _held: tuple[str, Answer] | None = None
    _note: str = ""

    @property
    def typing(self) -> bool:
        return self.inner.typing

    @property
    def prefill(self) -> str:
        return self.inner.prefill

    @property
    def is_default(self) -> bool:
        return self.inner.is_default

    @property
    def details(self) -> str:
        """The full text, unless all of it is on the screen; else empty."""
        if self.typing or (self.in_sight and not self.inner.details):
            return self.inner.details
        lines = self.inner.lines()
        titles = [text for style, text in lines if style in ("title", "host", "warning")]
        body = self.inner.details or "\n".join(text for style, text in lines if style in ("body", "done"))
        return "\n".join([*titles, body])

    def read_out(self) -> str:
        """Return `details`. Text that was folded counts as seen from now on."""
        self._read, self._note = self.inner.details, ""
        return self.details

    def lines(self) -> list[Line]:
        lines = self.inner.lines()
        if self._held:
            key, answer = self._held
            said = f"{key} again or Enter: {_LASTING[answer.remember]} · any other key as before"
            return [*(line for line in lines if line[0] != "keys"), ("keys", said)]
        return [*lines[:-1], ("error", self._note), lines[-1]] if self._note else lines

    def enter(self, text: str) -> None:
        """Take a submitted line."""
        self._note = ""
        self.inner.enter(text)

    def look_on(self) -> None:
        """A page was turned: clear the note about the last key, and a pending confirmation."""
        self._held, self._note = None, ""

    def press(self, key: str) -> None:
        """Take a key; a note is shown if it has no meaning here. Once there is an answer, later keys are ignored."""
        if self.answer:
            return
        held, self._held, self._note = self._held, None, ""
        if held and key in (held[0], "enter"):
            self.answer = held[1]
            return
        before = self.inner.lines()
        self.inner.press(key)
        if answer := self.inner.answer:
            self._weigh(key, answer)
        elif not self.typing and key != "back" and self.inner.lines() == before:
            self._note = f"{_named(key)} answers nothing here; these keys do:"

    def _weigh(self, key: str, answer: Answer) -> None:
        self.inner.answer = None
        if answer.verdict == "accept" and not self.in_sight:
            self._note = _BELOW
        elif answer.verdict == "accept" and self.inner.details != self._read:
            self._note = _FOLDED
        elif answer.verdict == "accept" and answer.remember != "once":
            self._held = key, answer
        else:
            self.answer = answer


def _named(key: str) -> str:
    if key == "enter":
        return "Enter"
    return f"“{key}”" if len(key) == 1 and key.isprintable() else "That key"
