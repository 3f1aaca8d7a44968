from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.envelope import EXCERPT, SALVAGED, garbled

CUT = b'{"jsonrpc":"2.0","result":{"text":"'


@pytest.mark.parametrize(
    ("head", "tail", "id", "kind"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"text":"', b"", 7, "answer"),
        (b'{"jsonrpc":"2.0","id":-7,"result":{', b"", -7, "answer"),
        (b'{"jsonrpc":"2.0","id":"a\\"b","result":{', b"", 'a\\"b', "answer"),
        (b'{"id" : 3 , "method":"tools/call","params":{', b"", 3, "request"),
        (b'{"method":"tools/call","params":{"id":9},"id":4', b"", 4, "request"),
        (b'{"result":{"id":9,"more":[{"id":8}]},"id":4}', b"", 4, "answer"),
        (b'{"result":"the text \\"id\\":9 {","id":4}', b"", 4, "answer"),
        (CUT, b'xxx"},"id":5}', 5, "answer"),
        (CUT, b'xxx"},"id":5,"jsonrpc":"2.0"}\r', 5, "answer"),
        (CUT, b'"id":5},"more":1}', None, "unknown"),
        (CUT, b"", None, "unknown"),
        (b"noise", b"noise", None, "unknown"),
        (b"", b"", None, "unknown"),
        (b'{"result":{"id":1,"t":"never closed', b'still not closed "id":2', None, "unknown"),
    ],
)
def test_the_id_of_an_unreadable_message_is_sought_at_its_top_level(
    head: bytes, tail: bytes, id: int | str | None, kind: str
) -> None:
    found = garbled(-32700, "why", head, tail)
    assert (found.code, found.reason, found.id, found.kind, found.lost) == (-32700, "why", id, kind, False)


def test_people_see_its_beginning_only() -> None:
    assert garbled(1, "", b"\xff" + b"x" * 5_000, b"").excerpt == "�" + "x" * (EXCERPT - 1)


@given(st.binary(max_size=SALVAGED), st.binary(max_size=SALVAGED))
def test_any_bytes_can_be_described(head: bytes, tail: bytes) -> None:
    garbled(1, "", head, tail)


@given(st.text(st.sampled_from('{}[]":,\\id 1'), max_size=60))
def test_any_heap_of_json_pieces_can_be_described(text: str) -> None:
    garbled(1, "", text.encode(), text.encode())
