"""A server's sampling request to a question, and a reply to its result."""

from __future__ import annotations

from typing import Any

import pytest

from agent.chat.messages import (
    AssistantMessage,
    Audio,
    Image,
    Stop,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agent.chat.provider import Finished, Request, ToolSpec
from agent.host.sampling.messages import Sample, read_sample, write_result
from agent.host.sampling.models import Preferences
from agent.host.tool_names import accepted_name
from agent.mcp import McpError


def said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks) if len(blocks) != 1 else blocks[0]}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(id: str, name: str = "rate") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": {"to": "NL"}}


def result(id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "toolUseId": id, "content": [text("4.10")], **more}


def ask(*messages: dict[str, Any], **more: Any) -> Sample:
    return read_sample({"messages": list(messages), "maxTokens": 50, **more}, 4096)


def test_a_plain_request_asks_with_the_lowest_effort_and_without_tools() -> None:
    sample = ask(said("user", text("sum")))
    assert sample == Sample(Request((UserMessage((Text("sum"),)),), max_tokens=50, effort="lowest"))


def test_everything_that_a_server_may_state_arrives() -> None:
    sample = ask(
        said("user", text("a"), {"type": "image", "data": "iVBO", "mimeType": "image/png"}),
        said("assistant", text("b")),
        said("user", {"type": "audio", "data": "UklG", "mimeType": "audio/wav"}),
        systemPrompt="Be brief.",
        temperature=0.2,
        stopSequences=["END"],
        includeContext="none",
        metadata={"x": 1},
        modelPreferences={"hints": [{"name": "haiku"}, {}], "speedPriority": 0.9},
    )
    assert sample.request == Request(
        (
            UserMessage((Text("a"), Image("iVBO", "image/png"))),
            AssistantMessage((Text("b"),)),
            UserMessage((Audio("UklG", "audio/wav"),)),
        ),
        system="Be brief.",
        max_tokens=50,
        temperature=0.2,
        stop_sequences=("END",),
        effort="lowest",
    )
    assert sample.preferences == Preferences(("haiku",), speed=0.9)


def test_the_configuration_caps_the_tokens() -> None:
    params = {"messages": [said("user", text("x"))], "maxTokens": 9_999}
    assert read_sample(params, 100).request.max_tokens == 100


def test_tools_and_their_results_become_the_conversation_s_own_kind() -> None:
    sample = ask(
        said("user", text("cost?")),
        said("assistant", text("let me see"), use("t1"), use("t 2", "größe")),
        said("user", result("t 2", isError=True), result("t1")),
        tools=[{"name": "rate", "inputSchema": {"type": "object"}}, {"name": "größe", "inputSchema": {}}],
        toolChoice={"mode": "required"},
    )
    odd, odd_id = accepted_name("größe"), accepted_name("t 2")
    arguments = '{"to": "NL"}'
    assert sample.request.messages[1:] == (
        AssistantMessage(
            (
                Text("let me see"),
                ToolCall("t1", "rate", {"to": "NL"}, arguments),
                ToolCall(odd_id, odd, {"to": "NL"}, arguments),
            )
        ),
        ToolMessage((ToolResult("t1", (Text("4.10"),)), ToolResult(odd_id, (Text("4.10"),), is_error=True))),
    )
    assert sample.request.tools == (ToolSpec("rate", "", {"type": "object"}), ToolSpec(odd, "", {}))
    assert sample.request.tool_choice == "required"
    assert sample.names == {"rate": "rate", odd: "größe"}


def test_a_result_with_nothing_but_structured_content_is_read_as_json() -> None:
    sample = ask(
        said("user", text("?")),
        said("assistant", use("t1")),
        said("user", result("t1", content=[], structuredContent=[1])),
    )
    assert sample.request.messages[-1] == ToolMessage((ToolResult("t1", (Text("[1]"),)),))


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([said("assistant", use("t1"))], "Tool result missing in request"),
        ([said("assistant", use("t1")), said("user", text("hm"))], "Tool result missing in request"),
        ([said("assistant", use("t1"), use("t2")), said("user", result("t1"))], "Tool result missing in request"),
        ([said("assistant", use("t1")), said("user", result("t2"))], "Tool result missing in request"),
        ([said("assistant", use("t1")), said("user", result("t1"), result("t2"))], "Tool result without a tool use"),
        ([said("assistant", use("t1")), said("user", result("t1"), result("t1"))], "Tool result without a tool use"),
        ([said("user", result("t1"))], "Tool result without a tool use"),
        ([said("user", use("t1"))], "Tool use in a message of the user"),
        ([said("assistant", use("t1"), use("t1"))], "Two tool uses with one id"),
        ([said("assistant", use("t1")), said("user", result("t1"), text("and"))],
         "Tool results mixed with other content"),
        ([said("assistant", use("t1")), said("assistant", result("t1"))], "Tool results mixed with other content"),
        ([], "Invalid sampling request: there are no messages"),
        ([said("user", {"type": "resource_link", "uri": "file:///x", "name": "x"})],
         "Invalid sampling request: messages.0 is content of type 'resource_link', and sampling takes "
         "text, image, audio, tool_use and tool_result"),
        ([said("user", text("what?"), {"type": "image", "data": "!!!", "mimeType": "image/png"})],
         "Invalid sampling request: the data of the image is not base64"),
        ([said("assistant", {"type": "audio", "data": "UklGR", "mimeType": "audio/wav"})],
         "Invalid sampling request: the data of the audio is not base64"),
        ([said("assistant", use("t1")),
          said("user", result("t1", content=[{"type": "image", "data": "", "mimeType": "image/png"}]))],
         "Invalid sampling request: the data of the image is not base64"),
        ([said("user", {"type": "text"})],
         "Invalid sampling request: messages.0.content.TextContent.text: Field required"),
    ],
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_refused(messages: list[dict[str, Any]], fault: str) -> None:
    with pytest.raises(McpError) as caught:
        ask(*messages)
    assert (caught.value.code, caught.value.message) == (-32602, fault)


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"maxTokens": 0}, "Invalid sampling request: maxTokens must be at least 1"),
        ({"tools": [{"name": name, "inputSchema": {}} for name in "aba"]},
         "Invalid sampling request: two tools have the name 'a'"),
        ({"toolChoice": {"mode": "required"}}, "toolChoice is required, and there are no tools"),
        ({"tools": [], "toolChoice": {"mode": "required"}}, "toolChoice is required, and there are no tools"),
    ],
)  # fmt: skip
def test_limits_and_choices_that_cannot_be_kept_are_refused(more: dict[str, Any], fault: str) -> None:
    with pytest.raises(McpError) as caught:
        ask(said("user", text("x")), **more)
    assert (caught.value.code, caught.value.message) == (-32602, fault)


@pytest.mark.parametrize("context", ["none", "thisServer", "allServers"])
def test_how_much_of_the_chat_a_server_wants_is_read_but_not_given(context: Any) -> None:
    sample = ask(said("user", text("x")), includeContext=context)
    assert (sample.context, sample.request.system) == (context, "")


def test_a_request_without_messages_is_refused() -> None:
    with pytest.raises(McpError, match="Invalid sampling request: messages: Field required"):
        read_sample({}, 10)


SAMPLE = Sample(Request(()), names={"gr__e_1": "größe"})


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (Stop.END, "endTurn"),
        (Stop.MAX_TOKENS, "maxTokens"),
        (Stop.STOP_SEQUENCE, "stopSequence"),
        (Stop.REFUSAL, "refusal"),
    ],
)
def test_a_reply_in_text_is_one_block(stop: Stop, reason: str) -> None:
    finished = Finished(AssistantMessage((Text("a"), Text("b")), stop), None, "m-1")
    assert write_result(SAMPLE, finished) == {
        "role": "assistant",
        "content": {"type": "text", "text": "ab"},
        "model": "m-1",
        "stopReason": reason,
    }


def test_an_empty_reply_is_an_empty_text() -> None:
    assert write_result(SAMPLE, Finished(AssistantMessage(()), None, "m"))["content"] == {"type": "text", "text": ""}


def test_calls_go_back_to_the_server_under_its_own_names() -> None:
    calls = (ToolCall("c1", "gr__e_1", {"x": 1}), ToolCall("c2", "unknown", {}))
    finished = Finished(AssistantMessage(calls, Stop.TOOL_USE), None, "m")
    assert write_result(SAMPLE, finished) == {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "c1", "name": "größe", "input": {"x": 1}},
            {"type": "tool_use", "id": "c2", "name": "unknown", "input": {}},
        ],
        "model": "m",
        "stopReason": "toolUse",
    }


def test_a_call_that_cannot_be_read_is_an_error_and_not_an_empty_call() -> None:
    finished = Finished(AssistantMessage((ToolCall("c1", "rate", None, "{x"),), Stop.TOOL_USE), None, "m")
    with pytest.raises(McpError, match="The model called rate with arguments that are no JSON object"):
        write_result(SAMPLE, finished)
