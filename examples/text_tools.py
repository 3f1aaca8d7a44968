"""Tools for `custom.toml`: ordinary functions, which need to know nothing of the protocol."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date


@dataclass
class Words:
    """`common` are the most frequent ones."""

    words: int
    different: int
    common: list[str]


def count_words(text: str, common: int = 3) -> Words:
    """Count the words of a text.

    Args:
        text: The text
        common: How many of the most frequent words to name
    """
    counts = Counter(text.lower().split())
    return Words(counts.total(), len(counts), [word for word, _ in counts.most_common(max(0, common))])


def days_until(day: date) -> int:
    return (day - date.today()).days
