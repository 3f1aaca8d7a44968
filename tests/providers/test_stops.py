from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.stops import StopCutter

STOPS = st.lists(st.text("ab\n", max_size=4), max_size=3)


def cut(deltas: list[str], stops: list[str]) -> tuple[list[str], bool]:
    cutter = StopCutter(stops)
    shown = [cutter.feed(delta) for delta in deltas]
    return [*shown, cutter.flush()], cutter.has_cut


@pytest.mark.parametrize(
    ("deltas", "stops", "shown", "has_cut"),
    [
        (["one", "two"], [], ["one", "two", ""], False),
        (["one EN", "D two"], ["END"], ["one ", "", ""], True),
        (["one EN", "TER"], ["END"], ["one ", "ENTER", ""], False),
        (["one EN"], ["END"], ["one ", "EN"], False),
        (["END"], ["END"], ["", ""], True),
        (["a", "b", "c", "d"], ["bcx", "cd"], ["a", "", "", "b", ""], True),
        (["aab"], ["ab"], ["a", ""], True),
        (["x", "more"], ["x"], ["", "", ""], True),
        (["\ud83d", "\ude00"], [], ["", "😀", ""], False),
        (["\ud83d", "x"], [], ["", "\ufffdx", ""], False),
        (["\ud83d"], [], ["", "\ufffd"], False),
        (["one"], ["", ""], ["one", ""], False),
    ],
)
def test_text_goes_on_as_soon_as_it_is_no_stop_sequence(
    deltas: list[str], stops: list[str], shown: list[str], has_cut: bool
) -> None:
    assert cut(deltas, stops) == (shown, has_cut)


@given(st.text("ab\n", max_size=12), st.lists(st.integers(0, 12), max_size=6), STOPS)
def test_where_the_deltas_are_cut_makes_no_difference(text: str, cuts: list[int], stops: list[str]) -> None:
    edges = [0, *sorted(min(at, len(text)) for at in cuts), len(text)]
    shown, has_cut = cut([text[start:end] for start, end in pairwise(edges)], stops)
    found = [text.find(stop) for stop in stops if stop and stop in text]
    assert has_cut == bool(found)
    if not found:
        assert "".join(shown) == text
    else:
        # In pieces the stop sequence that is complete first wins; in one piece the one that begins first.
        assert text.startswith("".join(shown))
        assert not any(stop and stop in "".join(shown) for stop in stops)
