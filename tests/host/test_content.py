"""Servers' content as the model is shown it, and results cut to a size."""

from __future__ import annotations

from typing import Any

import pytest

from agent.chat.messages import Audio, Content, Image, Text
from agent.host.content import Cutter, content_of, for_model, text_of
from agent.mcp.wire import read_content


@pytest.mark.parametrize(
    ("block", "content"),
    [
        ({"type": "text", "text": "hi"}, Text("hi")),
        ({"type": "image", "data": "iVBO", "mimeType": "image/png"}, Image("iVBO", "image/png")),
        ({"type": "audio", "data": "UklG", "mimeType": "audio/wav"}, Audio("UklG", "audio/wav")),
        ({"type": "resource_link", "uri": "file:///a.txt", "name": "a"}, Text("[resource file:///a.txt: name 'a']")),
        ({"type": "resource_link", "uri": "x://a", "name": "a", "mimeType": "text/csv", "size": 9, "description": "d"},
         Text("[resource x://a: name 'a', type text/csv, 9 bytes, d]")),
        ({"type": "resource", "resource": {"uri": "x://t", "text": "body"}},
         Text('<resource uri="x://t">\nbody\n</resource>')),
        ({"type": "resource", "resource": {"uri": "x://b", "mimeType": "application/zip", "blob": "AAEC"}},
         Text("[binary resource x://b, application/zip, 3 bytes]")),
        ({"type": "resource", "resource": {"uri": "x://b", "blob": "AAEC"}},
         Text("[binary resource x://b, of unknown type, 3 bytes]")),
        ({"type": "resource", "resource": {"uri": "x://i", "mimeType": "image/gif", "blob": "R0lG"}},
         Image("R0lG", "image/gif")),
        ({"type": "resource", "resource": {"uri": "x://s", "mimeType": "audio/mp3", "blob": "SUQz"}},
         Audio("SUQz", "audio/mp3")),
        ({"type": "video", "x": 1}, Text('[content of an unknown kind: {"type": "video", "x": 1}]')),
        ("just text", Text('[content of an unknown kind: "just text"]')),
        ({"type": "image"}, Text('[content of an unknown kind: {"type": "image"}]')),
    ],
)  # fmt: skip
def test_every_kind_of_content_becomes_something(block: Any, content: Content) -> None:
    assert content_of(read_content(block)) == content


def test_what_is_for_the_user_alone_does_not_reach_the_model() -> None:
    blocks = [
        {"type": "text", "text": "both", "annotations": {"audience": ["user", "assistant"]}},
        {"type": "text", "text": "user", "annotations": {"audience": ["user"]}},
        {"type": "text", "text": "model", "annotations": {"audience": ["assistant"]}},
    ]
    assert for_model(map(read_content, blocks)) == [Text("both"), Text("model")]


def test_content_as_text_names_what_is_none() -> None:
    assert text_of([Text("a"), Image("", "image/png"), Audio("", "audio/wav")]) == "a\n[image/png]\n[audio/wav]"


def test_a_result_within_the_limit_is_untouched() -> None:
    content = [Text("12345"), Image("x" * 100, "image/png"), Text("67890")]
    assert Cutter(10).cut(content) == tuple(content)


def test_a_long_result_keeps_its_head_and_tail_and_says_how_to_read_on() -> None:
    cutter = Cutter(8)
    shown = cutter.cut([Text("abcdefghij😀lmnopqrst"), Image("data", "image/png")])
    marker = '[… 12 of 20 characters left out here. Read on with read_result(id="r1", offset=6) …]'
    assert shown == (Text(f"abcdef\n{marker}\nst"), Image("data", "image/png"))
    assert cutter.read("r1", 6) == 'ghij😀lmn\n[… 6 characters follow: read_result(id="r1", offset=14) …]'
    assert cutter.read("r1", 14) == "opqrst"
    assert cutter.read("r1", 99) == ""


def test_results_of_calls_made_together_share_what_there_is_and_short_ones_stay_whole() -> None:
    cutter = Cutter(1_000)
    lengths = []
    with cutter.together(), cutter.together(), cutter.together():
        for size in (1_000_000, 700, 900, 400, 2_000):
            [part] = cutter.cut([Text("😀" * size)])
            assert isinstance(part, Text)
            lengths.append((part.text.count("😀"), "read_result" in part.text))
    assert lengths == [(1_000, True), (700, False), (500, True), (400, False), (500, True)]
    with cutter.together():
        assert cutter.cut([Text("x" * 1_000)]) == (Text("x" * 1_000),)
    assert cutter.cut([Text("x" * 1_000)]) == (Text("x" * 1_000),)
    assert cutter.read("r2", 375) == "😀" * 525


def test_several_texts_are_measured_and_kept_together() -> None:
    cutter = Cutter(6)
    cutter.cut([Text("aaaa"), Text("bbbb")])
    assert cutter.read("r1", 3) == "a\nbbbb"


def test_only_so_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.host.content.CHARACTERS_KEPT", 25)
    cutter = Cutter(4)
    for text in ("a" * 10, "b" * 10, "c" * 10):
        cutter.cut([Text(text)])
    assert cutter.read("r2", 8) == "bb"
    with pytest.raises(KeyError):
        cutter.read("r1", 0)
