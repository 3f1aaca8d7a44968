from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ui.terminal.blocks import LIMIT, Blocks


def blocks(text: str, size: int = 1) -> list[str]:
    cutter = Blocks()
    done = [block for at in range(0, len(text), size) for block in cutter.feed(text[at : at + size])]
    return done + cutter.finish()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo\n\nthree", ["one\ntwo", "three"]),
        ("# Title\ntext", ["# Title", "text"]),
        ("- a\n- b\n\n- c\n\ntext", ["- a\n- b\n\n- c", "text"]),
        ("- a\n\n  more of a\n- b", ["- a\n\n  more of a\n- b"]),
        ("Shopping:\n- a\n- b", ["Shopping:", "- a\n- b"]),
        ("In 1999\n2. is no item", ["In 1999\n2. is no item"]),
        ("```py\na\n\nb\n```\ntext", ["```py\na\n\nb\n```", "text"]),
        ("````\n```\n````\nx", ["````\n```\n````", "x"]),
        ("~~~\nx", ["~~~\nx"]),
        ("text\n```\nx\n```", ["text", "```\nx\n```"]),
        ("- a\n  ```\n  x\n\n  ```\n- b", ["- a\n  ```\n  x\n\n  ```\n- b"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nx", ["| a | b |\n|---|---|\n| 1 | 2 |", "x"]),
        ("a\n***\nb", ["a\n***", "b"]),
        ("> quoted\n> more\n\nx", ["> quoted\n> more", "x"]),
        ("\n\n\n", []),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_text_is_cut_where_a_block_ends_however_it_arrives(text: str, expected: list[str], size: int) -> None:
    assert blocks(text, size) == expected


def test_a_block_leaves_the_tail_as_soon_as_it_is_complete() -> None:
    cutter = Blocks()
    assert (cutter.feed("```\nx\n``"), cutter.tail) == ([], "```\nx\n``")
    assert (cutter.feed("`\nnext"), cutter.tail) == (["```\nx\n```"], "next")
    assert (cutter.feed("\n\n"), cutter.tail) == (["next"], "")


def test_a_long_fence_is_cut_into_fences_and_a_long_table_keeps_its_header() -> None:
    code = "```py\n" + "x = 1\n" * LIMIT + "```"
    assert all(block.startswith("```py\n") and block.endswith("\n```") for block in blocks(code, 100))
    assert (
        "".join(block.removeprefix("```py\n").removesuffix("```") for block in blocks(code, 100)) == "x = 1\n" * LIMIT
    )
    table = "| a |\n|---|\n" + "| 1 |\n" * LIMIT
    assert all(block.startswith("| a |\n|---|\n| 1 |") for block in blocks(table, 100))


@pytest.mark.parametrize("text", ["word " * 20_000, "x" * 100_000, "- item\n" * 15_000, "```\n" + "y\n" * 50_000])
def test_no_open_block_grows_beyond_its_limit(text: str) -> None:
    cutter = Blocks()
    longest = 0
    for at in range(0, len(text), 50):
        cutter.feed(text[at : at + 50])
        longest = max(longest, len(cutter.tail))
    assert longest <= 2 * LIMIT + 100


@given(st.text(alphabet="ab -*#`~|>\n1.", max_size=200))
def test_no_line_is_lost_or_changed(text: str) -> None:
    kept = [line.rstrip() for block in blocks(text) for line in block.split("\n") if line.strip()]
    assert kept == [line.rstrip() for line in text.split("\n") if line.strip()]
