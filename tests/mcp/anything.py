"""What a peer may send, from the plausible to the absurd: strategies for hypothesis."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from agent.mcp.envelope import Closed, Envelope, Garbled, Inbound
from agent.mcp.jsonrpc import Failure, Message, Notification, Request, RequestId, Result
from agent.mcp.lifecycle import REVISIONS

KEYS = (
    *("name", "arguments", "uri", "cursor", "level", "_meta", "ref", "argument", "context", "value", "type", "a", "x"),
    *("progressToken", "requestId", "progress", "taskId", "inputResponses", "requestState", "action", "content"),
    *("protocolVersion", "capabilities", "supported", "supportedVersions", "resultType", "serverInfo", "clientInfo"),
    *("jsonrpc", "id", "method", "params", "result", "error", "code", "message", "data", "x-mcp-header", "properties"),
)
WORDS = ("2.0", "complete", "input_required", "task", "accept", "string", "integer", "object", "info", *REVISIONS)
METHODS = (
    *("initialize", "ping", "logging/setLevel", "completion/complete", "server/discover", "tools/list", "tools/call"),
    *("prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read", "tasks/get"),
    *("resources/subscribe", "resources/unsubscribe", "tasks/update", "tasks/cancel", ""),
)

numbers = (
    st.integers(-3, 9)
    | st.integers()
    | st.sampled_from([2**53, -(2**63), 2**64, -32022])
    | st.sampled_from([400, 4_200]).map(lambda digits: -(10**digits))
    | st.floats()
)
texts = st.sampled_from(WORDS) | st.text(max_size=8) | st.text(st.characters(), max_size=8)  # with half surrogate pairs
names = st.sampled_from(KEYS) | texts
leaves = st.none() | st.booleans() | numbers | texts


def shallow(leaf: st.SearchStrategy[Any], size: int = 8) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=size
    )


def nested(depth: int, value: Any = None) -> Any:
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


values = shallow(leaves) | st.builds(nested, st.integers(0, 150), leaves)
objects = st.dictionaries(names, values, max_size=5)
ids: st.SearchStrategy[RequestId] = st.integers(1, 6) | st.sampled_from(["1", "2", "", "é", 0, -1, 2**70]) | texts
methods = st.sampled_from(METHODS) | texts


def messages(
    ids: st.SearchStrategy[RequestId] = ids, methods: st.SearchStrategy[str] = methods
) -> st.SearchStrategy[Message]:
    withdrawn = st.fixed_dictionaries({"requestId": ids | leaves})
    progressed = st.fixed_dictionaries({"progressToken": ids | leaves, "progress": numbers})
    return st.one_of(
        st.builds(Request, ids, methods, st.none() | objects),
        st.builds(Notification, methods, st.none() | objects),
        st.builds(Notification, st.just("notifications/cancelled"), withdrawn),
        st.builds(Notification, st.just("notifications/progress"), progressed),
        st.builds(Result, ids, values),
        st.builds(Failure, ids | st.none(), st.integers(), texts, values),
    )


def arrivals(messages: st.SearchStrategy[Message]) -> st.SearchStrategy[Inbound]:
    """What a transport gives a session."""
    kinds = st.sampled_from(["answer", "request", "unknown"])
    return st.one_of(
        st.builds(lambda message: Envelope((message,)), messages),
        st.builds(lambda many: Envelope(tuple(many), batch=True), st.lists(messages, max_size=4)),
        st.builds(Garbled, st.just(-32700), texts, texts, st.none() | ids, kinds, st.booleans()),
        st.builds(Closed, ids, st.none() | st.builds(ValueError, texts)),
    )


def as_bytes(value: Any) -> bytes:
    """JSON as another program may write it: NaN, half surrogate pairs, and numbers of any length."""
    return json.dumps(value).encode()


def a_body(members: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **members}


bodies = (
    values
    | objects.map(a_body)
    | st.fixed_dictionaries(
        {}, optional={"id": leaves, "method": texts, "params": values, "result": values, "error": values}
    ).map(a_body)
)
documents = st.binary(max_size=80) | (bodies | st.lists(bodies, max_size=3)).map(as_bytes)
texts_on_the_wire = documents | st.builds(
    lambda text, at, odd: text[: at % (len(text) + 1)] + odd + text[at % (len(text) + 1) :],
    documents,
    st.integers(0, 10_000),
    st.sampled_from([b"\xff", b"\n", b"\\ud800", b'"', b"{", b"[" * 300, b"9" * 5_000, b"\0", b"\xef\xbb\xbf"]),
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


cuts = st.lists(st.integers(0, 10_000), max_size=6)


def dose(share: float) -> settings:
    """So much of the examples that the profile in force has for a test."""
    return settings(max_examples=max(5, int(settings().max_examples * share)))
