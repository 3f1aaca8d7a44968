"""Server-sent events: bytes in any pieces in, events out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.envelope import SALVAGED
from agent.mcp.sse import KEEPALIVE, RETRY_LIMIT, Event, EventReader, Overlong, encode_event


def read(*chunks: bytes, limit: int = 1_000) -> list[Event | Overlong]:
    reader = EventReader(limit)
    return [event for chunk in chunks for event in reader.feed(chunk)]


def test_an_event_ends_with_an_empty_line() -> None:
    assert read(b"data: one\n\ndata: two\n\ndata: unfinished\n") == [Event(b"one"), Event(b"two")]


def test_an_event_has_a_kind_and_an_id() -> None:
    assert read(b"event: endpoint\nid: 7\ndata: /post\n\n") == [Event(b"/post", "endpoint", "7")]


def test_an_id_is_an_events_own() -> None:
    assert read(b"id: 7\ndata: a\n\ndata: b\n\n") == [Event(b"a", id="7"), Event(b"b")]


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (b"data:x", b"x"),
        (b"data: x", b"x"),
        (b"data:  x", b" x"),
        (b"data: x: y", b"x: y"),
        (b"data: x\ndata: y", b"x\ny"),
        (b"data: x\ndata\ndata:", b"x\n\n"),
    ],
)
def test_data_is_what_follows_the_colon_and_one_space(line: bytes, data: bytes) -> None:
    assert read(line + b"\n\n") == [Event(data)]


@pytest.mark.parametrize(
    "noise",
    [b"", b"\n\n", b": keepalive\n\n", b":\n\n", b"event: ping\n\n", b"data:\n\n", b"data\n\n", b"colour: blue\n\n"],
)
def test_what_has_no_data_is_no_event(noise: bytes) -> None:
    assert read(noise + b"data: x\n\n") == [Event(b"x")]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_line_ends_in_any_of_three_ways(end: bytes) -> None:
    stream = end.join([b"event: message", b"data: a", b"data: b", b"", b"data: c", b"", b""])
    assert read(stream) == [Event(b"a\nb"), Event(b"c")]
    assert read(*(bytes([byte]) for byte in stream)) == [Event(b"a\nb"), Event(b"c")]


def test_a_line_end_may_be_split_over_two_reads() -> None:
    assert read(b"data: a\r", b"\n\r", b"", b"\ndata: b\r\n\r", b"data: c\r\r") == [
        Event(b"a"),
        Event(b"b"),
        Event(b"c"),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert read(b"\xef\xbb", b"\xbfdata: x\n\n") == [Event(b"x")]
    assert read(b"data: x\n\xef\xbb\xbfdata: y\n\n") == [Event(b"x")]


def test_the_place_to_resume_is_the_last_event_that_came_whole() -> None:
    reader = EventReader()
    reader.feed(b"id: 1\ndata: x\n\nid: 2\ndata: y\n")
    assert reader.last_id == "1"
    reader.feed(b"\n")
    assert reader.last_id == "2"


def test_an_event_without_data_marks_a_place() -> None:
    reader = EventReader()
    assert reader.feed(b"id: start\nretry: 500\ndata: \n\n") == []
    assert (reader.last_id, reader.retry) == ("start", 500)


def test_an_empty_id_takes_the_place_away_and_one_with_a_nul_is_none() -> None:
    reader = EventReader()
    reader.feed(b"id: 1\n\nid: 2\0\n\n")
    assert reader.last_id == "1"
    reader.feed(b"id\n\n")
    assert reader.last_id is None


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        (b"500", 500),
        (b"0", 0),
        (b"-1", None),
        (b"1.5", None),
        (b"", None),
        (b"9" * 15, RETRY_LIMIT),
        (b"9" * 9_999, None),
    ],
)
def test_a_wait_is_a_number_of_milliseconds(value: bytes, milliseconds: int | None) -> None:
    reader = EventReader(100_000)
    reader.feed(b"retry: " + value + b"\n")
    assert reader.retry == milliseconds


def test_a_reconnected_stream_begins_anew_and_keeps_its_place() -> None:
    reader = EventReader()
    reader.feed(b"id: 1\nretry: 5\ndata: x\n\nid: 2\ndata: ha\r")
    reader.reconnected()
    assert reader.feed(b"\xef\xbb\xbfdata: y\n\n") == [Event(b"y")]
    assert (reader.last_id, reader.retry) == ("1", 5)


# Size.


def test_an_event_up_to_the_limit_is_read() -> None:
    assert read(b"data:" + b"x" * 95 + b"\n\n", limit=100) == [Event(b"x" * 95)]


@pytest.mark.parametrize("piece", [1, 7, 1_000])
def test_an_event_beyond_the_limit_leaves_its_ends_and_the_next_is_read(piece: int) -> None:
    stream = b'data: {"id":1,' + b"x" * 200 + b'"end"}\n\ndata: next\n\n'
    chunks = [stream[at : at + piece] for at in range(0, len(stream), piece)]
    dropped, following = read(*chunks, limit=100)
    assert isinstance(dropped, Overlong)
    assert dropped.head.startswith(b'data: {"id":1,')
    assert dropped.tail.endswith(b'"end"}')
    assert following == Event(b"next")


def test_many_short_lines_are_one_long_event() -> None:
    dropped, following = read(b"data: abcdefgh\n" * 50 + b"\ndata: next\n\n", limit=100)
    assert isinstance(dropped, Overlong)
    assert following == Event(b"next")


def test_what_is_dropped_takes_no_memory() -> None:
    reader = EventReader(100)
    for _ in range(1_000):
        assert reader.feed(b"x" * 10_000) == []
    dropped = reader.feed(b"\n\n")
    assert dropped == [Overlong(b"x" * SALVAGED, b"x" * SALVAGED)]


def test_signs_of_life_do_not_add_up() -> None:
    reader = EventReader(100)
    for _ in range(1_000):
        assert reader.feed(b": still here\nevent: ping\n") == []
    assert reader.feed(b"event: message\ndata: x\n\n") == [Event(b"x")]


# Writing.


def test_an_event_is_written_as_it_is_read() -> None:
    assert encode_event(b"{}") == b"data: {}\n\n"
    assert encode_event(b"", id="1-0", retry=500) == b"id: 1-0\nretry: 500\ndata: \n\n"
    assert encode_event(b"/post", kind="endpoint") == b"event: endpoint\ndata: /post\n\n"
    assert read(KEEPALIVE) == []


LINES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=20).map(str.encode)
DATA = st.lists(LINES, min_size=1, max_size=3).map(b"\n".join).filter(bool)
EVENTS = st.builds(Event, DATA, st.just("message") | st.just("endpoint"), st.none() | st.just("7") | st.just("漢"))


@given(st.lists(EVENTS, max_size=5), st.lists(st.integers(0, 300)), st.sampled_from([b"\n", b"\r", b"\r\n"]))
def test_however_a_stream_is_cut_its_events_are_the_same(events: list[Event], cuts: list[int], end: bytes) -> None:
    stream = b"".join(encode_event(event.data, id=event.id, kind=event.kind) for event in events).replace(b"\n", end)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[here:there] for here, there in pairwise(edges)]
    assert read(*chunks, limit=100_000) == events


@given(st.lists(st.binary(max_size=50)), st.integers(0, 60))
def test_no_bytes_whatever_break_the_reader_or_fill_it(chunks: list[bytes], limit: int) -> None:
    reader = EventReader(limit)
    for chunk in chunks:
        for event in reader.feed(chunk):
            assert isinstance(event, Overlong) or len(event.data) <= limit
