"""Every message as it passes: whole in the file, short for people, and never with a secret in it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent.chat.events import Noticed
from agent.chat.outbox import Outbox
from agent.host.config.config import ConfigError
from agent.host.host import open_host
from agent.host.trace import KEPT, UNANSWERED, Trace, brief
from agent.mcp import Server, memory
from agent.mcp.envelope import Closed, ConnectionLost, Envelope, Garbled
from agent.mcp.jsonrpc import Failure, Message, Notification, Request, Result
from tests.host.scene import configure

Tracing = Callable[..., Trace]

sums = Server("sums")


@sums.tool
async def add(a: int, b: int) -> int:
    return a + b


@pytest.fixture
def tracing(tmp_path: Path) -> Iterator[Tracing]:
    """A trace into t.jsonl, closed in the end."""
    made: list[Trace] = []

    def begin(*secrets: str, outbox: Outbox | None = None) -> Trace:
        made.append(Trace(outbox or Outbox(), secrets, tmp_path / "t.jsonl"))
        return made[-1]

    yield begin
    for trace in made:
        trace.close()


def envelope(*messages: Message) -> Envelope:
    return Envelope(messages)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_line_has_time_direction_server_and_message_and_an_answer_its_latency(
    tracing: Tracing, tmp_path: Path
) -> None:
    trace = tracing()
    tap = trace.tap("far")
    tap("sent", envelope(Request(1, "tools/call", {"name": "ü"})))
    tap("received", envelope(Request(1, "ping"), Notification("notifications/x")))
    tap("sent", envelope(Result(1, {})))
    tap("received", envelope(Failure(1, -32000, "no")))
    tap("received", envelope(Result(9, {})))
    seen = lines(tmp_path / "t.jsonl")
    assert all(list(line)[:4] == ["time", "direction", "server", "message"] for line in seen)
    assert all(line["server"] == "far" and isinstance(line["time"], float) for line in seen)
    assert [(line["direction"], line["message"], "latency" in line) for line in seen] == [
        ("sent", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ü"}}, False),
        ("received", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, False),
        ("received", {"jsonrpc": "2.0", "method": "notifications/x"}, False),
        ("sent", {"jsonrpc": "2.0", "id": 1, "result": {}}, True),
        ("received", {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no"}}, True),
        ("received", {"jsonrpc": "2.0", "id": 9, "result": {}}, False),
    ]


def test_what_is_no_message_stands_there_too(tracing: Tracing, tmp_path: Path) -> None:
    trace = tracing()
    tap = trace.tap("far")
    tap("received", Garbled(-32700, "not JSON", "Welcome!"))
    tap("received", Closed(4, ConnectionLost("gone")))
    tap("received", Closed(5))
    tap("received", ConnectionLost("It exited."))
    assert [{key: line[key] for key in list(line)[3:]} for line in lines(tmp_path / "t.jsonl")] == [
        {"garbled": "Welcome!", "reason": "not JSON"},
        {"closed": 4, "reason": "gone"},
        {"closed": 5, "reason": None},
        {"lost": "It exited."},
    ]


def test_secrets_are_masked_in_the_file_and_on_the_screen_and_the_lines_stay_json(
    tracing: Tracing, tmp_path: Path
) -> None:
    outbox = Outbox()
    trace = tracing('pass"word', "pass", "202400", "abcde", outbox=outbox)
    trace.shown = True
    params = {'key pass"word': ['a pass"word', 202400, "202400"], "n": 1202400, "short": "abcde"}
    trace.tap("far")("sent", envelope(Request(202400, "x", params)))
    [line] = lines(tmp_path / "t.jsonl")
    assert line["message"] == {
        "jsonrpc": "2.0",
        "id": 202400,
        "method": "x",
        "params": {"key ***": ["a ***", 202400, "***"], "n": 1202400, "short": "abcde"},
    }
    assert outbox.drain() == [
        Noticed("far", "notice", '→ x (***) {"key ***":["a ***",***,"***"],"n":1***,"short":"abcde"}')
    ]


def test_the_file_is_private_and_written_at_once(tracing: Tracing, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    trace = tracing()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    trace.tap("far")("sent", envelope(Request(1, "ping")))
    assert len(lines(path)) == 1
    trace.close()
    trace.tap("far")("sent", envelope(Request(2, "ping")))
    assert len(lines(path)) == 1


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Trace(Outbox(), (), tmp_path)
    assert str(caught.value) == f"--trace {tmp_path}: the file cannot be written: Is a directory."


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
def test_a_full_disk_ends_the_trace_and_nothing_else() -> None:
    outbox = Outbox()
    trace = Trace(outbox, (), Path("/dev/full"))
    for number in range(3):
        trace.tap("far")("sent", envelope(Request(number, "ping")))
    assert outbox.drain() == [
        Noticed("", "warning", "The trace ends here: it cannot be written (No space left on device).")
    ]
    assert len(trace.last(10)) == 3


def test_the_last_messages_can_be_looked_at_afterwards_as_short_lines() -> None:
    trace = Trace(Outbox(), ())
    tap = trace.tap("far")
    for number in range(KEPT + 1):
        tap("sent", envelope(Request(number, "ping")))
    tap("received", envelope(Result("a", {"text": "x" * 500, "list": list(range(20))})))
    tap("received", envelope(Failure(None, -32700, "what?", {"why": 1})))
    tap("received", envelope(Notification("notifications/x", {"half": "\ud800"})))
    assert len(trace.last(1000)) == KEPT
    assert trace.last(4) == [
        f"far: → ping ({KEPT})",
        f'far: ← result (a) {{"text":"{"x" * 120}… (500 characters)","list":[0,1,2,3,4,5,6,7,"… 12 more"]}}',
        'far: ← error (None) -32700 what? {"why":1}',
        'far: ← notifications/x {"half":"\ud800"}',
    ]
    assert trace.last(0) == []


def test_what_every_message_of_the_newest_revision_repeats_is_left_out_for_people() -> None:
    trace = Trace(Outbox(), ())
    tap = trace.tap("far")
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    tap("sent", envelope(Request(1, "a", {"x": 1, "_meta": meta})))
    tap("sent", envelope(Request(2, "a", {"_meta": {**meta, "progressToken": 2}})))
    tap("sent", envelope(Request(3, "a", {str(number): "y" * 120 for number in range(8)})))
    *short, long = trace.last(3)
    assert short == ['far: → a (1) {"x":1}', 'far: → a (2) {"_meta":{"progressToken":2}}']
    assert (len(long), long[-2:]) == (len("far: → a (3) ") + 601, "y…")


def test_a_value_of_any_size_is_cut() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    assert brief(deep) == [[[[[["… 1 more"]]]]]]
    assert brief({str(number): number for number in range(10_000)}) == {
        **{str(number): number for number in range(8)},
        "…": "9992 more",
    }


def test_requests_that_are_never_answered_do_not_pile_up(tracing: Tracing, tmp_path: Path) -> None:
    tap = tracing().tap("far")
    for number in range(UNANSWERED + 1):
        tap("sent", envelope(Request(number, "ping")))
    tap("received", envelope(Result(0, {}), Result(1, {})))
    assert ["latency" in line for line in lines(tmp_path / "t.jsonl")[-2:]] == [False, True]


@pytest.mark.anyio
async def test_a_host_traces_all_of_its_servers(tmp_path: Path) -> None:
    config = replace(configure({"sums": {}, "more": {}}), trace=tmp_path / "t.jsonl")
    with anyio.fail_after(5):
        async with open_host(config, open_transport=lambda table: memory(sums)) as host:
            await host.settled()
            await host.call_tool("sums/add", {"a": 1, "b": 2})
            assert any(line.startswith("sums: → tools/call (") for line in host.trace.last(99))
    seen = lines(tmp_path / "t.jsonl")
    assert {line["server"] for line in seen} == {"sums", "more"}
    asked = [line["message"].get("method") for line in seen if (line["server"], line["direction"]) == ("sums", "sent")]
    assert "tools/list" in asked
    assert "tools/call" in asked
    results = [line["message"].get("result", {}) for line in seen if "message" in line]
    assert [result["structuredContent"] for result in results if "structuredContent" in result] == [{"result": 3}]
