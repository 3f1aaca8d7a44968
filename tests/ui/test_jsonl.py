from __future__ import annotations

import io
import json
from typing import Any

import pytest

from agent.chat.events import MessageFinished, QuestionAsked, QuestionSettled, SampleFinished, ToolFinished, TurnEnded
from agent.chat.messages import AssistantMessage, Opaque, Stop, Text, ToolCall, ToolResult, Usage
from agent.chat.questions import ApproveTool, FillForm
from agent.chat.report import Report
from agent.ui.exit_codes import ExitCode, exit_code
from agent.ui.jsonl import JsonLines, json_line, record
from agent.ui.result import result_object

CALL = ToolCall("c1", "demo__add", {"a": 3}, '{"a": 3}')


def test_an_event_is_an_object_with_its_type_and_time_first() -> None:
    out = io.StringIO()
    JsonLines(out).show(ToolFinished(CALL, "demo", "add", ToolResult("c1", (Text("8"),)), 0.5))
    line = json.loads(out.getvalue())
    assert list(line)[:2] == ["type", "time"]
    assert isinstance(line.pop("time"), float)
    assert line == {
        "type": "tool_finished",
        "call": {"type": "tool_call", "id": "c1", "tool": "demo__add", "arguments": {"a": 3}, "raw": '{"a": 3}'},
        "server": "demo",
        "tool": "add",
        "result": {
            "type": "tool_result",
            "call_id": "c1",
            "content": [{"type": "text", "text": "8"}],
            "is_error": False,
        },
        "seconds": 0.5,
    }
    assert out.getvalue().count("\n") == 1


def test_nested_values_have_a_type_of_their_own() -> None:
    message = AssistantMessage((Text("hi"),), Stop.END, Opaque("openai", "chat", "m", ({"role": "assistant"},)))
    assert record(MessageFinished(message, Usage(1, 2), "m"))["message"] == {
        "type": "assistant_message",
        "content": [{"type": "text", "text": "hi"}],
        "stop": Stop.END,
        "native": {
            "type": "opaque",
            "provider": "openai",
            "api": "chat",
            "model": "m",
            "payload": [{"role": "assistant"}],
        },
    }
    assert record(QuestionAsked(ApproveTool(CALL, "demo", "add")))["question"]["type"] == "approve_tool"


@pytest.mark.parametrize(
    "text", ["\x1b[31m\x07", "\x9b31m\x85", "\u202e\u200b\u2028", "日本👩\U000e0041\u00ad", "\x7f"]
)
def test_a_line_holds_nothing_a_terminal_obeys_and_reads_as_the_same_text(text: str) -> None:
    line = json_line({"text": text})
    assert json.loads(line) == {"text": text}
    assert [c for c in line if ord(c) < 32 or 0x7F <= ord(c) <= 0x9F or c in "\u202e\u200b\u2028\U000e0041\u00ad"] == []


def test_what_json_cannot_say_is_null() -> None:
    assert json_line([float("nan"), float("inf")]) == "[null,null]"


def run(*events: Any, cost: float | None = None) -> dict[str, Any]:
    report = Report()
    for event in events:
        report.add(event)
    return dict(json.loads(json_line(result_object(report, 1.23456, cost))))


def test_every_key_of_the_result_is_there_even_if_nothing_happened() -> None:
    assert run() == {
        "type": "result",
        "text": "",
        "data": None,
        "stop": "interrupted",
        "error": None,
        "model": "",
        "usage": {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "cost": None},
        "tool_calls": [],
        "samples": [],
        "questions": [],
        "denied": [],
        "session": None,
        "seconds": 1.235,
    }


def test_the_result_tells_what_happened() -> None:
    form = FillForm("demo", "Seat?", {})
    result = run(
        ToolFinished(CALL, "demo", "add", ToolResult("c1", (Text("8"),)), 0.5),
        QuestionSettled(ApproveTool(CALL, "demo", "add"), "decline", "policy", "Nobody can be asked."),
        QuestionSettled(form, "accept", "person"),
        MessageFinished(AssistantMessage((Text("It is 8."),)), Usage(5, 2, 1), "m"),
        SampleFinished("demo", "m-2", Usage(3, 1), "accept", 0.25),
        SampleFinished("demo", "m-2", None, "decline"),
        TurnEnded(Stop.ERROR, "No network.", "connection"),
        cost=0.5,
    )
    assert result["text"] == "It is 8."
    assert result["stop"] == "error"
    assert result["error"] == {"kind": "connection", "message": "No network."}
    assert result["model"] == "m"
    assert result["usage"] == {"input_tokens": 8, "output_tokens": 3, "cached_tokens": 1, "cost": 0.5}
    used = {"input_tokens": 3, "output_tokens": 1, "cached_tokens": 0, "cost": 0.25}
    assert result["samples"] == [
        {"server": "demo", "model": "m-2", "usage": used, "verdict": "accept"},
        {"server": "demo", "model": "m-2", "usage": None, "verdict": "decline"},
    ]
    assert result["tool_calls"] == [
        {"server": "demo", "tool": "add", "arguments": {"a": 3}, "is_error": False, "seconds": 0.5}
    ]
    assert result["questions"] == [
        {"kind": "tool", "server": "demo", "verdict": "decline"},
        {"kind": "form", "server": "demo", "verdict": "accept"},
    ]
    assert result["denied"] == [{"kind": "tool", "server": "demo", "tool": "add", "why": "Nobody can be asked."}]


def test_the_exit_code_says_how_it_ended() -> None:
    codes = {stop: exit_code(stop) for stop in (*Stop, None)}
    assert {stop for stop, code in codes.items() if code is ExitCode.ANSWERED} == {Stop.END, Stop.REFUSAL}
    assert {stop for stop, code in codes.items() if code is ExitCode.FAILED} == {Stop.ERROR}
    assert {stop for stop, code in codes.items() if code is ExitCode.INTERRUPTED} == {Stop.INTERRUPTED, None}
    assert codes[Stop.MAX_TOKENS] == codes[Stop.TIMEOUT] == codes[Stop.BUDGET] == ExitCode.LIMIT == 4
