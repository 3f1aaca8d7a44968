"""A form as a dialogue: one field at a time, then a review, then submission. Going back keeps what was typed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.chat.questions import Answer, FillForm
from agent.ui.entries import InvalidEntry, is_unchecked, parse
from agent.ui.escapes import spell, spell_line
from agent.ui.forms import Field, form_fields, hint, shown

Style = Literal["title", "host", "body", "warning", "error", "keys", "done"]
Line = tuple[Style, str]

CHOICES_SHOWN = 15
FILLED_SHOWN = 3
REVIEWED = 15
"""Completed fields that the review shows without folding."""
LONGEST_TITLE = 200  # characters; a message that is longer, or has several lines, is shown below the title
MESSAGE_ROWS, LONGEST_ROW = 6, 400

_DECLINE = "Ctrl-X decline · Ctrl-C cancel"


@dataclass(slots=True, eq=False)
class Filling:
    """Implements `agent.ui.dialogues.Dialogue`. `above` is shown between the title and the fields.

    With `edits`, typing extends a default instead of replacing it. `way_out` labels Shift-Tab at the first field.
    """

    question: FillForm
    answer: Answer | None = None
    title: str = ""
    above: tuple[Line, ...] = ()
    edits: bool = False
    way_out: str = "back"
    _fields: tuple[Field, ...] = ()
    _typed: dict[str, str] = field(default_factory=dict)
    _values: dict[str, Any] = field(default_factory=dict)
    _at: int = 0
    _fault: str = ""

    def __post_init__(self) -> None:
        self._fields = form_fields(self.question.schema)
        if self.title:
            return
        server, message = spell_line(self.question.server), spell(self.question.message)
        if len(message) <= LONGEST_TITLE and "\n" not in message:
            self.title = f"{server} asks: {message}"
        else:
            self.title, self.above = f"{server} asks:", (*self.above, *_cut(message.splitlines()))

    @property
    def typing(self) -> bool:
        return self._at < len(self._fields)

    @property
    def is_at_first(self) -> bool:
        return self._at == 0

    @property
    def prefill(self) -> str:
        one = self._fields[self._at]
        return self._typed.get(one.name, one.prefill)

    @property
    def is_default(self) -> bool:
        """True for the server's default, which typing replaces; False for text that the user typed or may edit."""
        one = self._fields[self._at]
        return not self.edits and bool(one.prefill) and one.name not in self._typed

    @property
    def details(self) -> str:
        """The full text of what is abbreviated: a long message, many choices, many completed fields."""
        rows = spell(self.question.message).splitlines()
        parts = ["\n".join(rows)] if _cut(rows) != _body(rows) else []
        if self.typing:
            parts += [text for _, text in self._choices()] if len(self._choices()) > CHOICES_SHOWN else []
        elif len(self._filled()) > REVIEWED:
            parts += [text for _, text in self._filled()]
        return "\n".join(parts)

    def lines(self) -> list[Line]:
        return [("title", self.title), *self.above, *(self._asked() if self.typing else self._review())]

    def enter(self, text: str) -> None:
        """Take the text for the current field, and go to the next field if it is valid; else the error is shown."""
        one = self._fields[self._at]
        self._typed[one.name] = text
        try:
            value = parse(one, text)
        except InvalidEntry as fault:
            self._fault = str(fault)
            return
        self._values.pop(one.name, None)
        if value is not None:
            self._values[one.name] = value
        self._go(self._at + 1)

    def press(self, key: str) -> None:
        match key:
            case "cancel":
                self.answer = Answer("cancel")
            case "decline":
                self.answer = Answer("decline")
            case "back":
                self._go(max(0, self._at - 1))
            case "enter" if not self.typing:
                self.answer = Answer("accept", {one.name: self._values[one.name] for one in self._given()})
            case _:
                pass

    def _go(self, at: int) -> None:
        self._fault, self._at = "", at

    def _given(self) -> list[Field]:
        return [one for one in self._fields[: self._at] if one.name in self._values]

    def _filled(self) -> list[Line]:
        return [("done", f"  {spell_line(one.title)}: {self._shown(one)}") for one in self._given()]

    def _shown(self, one: Field) -> str:
        value = self._values[one.name]
        return spell(shown(one, value)) + (
            " (not checked here against its pattern)" if is_unchecked(one, value) else ""
        )

    def _asked(self) -> Iterator[Line]:
        filled, one = self._filled(), self._fields[self._at]
        if len(filled) > FILLED_SHOWN:
            yield "done", f"  … {len(filled) - FILLED_SHOWN} more above"
        yield from filled[-FILLED_SHOWN:]
        notes = [note for note in (hint(one), "" if one.required else "may stay empty") if note]
        label = spell_line(one.title) + (f" ({spell_line(', '.join(notes))})" if notes else "")
        yield "title", f"{self._at + 1}/{len(self._fields)} {label}"
        for row in spell(one.description).splitlines():
            yield "body", f"  {row}"
        choices = self._choices()
        yield from choices[:CHOICES_SHOWN]
        if len(choices) > CHOICES_SHOWN:
            yield "body", f"  … {len(choices) - CHOICES_SHOWN} more (? shows all)"
        if self._fault:
            yield "error", spell(self._fault)
        yield "keys", f"{self._enter()} · Shift-Tab {'back' if self._at else self.way_out} · {_DECLINE}"

    def _enter(self) -> str:
        if self.edits:
            return "Enter next · Ctrl-U clears the line"
        return "Enter takes the default, typing replaces it" if self.is_default else "Enter next"

    def _choices(self) -> list[Line]:
        one = self._fields[self._at]
        return [
            ("body", f"  {f'{number})' if one.numbered else '-'} {spell_line(choice.title)}")
            for number, choice in enumerate(one.choices, 1)
        ]

    def _review(self) -> Iterator[Line]:
        filled = self._filled()
        yield from filled[:REVIEWED]
        if len(filled) > REVIEWED:
            yield "done", f"  … {len(filled) - REVIEWED} more (v shows all)"
        if not self._fields:
            yield "keys", f"Enter accept · {_DECLINE}"
        else:
            yield "keys", f"Enter send · Shift-Tab back · {_DECLINE}"


def _body(rows: list[str]) -> tuple[Line, ...]:
    return tuple(("body", f"  {row}") for row in rows)


def _cut(rows: list[str]) -> tuple[Line, ...]:
    """The first rows of a message, long rows cut."""
    shown = [row if len(row) <= LONGEST_ROW else f"{row[:LONGEST_ROW]}… (? shows all)" for row in rows[:MESSAGE_ROWS]]
    more = [f"… {len(rows) - MESSAGE_ROWS} more lines (? shows all)"] if len(rows) > MESSAGE_ROWS else []
    return _body([*shown, *more])
