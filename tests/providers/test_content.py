from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.chat.messages import AssistantMessage, Audio, Image, Text, ToolCall
from agent.providers.content import CallIds, as_text, is_viewable, joined, safe_id, sendable


@pytest.mark.parametrize(
    ("part", "viewable", "text"),
    [
        (Image("iVBORw0KGgo=", "image/png"), True, "[image image/png, 8 bytes, not sent to the model]"),
        (Image("SUkqAA==", "image/tiff"), False, "[image image/tiff, 4 bytes, not sent to the model]"),
        (Image("not base64", "image/png"), False, "[image image/png, 0 bytes, not sent to the model]"),
        (Image("", "image/png"), False, "[image image/png, 0 bytes, not sent to the model]"),
        (Audio("UklGRg==", "audio/wav"), False, "[audio audio/wav, 4 bytes, not sent to the model]"),
        (Text("hi"), False, "hi"),
    ],
)
def test_what_cannot_be_sent_is_told(part: Text | Image | Audio, viewable: bool, text: str) -> None:
    assert (is_viewable(part), as_text(part)) == (viewable, text)


def test_blank_parts_are_left_out_of_a_joined_text() -> None:
    assert joined((Text("a"), Text(" "), Text(""), Text("b"))) == "a\nb"


@given(st.lists(st.text(max_size=80), max_size=8))
def test_claimed_ids_are_unique_and_fit(wanted: list[str]) -> None:
    used = CallIds(
        (
            AssistantMessage(
                (ToolCall("a", "f", {}), ToolCall("call_1", "f", {})),
            ),
        )
    )
    claimed = [used.claim(id) for id in wanted]
    assert len({*claimed, "a", "call_1"}) == len(wanted) + 2
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id) for id in claimed)


@pytest.mark.parametrize(
    ("id", "safe"),
    [("toolu_01-x", "toolu_01-x"), ("functions.f:0", "functions_f_0"), ("", "unnamed"), ("日本", "__")],
)
def test_ids_become_safe(id: str, safe: str) -> None:
    assert safe_id(id) == safe


def test_long_ids_stay_apart() -> None:
    one, other = safe_id("x" * 100), safe_id("x" * 101)
    assert one != other
    assert (len(one), len(other)) == (64, 64)


def test_half_pairs_become_replacement_characters_everywhere() -> None:
    value = {"a\ud800": ["x\udc00", ("\ud83d\ude00", 1, None)], "b": "ok"}
    assert sendable(value) == {"a\ufffd": ["x\ufffd", ("😀", 1, None)], "b": "ok"}
