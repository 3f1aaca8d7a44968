"""Finds tools by the words people use for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from agent.chat.provider import ToolSpec

STOPWORDS = re.compile(
    "an?|the|this|that|my|your|me|i|you|its?|is|are|was|be|do|does|did|of|to|in|on|at|for|from|with|by|and|or|s|what|"
    "how|there|some|please|thanks?|now|today|can|could|would|will|let"
)
SYNONYMS = {
    "+": "add", "plus": "add", "sum": "add", "summarise": "summarize", "summary": "summarize", "repeat": "echo",
    "say": "echo", "reserve": "book", "folder": "directory", "dir": "directory", "ls": "list", "repository": "repo",
}  # fmt: skip
WORD = re.compile(r"(?<=[\d\s])\+(?=[\d\s])|[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|\d+")


class Word(NamedTuple):
    """`stem` is used for comparison; the word is at `start` to `end` in the text."""

    stem: str
    start: int
    end: int


class Named(NamedTuple):
    """A tool named in the text, and where its name ends."""

    tool: ToolSpec
    start: int
    end: int


def words(text: str) -> list[Word]:
    """The words without stop words; `camelCase` and `snake_case` are split."""
    found = [Word(_stem(match[0]), match.start(), match.end()) for match in WORD.finditer(text)]
    return [word for word in found if not STOPWORDS.fullmatch(word.stem)]


def stems(text: str) -> tuple[str, ...]:
    return tuple(word.stem for word in words(text))


def bare(name: str) -> str:
    """A tool's name without its server prefix."""
    return name.split("__", 1)[-1]


def find_named(said: Sequence[Word], tools: Sequence[ToolSpec]) -> Named | None:
    """The first tool whose name's words are adjacent in the text; of several at one place the longest name."""
    by_first = _by_first_word(tools)
    for at, word in enumerate(said):
        fitting = [
            (name, tool)
            for name, tool in by_first.get(word.stem, ())
            if name == tuple(other.stem for other in said[at : at + len(name)])
        ]
        if fitting:
            name, tool = max(fitting, key=lambda pair: len(pair[0]))
            return Named(tool, word.start, said[at + len(name) - 1].end)
    return None


def find_by_name(name: str, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    """The tool shown as `name` or, failing that, the first whose name ends with it."""
    wanted = _flat(name)
    exact = (tool for tool in tools if _flat(tool.name) == wanted)
    ending = (tool for tool in tools if _flat(tool.name).endswith(f"__{wanted}"))
    return next(exact, None) or next(ending, None)


def find_nearest(name: str, tools: Sequence[ToolSpec]) -> str | None:
    names = {_flat(bare(tool.name)): tool.name for tool in tools} | {_flat(tool.name): tool.name for tool in tools}
    return next((names[near] for near in get_close_matches(_flat(name), names, n=1, cutoff=0.4)), None)


def _by_first_word(tools: Sequence[ToolSpec]) -> dict[str, list[tuple[tuple[str, ...], ToolSpec]]]:
    index: dict[str, list[tuple[tuple[str, ...], ToolSpec]]] = {}
    for tool in tools:
        for name in _spellings(tool):
            index.setdefault(name[0], []).append((name, tool))
    return index


def _spellings(tool: ToolSpec) -> Iterator[tuple[str, ...]]:
    yield from filter(None, {stems(bare(tool.name)), stems(tool.name)})


def _flat(name: str) -> str:
    return name.replace("/", "__").replace("-", "_").lower()


def _stem(word: str) -> str:
    word = word.lower()
    if word not in SYNONYMS and len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
    return SYNONYMS.get(word, word)
