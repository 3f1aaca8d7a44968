"""The styles of the screen."""

from __future__ import annotations

from collections.abc import Sequence

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.styles import Style

STYLE = Style.from_dict(
    {
        "thinking": "italic ansibrightblack",
        "tool": "ansicyan",
        "queued": "ansibrightblack",
        "status": "ansibrightblack",
        "hint": "ansiyellow",
        "prompt": "bold ansicyan",
        "question.title": "bold ansiyellow",
        "question.host": "bold",
        "question.warning": "ansired",
        "question.done": "ansigreen",
        "question.error": "bold ansired",
        "question.keys": "ansibrightblack",
    }
)


def lined(rows: Sequence[tuple[str, str]]) -> StyleAndTextTuples:
    """Join rows of styled text with line breaks."""
    return [(style, f"{text}\n" if number < len(rows) else text) for number, (style, text) in enumerate(rows, 1)]
