"""Questions as small state machines: what they show, which keys they take, and the answer in the end."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from agent.chat.messages import Audio, Image, Message, Text, ToolCall, ToolMessage, ToolResult
from agent.chat.questions import (
    Answer,
    ApproveSampling,
    ApproveTool,
    FillForm,
    OpenUrl,
    Question,
    ReviewSample,
)
from agent.ui.entries import InvalidEntry, parse
from agent.ui.escapes import clean, clean_line
from agent.ui.forms import Field, form_fields, hint, shown

Style = Literal["title", "body", "error", "keys", "done"]
Line = tuple[Style, str]


class Dialogue(Protocol):
    """`answer` is None until the person has settled it. While `typing`, a line of text is wanted, else single keys."""

    answer: Answer | None

    @property
    def typing(self) -> bool: ...

    @property
    def prefill(self) -> str: ...

    @property
    def details(self) -> str:
        """All there is to see, where the lines show only its beginning; else empty."""
        ...

    def lines(self) -> list[Line]: ...

    def enter(self, text: str) -> None:
        """Take a typed line."""

    def press(self, key: str) -> None:
        """Take a key: a letter, or one of "enter", "back", "decline", "cancel"."""


@dataclass(slots=True, eq=False)
class Choosing:
    """A question that one key answers. `keys` maps it to what is said about it and the answer."""

    title: str
    body: str
    keys: dict[str, tuple[str, Answer]]
    answer: Answer | None = None
    typing: bool = False
    prefill: str = ""
    folded: int = 10

    @property
    def details(self) -> str:
        return self.body if self.body.count("\n") >= self.folded else ""

    def lines(self) -> list[Line]:
        rows = self.body.splitlines()
        hidden = len(rows) - self.folded if self.details else 0
        said = " · ".join(f"{key} {label}" for key, (label, _) in self.keys.items())
        lines: list[Line] = [("title", self.title), *_body(rows[: self.folded])]
        if hidden:
            lines.append(("body", f"… {hidden} more lines (v shows all)"))
        return [*lines, ("keys", f"{said} · Ctrl-C cancel")]

    def enter(self, text: str) -> None:
        self.press(text)

    def press(self, key: str) -> None:
        if key == "cancel":
            self.answer = Answer("cancel")
        elif key in self.keys:
            self.answer = self.keys[key][1]


@dataclass(slots=True, eq=False)
class Filling:
    """A form: field by field, then looked over, then sent. Going back keeps what was typed."""

    question: FillForm
    answer: Answer | None = None
    details: str = ""
    _fields: tuple[Field, ...] = ()
    _typed: dict[str, str] = field(default_factory=dict)
    _values: dict[str, Any] = field(default_factory=dict)
    _at: int = 0
    _fault: str = ""

    def __post_init__(self) -> None:
        self._fields = form_fields(self.question.schema)

    @property
    def typing(self) -> bool:
        return self._at < len(self._fields)

    @property
    def prefill(self) -> str:
        one = self._fields[self._at]
        return self._typed.get(one.name, one.prefill)

    def lines(self) -> list[Line]:
        title = f"{clean_line(self.question.server)} asks: {clean(self.question.message)}"
        filled = [self._filled(one) for one in self._fields[: self._at] if one.name in self._values]
        return [("title", title), *filled, *(self._asked() if self.typing else self._review())]

    def enter(self, text: str) -> None:
        """Take the text for the current field, or say what is wrong with it."""
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
        self._fault, self._at = "", self._at + 1

    def press(self, key: str) -> None:
        match key:
            case "cancel":
                self.answer = Answer("cancel")
            case "decline":
                self.answer = Answer("decline")
            case "back":
                self._fault, self._at = "", max(0, self._at - 1)
            case "enter" if not self.typing:
                self.answer = Answer("accept", {one.name: self._values[one.name] for one in self._given()})
            case _:
                pass

    def _given(self) -> list[Field]:
        return [one for one in self._fields if one.name in self._values]

    def _filled(self, one: Field) -> Line:
        return "done", f"  {clean_line(one.title)}: {clean(shown(one, self._values[one.name]))}"

    def _asked(self) -> list[Line]:
        one = self._fields[self._at]
        notes = [note for note in (hint(one), "" if one.required else "may stay empty") if note]
        label = clean_line(one.title) + (f" ({', '.join(notes)})" if notes else "")
        lines: list[Line] = [("title", f"{self._at + 1}/{len(self._fields)} {label}")]
        lines += _body(f"  {row}" for row in clean(one.description).splitlines())
        for number, choice in enumerate(one.choices, 1):
            lines.append(("body", f"  {f'{number})' if one.numbered else '-'} {clean_line(choice.title)}"))
        if self._fault:
            lines.append(("error", self._fault))
        return [*lines, ("keys", "Enter next · Shift-Tab back · Ctrl-X decline · Ctrl-C cancel")]

    def _review(self) -> list[Line]:
        send = "Enter send" if self._fields else "Enter accept"
        back = " · Shift-Tab back" if self._fields else ""
        return [("keys", f"{send}{back} · Ctrl-X decline · Ctrl-C cancel")]


def dialogue(question: Question) -> Dialogue:
    """How `question` is put to a person."""
    match question:
        case FillForm():
            return Filling(question)
        case ApproveTool(call, server, tool):
            title = f"Run {clean_line(server)}/{clean_line(tool)}?"
            return Choosing(title, _arguments(call), _approval("run it once", "for this session", "don't"))
        case ApproveSampling(server, model, request):
            title = f"{clean_line(server)} wants to ask {clean_line(model)} something. Allow it?"
            return Choosing(
                title, _sampling(request.system, request.messages), _approval("once", "for this session", "no")
            )
        case ReviewSample(server, model, reply):
            title = f"{clean_line(model)} answered. Send this to {clean_line(server)}?"
            said = [
                clean(reply.text),
                *(f"calls {clean_line(call.tool)} {_arguments(call)}" for call in reply.tool_calls),
            ]
            return Choosing(title, "\n".join(filter(None, said)), _approval("send", "for this session", "don't"))
        case OpenUrl(server, message, url):
            title = f"{clean_line(server)} asks you to open a page on {clean_line(urlsplit(url).hostname or url)}"
            return Choosing(title, f"{clean(message)}\n{clean(url)}", yes_or_no("I opened it", "no"))


def yes_or_no(yes: str, no: str) -> dict[str, tuple[str, Answer]]:
    """The keys of a question that is answered once and for all."""
    return {"y": (yes, Answer("accept")), "n": (no, Answer("decline"))}


def _body(rows: Iterable[str]) -> list[Line]:
    return [("body", row) for row in rows]


def _approval(once: str, session: str, no: str) -> dict[str, tuple[str, Answer]]:
    return {
        "y": (once, Answer("accept")),
        "s": (session, Answer("accept", remember="session")),
        "n": (no, Answer("decline")),
    }


def _arguments(call: ToolCall) -> str:
    if call.arguments is None:
        return clean(call.raw)
    return clean(json.dumps(call.arguments, ensure_ascii=False, indent=2)) if call.arguments else ""


def _sampling(system: str, messages: tuple[Message, ...]) -> str:
    size = len(system) + sum(len(_said(message)) for message in messages)
    rows = [f"{len(messages)} message{'s' * (len(messages) != 1)}, {size:,} characters"]
    if system:
        rows.append(f"system: {clean(system)}")
    return "\n".join([*rows, *(f"{_role(message)}: {clean(_said(message))}" for message in messages)])


def _role(message: Message) -> str:
    return type(message).__name__.removesuffix("Message").lower()


def _said(message: Message) -> str:
    parts = message.results if isinstance(message, ToolMessage) else message.content
    return "\n".join(_part(part) for part in parts)


def _part(part: Text | Image | Audio | ToolCall | ToolResult) -> str:
    match part:
        case Text(text):
            return text
        case ToolCall(tool=tool):
            return f"calls {tool} {_arguments(part)}"
        case ToolResult(content=content):
            return "\n".join(_part(one) for one in content)
        case Image(data, mime_type) | Audio(data, mime_type):
            return f"[{mime_type}, {len(data) * 3 // 4:,} bytes]"
