from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.jsonrpc import (
    INVALID_REQUEST,
    NO_CODE,
    PARSE_ERROR,
    Failure,
    MalformedMessage,
    Message,
    Notification,
    Request,
    Result,
    decode,
    encode,
    encode_batch,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
IDS = st.integers(-(2**53), 2**53) | st.text()
PARAMS = st.none() | st.dictionaries(st.text(), JSON, max_size=3)
MESSAGES = st.one_of(
    st.builds(Request, IDS, st.text(), PARAMS),
    st.builds(Notification, st.text(), PARAMS),
    st.builds(Result, IDS, JSON),
    st.builds(Failure, st.none() | IDS, st.integers(-40000, 40000), st.text(), JSON),
)


def fault_of(text: bytes) -> int | None:
    try:
        decode(text)
    except MalformedMessage as error:
        return error.code
    return None


@given(MESSAGES)
def test_what_is_written_reads_as_the_same_message(message: Message) -> None:
    assert decode(encode(message)) == message


@given(MESSAGES)
def test_a_message_is_one_line(message: Message) -> None:
    assert b"\n" not in encode(message)


@given(st.binary(max_size=200) | JSON.map(lambda body: json.dumps(body).encode()))
def test_nonsense_is_a_malformed_message_and_nothing_worse(text: bytes) -> None:
    assert fault_of(text) in (None, PARSE_ERROR, INVALID_REQUEST)


@pytest.mark.parametrize("id", ["1", "007", "", 0, -5, 2**53, 2**70])
def test_an_id_keeps_its_type_and_value(id: int | str) -> None:
    message = decode(json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/list"}))
    assert message == Request(id, "tools/list")
    assert json.loads(encode(Result(id, {})))["id"] == id


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"id": 1, "method": "ping"}, Request(1, "ping", None)),
        ({"id": 1, "method": "ping", "params": None}, Request(1, "ping", None)),
        ({"id": 1, "method": "ping", "extra": 1}, Request(1, "ping", None)),
        ({"method": "exit"}, Notification("exit", None)),
        ({"id": 1, "result": None}, Result(1, None)),
        ({"id": 1, "result": [], "error": None}, Result(1, [])),
        ({"id": 1, "error": {"code": 5, "message": "x"}}, Failure(1, 5, "x", None)),
        ({"id": 1, "error": {"code": 5, "message": "x", "data": {"why": 1}}}, Failure(1, 5, "x", {"why": 1})),
        ({"id": None, "error": {"code": 5, "message": "x"}}, Failure(None, 5, "x", None)),
        ({"error": {"code": 5, "message": "x"}}, Failure(None, 5, "x", None)),
        ({"id": True, "error": {"code": 5, "message": "x"}}, Failure(None, 5, "x", None)),
        ({"id": 1, "error": {"code": "E_BAD", "message": "x", "data": 1}}, Failure(1, NO_CODE, 'x (code "E_BAD")', 1)),
        ({"id": 1, "error": {"code": True, "message": "x"}}, Failure(1, NO_CODE, "x (code true)", None)),
        ({"id": 1, "error": {"message": "x"}}, Failure(1, NO_CODE, "x", None)),
        ({"id": 1, "error": {"code": "x", "message": 5}}, Failure(1, NO_CODE, '{"code": "x", "message": 5}', None)),
        ({"id": 1, "error": "it broke"}, Failure(1, NO_CODE, "it broke", None)),
        ({"id": 1, "error": {"reason": "no"}}, Failure(1, NO_CODE, '{"reason": "no"}', None)),
    ],
)
def test_old_and_odd_shapes_are_understood(body: dict[str, Any], message: Message) -> None:
    assert decode(json.dumps({"jsonrpc": "2.0"} | body)) == message


@pytest.mark.parametrize(
    ("text", "code", "id"),
    [
        ("", PARSE_ERROR, None),
        ("this is not JSON", PARSE_ERROR, None),
        ('{"jsonrpc":"2.0","id":1,"method":"a"', PARSE_ERROR, None),
        ('{"jsonrpc":"2.0","id":1,"method":NaN}', PARSE_ERROR, None),
        ("[" * 100_000, PARSE_ERROR, None),
        ("null", INVALID_REQUEST, None),
        ("[]", INVALID_REQUEST, None),
        ("{}", INVALID_REQUEST, None),
        ('{"id":7,"method":"a"}', INVALID_REQUEST, 7),
        ('{"jsonrpc":"1.0","id":"x","method":"a"}', INVALID_REQUEST, "x"),
        ('{"jsonrpc":"2.0","id":7}', INVALID_REQUEST, 7),
        ('{"jsonrpc":"2.0","id":7,"method":"a","params":[1]}', INVALID_REQUEST, 7),
        ('{"jsonrpc":"2.0","id":null,"method":"a"}', INVALID_REQUEST, None),
        ('{"jsonrpc":"2.0","id":1.5,"method":"a"}', INVALID_REQUEST, None),
        ('{"jsonrpc":"2.0","id":true,"result":1}', INVALID_REQUEST, None),
        ('{"jsonrpc":"2.0","id":[1],"result":1}', INVALID_REQUEST, None),
        ('{"jsonrpc":"2.0","result":1}', INVALID_REQUEST, None),
        ('{"jsonrpc":"2.0","id":7,"method":1}', INVALID_REQUEST, 7),
    ],
)
def test_what_is_no_message_says_so_with_code_and_id(text: str, code: int, id: int | str | None) -> None:
    with pytest.raises(MalformedMessage) as caught:
        decode(text)
    assert (caught.value.code, caught.value.id) == (code, id)


def test_duplicate_keys_count_once() -> None:
    assert decode('{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}') == Request(2, "a")


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    assert decode(b'{"jsonrpc":"2.0","id":1,"result":"fast \x97 simple"}') == Result(1, "fast � simple")


def test_a_byte_order_mark_is_no_reason_to_refuse() -> None:
    assert decode(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"result":{}}') == Result(1, {})


def test_half_a_surrogate_pair_is_replaced_coming_in() -> None:
    assert decode('{"jsonrpc":"2.0","id":1,"result":"a\\ud83d"}') == Result(1, "a?")


def test_half_a_surrogate_pair_is_replaced_going_out() -> None:
    assert decode(encode(Result(1, {"name": "caf\udce9"}))) == Result(1, {"name": "caf?"})


@pytest.mark.parametrize("id", [b'"sur\\ud800"', b'"sur\xff"'])
def test_an_id_that_is_no_unicode_counts_as_none_for_it_could_not_be_given_back(id: bytes) -> None:
    for text in (b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % id, b'{"jsonrpc":"2.0","id":%b,"result":{}}' % id):
        with pytest.raises(MalformedMessage, match="no message: its id must be a Unicode string") as caught:
            decode(text)
        assert (caught.value.code, caught.value.id) == (INVALID_REQUEST, None)


def test_numbers_that_json_lacks_go_out_as_null() -> None:
    assert encode(Result(1, [float("nan"), float("inf")])) == b'{"jsonrpc":"2.0","id":1,"result":[null,null]}'


def test_an_error_without_data_has_no_data_member() -> None:
    assert encode(Failure(None, 1, "x")) == b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}'


def test_a_batch_is_one_array() -> None:
    assert encode_batch((Notification("a"), Result(1, 2))) == (
        b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":2}]'
    )


def test_what_json_has_no_words_for_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        encode(Result(1, object()))
