"""Calls and results as short lines of text, used by all renderers."""

from __future__ import annotations

import json

from agent.chat.messages import Audio, Content, Image, Text, ToolCall
from agent.ui.escapes import clean_line


def call_line(tool: str, call: ToolCall, limit: int = 160) -> str:
    """A tool call as one line of limited length."""
    if call.arguments is None:
        said = call.raw
    else:
        said = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    return clean_line(f"{tool}({said})", limit)


def dollars(cost: float) -> str:
    """An amount in US dollars; an amount above zero is never shown as zero."""
    if cost <= 0:
        return "nothing"
    return f"${cost:.4f}" if cost >= 0.0001 else "less than $0.0001"


def retry_line(reason: str, seconds: float) -> str:
    """Why a request is retried, and when."""
    return f"{reason} Trying again {f'in {seconds:.0f} s' if seconds >= 0.5 else 'now'}."


def result_lines(content: tuple[Content, ...], folded: int = 6) -> list[str]:
    """The first lines of a result, and how many more there are."""
    return fold(flat(content), folded) or ["(nothing)"]


def fold(text: str, folded: int) -> list[str]:
    """The first lines of `text`, each cut to a limited length, and how many more there are."""
    lines = text.splitlines()
    more = len(lines) - folded
    shown = [line if len(line) <= 400 else f"{line[:400]}… ({len(line):,} characters)" for line in lines[:folded]]
    return shown if more <= 0 else [*shown, f"… {more} more line{'s' * (more != 1)}"]


def message_text(content: tuple[Content, ...]) -> str:
    """A user message as text, with a line for each attachment."""
    first, *more = content or (Text(""),)
    return "\n".join([_part(first), *(f"+ {_named(part)}" for part in more)])


def _named(part: Content) -> str:
    if not isinstance(part, Text):
        return _part(part)
    line = part.text.partition("\n")[0]
    return (
        clean_line(line, 100)
        if len(line) == len(part.text)
        else f"{clean_line(line, 100)} … ({len(part.text):,} characters)"
    )


def flat(content: tuple[Content, ...]) -> str:
    """Content as text; anything but text is replaced by a description."""
    return "\n".join(_part(part) for part in content)


def _part(part: Content) -> str:
    match part:
        case Text(text):
            return text
        case Image(data, mime_type) | Audio(data, mime_type):
            return f"[{mime_type}, {len(data) * 3 // 4:,} bytes]"
