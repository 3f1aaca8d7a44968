from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.envelope import Envelope, Garbled
from agent.mcp.framing import Lines, read_line, to_line
from agent.mcp.jsonrpc import INVALID_REQUEST, PARSE_ERROR, Notification, Request, Result

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
WORDS = b'{"jsonrpc":"2.0","id":2,"result":"\xc5\xbelu\xc5\xa5 \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x8e\x89"}\r\n'
MANY = PING + b"\n\r\n \n" + WORDS + b"noise\n" + PING
MEANING = [
    Envelope((Request(1, "ping"),)),
    Envelope((Result(2, "žluť 漢字 🎉"),)),
    Garbled(PARSE_ERROR, "not JSON: expected ident at line 1 column 2", "noise"),
    Envelope((Request(1, "ping"),)),
]


def read(pieces: Iterable[bytes], limit: int = 1_000) -> list[Envelope | Garbled]:
    lines = Lines(limit)
    return [item for piece in pieces for item in lines.feed(piece)] + lines.end()


@given(st.lists(st.integers(0, len(MANY)), max_size=8))
def test_it_does_not_matter_how_the_bytes_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(MANY)]
    assert read(MANY[start:end] for start, end in pairwise(edges)) == MEANING


def test_bytes_may_come_one_by_one() -> None:
    assert read(bytes([byte]) for byte in MANY) == MEANING


def test_the_last_line_needs_no_newline() -> None:
    assert read([PING[:-1]]) == MEANING[:1]


@given(st.binary(max_size=300), st.integers(0, 60))
def test_any_bytes_are_read_without_an_exception(data: bytes, limit: int) -> None:
    read([data], limit)


@given(st.lists(st.sampled_from([PING, b"x" * 70 + b"\n", b'{"id":7,"result":"' + b"y" * 60 + b'"}\n']), max_size=6))
def test_every_line_is_reported_once_whatever_the_limit(lines: list[bytes]) -> None:
    assert len(read(lines, 50)) == len(lines)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"", []),
        (b" \t\r", []),
        (b"[]", [Garbled(INVALID_REQUEST, "not a JSON-RPC 2.0 message", "[]")]),
        (
            b'{"level":"info","id":7}',
            [Garbled(INVALID_REQUEST, "not a JSON-RPC 2.0 message", '{"level":"info","id":7}')],
        ),
        (
            b'{"id":7,"result":{}}',
            [Garbled(INVALID_REQUEST, "not a JSON-RPC 2.0 message", '{"id":7,"result":{}}', 7, "answer")],
        ),
        (
            b'{"id":7,"error":{}}',
            [Garbled(INVALID_REQUEST, "not a JSON-RPC 2.0 message", '{"id":7,"error":{}}', 7, "answer")],
        ),
        (
            b'{"id":"a","method":"x"}',
            [Garbled(INVALID_REQUEST, "not a JSON-RPC 2.0 message", '{"id":"a","method":"x"}', "a", "request")],
        ),
        (
            b'[{"jsonrpc":"2.0","method":"a"},1,{"jsonrpc":"2.0","id":1,"result":2}]',
            [
                Envelope((Notification("a"), Result(1, 2)), batch=True),
                Garbled(INVALID_REQUEST, "not a JSON-RPC 2.0 message", "1"),
            ],
        ),
        (b"[1]", [Garbled(INVALID_REQUEST, "not a JSON-RPC 2.0 message", "1")]),
    ],
)
def test_one_line_means(line: bytes, expected: list[Envelope | Garbled]) -> None:
    assert read_line(line) == expected


def test_a_banner_before_the_json_is_shown_with_the_id_it_hides() -> None:
    [item] = read([b'Loading plugins...{"jsonrpc":"2.0","id":0,"result":{}}\n'])
    assert isinstance(item, Garbled)
    assert (item.id, item.kind, item.excerpt[:18]) == (0, "answer", "Loading plugins...")


def test_a_line_as_long_as_the_limit_is_read() -> None:
    assert read([PING], limit=len(PING) - 1) == MEANING[:1]


def test_a_longer_line_is_dropped_up_to_its_newline() -> None:
    items = read([b'{"jsonrpc":"2.0","id":2,"result":"', b"x" * 500, b'"}\n', PING], limit=100)
    reason = "it is longer than the limit of 100 bytes"
    assert [(item.id, item.reason, item.lost) for item in items if isinstance(item, Garbled)] == [(2, reason, True)]
    assert items[1:] == MEANING[:1]


def test_its_id_is_found_behind_a_long_result_too() -> None:
    [item] = read([b'{"jsonrpc":"2.0","result":{"id":5,"t":"', b"x" * 9_000, b'"},"id":"seven"}\n'], limit=100)
    assert isinstance(item, Garbled)
    assert (item.id, item.kind, item.lost) == ("seven", "answer", True)


def test_a_long_line_without_an_id_is_reported_as_lost_at_its_end() -> None:
    lines = Lines(100)
    assert lines.feed(b'{"jsonrpc":"2.0","result":"' + b"x" * 500) == []
    [item] = lines.feed(b"x\n")
    assert isinstance(item, Garbled)
    assert (item.id, item.lost) == (None, True)


def test_what_is_no_json_and_never_ends_is_reported_at_the_limit() -> None:
    lines = Lines(100)
    before, item = lines.feed(PING + b"x" * 200)
    assert before == MEANING[0]
    assert isinstance(item, Garbled)
    assert (item.id, item.lost) == (None, True)
    assert lines.feed(b"x" * 10_000) == []
    assert lines.end() == []


def test_an_endless_line_takes_bounded_memory() -> None:
    lines, piece = Lines(100_000), b"x" * 65_536
    tracemalloc.start()
    for _ in range(500):
        lines.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500_000


def test_a_line_that_comes_in_pieces_is_joined_only_once() -> None:
    """Else its time would grow with the square of its length."""
    lines, pieces = Lines(), [bytes([65 + number]) * 100 for number in range(20)]
    for piece in pieces:
        lines.feed(piece)
    assert list(map(id, lines._pieces)) == list(map(id, pieces))


def test_an_envelope_is_written_as_a_line_for_each_message_or_one_for_a_batch() -> None:
    messages = (Notification("a"), Request(1, "ping"))
    assert to_line(Envelope(messages)) == b'{"jsonrpc":"2.0","method":"a"}\n' + PING
    assert to_line(Envelope(messages, batch=True)) == b'[{"jsonrpc":"2.0","method":"a"},' + PING[:-1] + b"]\n"
