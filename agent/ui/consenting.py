"""A dialogue that allows something once, for the session or always, after the user has viewed and edited it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.chat.questions import Answer
from agent.ui.filling import Filling, Line

FOLDED = 10
"""Rows that are shown without asking for more."""
LONGEST_ROW = 1_000  # characters

Edits = Mapping[str, Any]
REMEMBER: dict[str, Literal["once", "session", "always"]] = {"y": "once", "s": "session", "a": "always"}


@dataclass(slots=True, eq=False)
class Consenting:
    """Implements `agent.ui.dialogues.Dialogue`.

    `body` returns the rows to show, with the edits applied; `edit`, if there is one, makes the form for editing.
    `write`, if there is one, makes a form whose content is the answer itself; with `must_write` the dialogue begins
    with that form and offers nothing else.
    """

    title: str
    keys: str
    body: Callable[[Edits], list[str]]
    edit: Callable[[Edits], Filling] | None
    write: Callable[[], Filling] | None = None
    must_write: bool = False
    answer: Answer | None = None
    _edits: dict[str, Any] = field(default_factory=dict)
    _form: Filling | None = None
    _is_writing: bool = False
    _rows: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rows = self.body(self._edits)
        if self.must_write:
            self._begin_writing()

    @property
    def typing(self) -> bool:
        return self._form is not None and self._form.typing

    @property
    def prefill(self) -> str:
        return self._form.prefill if self._form else ""

    @property
    def is_default(self) -> bool:
        return self._form is not None and self._form.is_default

    @property
    def details(self) -> str:
        rows = self._rows
        is_long = len(rows) > FOLDED or any(len(row) > LONGEST_ROW for row in rows)
        return "\n".join(rows) if is_long else ""

    def lines(self) -> list[Line]:
        if self._form:
            return self._form.lines()
        return [("title", self.title), *folded(self._rows), ("keys", self.keys)]

    def enter(self, text: str) -> None:
        if self._form:
            self._form.enter(text)

    def press(self, key: str) -> None:
        if self._form:
            self._press_in(self._form, key)
        elif key in REMEMBER:
            self.answer = Answer("accept", self._edits or None, remember=REMEMBER[key])
        elif key in ("n", "decline"):
            self.answer = Answer("decline")
        elif key == "cancel":
            self.answer = Answer("cancel")
        elif key == "e" and self.edit:
            self._form = self.edit(self._edits)
        elif key == "w":
            self._begin_writing()

    def _begin_writing(self) -> None:
        if self.write:
            self._form, self._is_writing = self.write(), True

    def _press_in(self, form: Filling, key: str) -> None:
        """Going back from the first field closes the form; ending it otherwise answers the question or saves edits."""
        if key == "back" and form.is_at_first and not self.must_write:
            self._form, self._is_writing = None, False
            return
        form.press(key)
        answer, form.answer = form.answer, None
        if answer is None:
            return
        content = answer.content or {}
        if answer.verdict != "accept" or self._is_writing:
            self.answer = answer
        else:
            self._edits, self._form = _emptied(form) | content, None
            self._rows = self.body(self._edits)


def folded(rows: list[str], most: int = FOLDED) -> Iterator[Line]:
    """The first `most` rows, and how many more there are; a very long row is cut."""
    for row in rows[:most]:
        yield "body", row if len(row) <= LONGEST_ROW else f"{row[:LONGEST_ROW]}… (v or ? shows all)"
    if len(rows) > most:
        yield "body", f"… {len(rows) - most} more lines (v or ? shows all)"


def _emptied(form: Filling) -> dict[str, Any]:
    """The text fields as empty strings: a field that the user cleared is empty, not unchanged."""
    fields: dict[str, Any] = form.question.schema["properties"]
    return {name: "" for name, rules in fields.items() if rules["type"] == "string"}
