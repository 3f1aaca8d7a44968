from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import respx

from agent.chat.messages import AssistantMessage, Opaque, Text, ToolMessage, ToolResult, user
from agent.chat.provider import Request, ToolSpec
from tests.providers.conversations import ADD, CONVERSATIONS, NOW
from tests.providers.wire import CHAT, MESSAGES, RESPONSES, SSE, Api, Reply, finished, heard

pytestmark = pytest.mark.anyio

BODIES = Path(__file__).parent / "bodies"


async def sent(router: respx.MockRouter, api: Api, request: Request, model: str = "") -> dict[str, Any]:
    router.post(api.url).respond(200, headers=SSE, content=api.encode(Reply(("ok",))))
    finished(await heard(api.open(model), request))
    body: dict[str, Any] = json.loads(router.calls.last.request.content)
    return body


@pytest.mark.parametrize("title", CONVERSATIONS)
async def test_a_conversation_is_sent_as_written_down(router: respx.MockRouter, api: Api, title: str) -> None:
    body = await sent(router, api, CONVERSATIONS[title])
    expected = json.loads((BODIES / f"{title.replace(' ', '_')}.json").read_text())
    assert body == expected[api.name]


# Native replies


def replied(api: Api, text: str, *, provider: str = "", model: str = "") -> AssistantMessage:
    """A reply whose native form says something else than its text, so that one can tell which was sent."""
    native = {
        "chat": {"role": "assistant", "content": f"native {text}"},
        "responses": {"role": "assistant", "content": f"native {text}", "phase": "final_answer"},
        "messages": {"type": "text", "text": f"native {text}"},
    }[api.name]
    maker = (provider or api.config.name, api.name, model or api.model)
    return AssistantMessage((Text(text),), native=Opaque(*maker, (native,)))


async def test_only_ones_own_native_replies_of_this_segment_are_replayed(router: respx.MockRouter, api: Api) -> None:
    other = next(one for one in (CHAT, RESPONSES) if one is not api)
    request = Request(
        (
            *(user("1"), replied(api, "old")),
            *(user("2"), replied(api, "same")),
            *(user("3"), replied(api, "model", model="another")),
            *(user("4"), replied(api, "provider", provider="another")),
            *(user("5"), replied(other, "api", provider=api.config.name, model=api.model)),
            user("6"),
        ),
        native_from=2,
    )
    text = json.dumps(await sent(router, api, request))
    assert [f"native {word}" in text for word in ("old", "same", "model", "provider", "api")] == [
        False, True, False, False, False,
    ]  # fmt: skip
    assert all(word in text for word in ("old", "model", "provider", "api"))


async def test_a_reply_goes_back_as_it_came(router: respx.MockRouter, api: Api) -> None:
    calls = (("c1", "calc__add", ('{"b": 2, ', '"a": 1}')), ("c2", "now", ("",)))
    reply = Reply(("Let me see.",), calls, "tool_use", thinking=("hm ", "so"))
    router.post(api.url).respond(200, headers=SSE, content=api.encode(reply))
    request = Request((user("add"),), tools=(ADD, NOW))
    end = finished(await heard(api.open(), request))
    results = ToolMessage((ToolResult("c1", (Text("3"),)), ToolResult("c2", (Text("noon"),))))
    body = await sent(router, api, replace(request, messages=(*request.messages, end.message, results)))
    assert end.message.native is not None
    payload = list(end.message.native.payload)
    assert payload == AS_IT_CAME[api.name]
    match api.name:
        case "responses":
            assert body["input"][1:5] == payload
        case "messages":
            assert body["messages"][1] == {"role": "assistant", "content": payload}
        case _:
            assert body["messages"][1:2] == payload


AS_IT_CAME: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "calc__add", "arguments": '{"b": 2, "a": 1}'}},
                {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
            ],
        }
    ],
    "responses": [
        {
            "type": "reasoning",
            "id": "rs",
            "summary": [{"type": "summary_text", "text": "hm so"}],
            "encrypted_content": "c2VjcmV0",
        },
        {
            "type": "message",
            "id": "msg",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Let me see.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_0",
            "call_id": "c1",
            "name": "calc__add",
            "arguments": '{"b": 2, "a": 1}',
            "status": "completed",
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c2",
            "name": "now",
            "arguments": "{}",
            "status": "completed",
        },
    ],
    "messages": [
        {"type": "thinking", "thinking": "hm so", "signature": "c2lnbmVk"},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "c1", "name": "calc__add", "input": {"b": 2, "a": 1}},
        {"type": "tool_use", "id": "c2", "name": "now", "input": {}},
    ],
}


async def test_reasoning_that_cannot_be_read_again_is_not_kept(router: respx.MockRouter) -> None:
    body = RESPONSES.encode(Reply(("ok",), thinking=("hm",))).replace(b',"encrypted_content":"c2VjcmV0"', b"")
    router.post(RESPONSES.url).respond(200, headers=SSE, content=body)
    end = finished(await heard(RESPONSES.open(), Request((user("hi"),))))
    assert end.message.native is not None
    assert [item["type"] for item in end.message.native.payload] == ["message"]


async def test_reasoning_goes_back_to_servers_that_want_it(router: respx.MockRouter) -> None:
    api = replace(
        CHAT,
        url="https://api.deepseek.com/v1/chat/completions",
        config=replace(CHAT.config, base_url="https://api.deepseek.com/v1"),
    )
    router.post(api.url).respond(200, headers=SSE, content=api.encode(Reply(("ok",), thinking=("hm", "!"))))
    end = finished(await heard(api.open(), Request((user("hi"),))))
    assert end.message.native is not None
    assert end.message.native.payload == ({"role": "assistant", "content": "ok", "reasoning_content": "hm!"},)


# Models and servers that differ


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-6.1-terra", {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"}}),
        ("gpt-5.4", {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "none"}}),
        ("gpt-5-mini", {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "minimal"}}),
        ("gpt-4.1", {"temperature": 0.5}),
    ],
)
async def test_responses_differ_by_model(router: respx.MockRouter, model: str, expected: dict[str, Any]) -> None:
    request = Request((user("hi"),), temperature=0.5, effort="lowest")
    body = await sent(router, RESPONSES, request, model)
    common = {"model", "input", "stream", "store"}
    assert {key: value for key, value in body.items() if key not in common} == expected


@pytest.mark.parametrize(
    ("model", "tools", "expected"),
    [
        ("llama", (), {"max_tokens": 9, "temperature": 0.5, "stop": ["a"]}),
        ("gpt-4.1", (), {"max_tokens": 9, "temperature": 0.5, "stop": ["a"]}),
        ("o3", (), {"max_completion_tokens": 9}),
        ("gpt-5.4", (), {"max_completion_tokens": 9}),
        ("gpt-5.4", (NOW,), {"max_completion_tokens": 9, "reasoning_effort": "none"}),
    ],
)
async def test_chat_differs_by_model(
    router: respx.MockRouter, model: str, tools: tuple[ToolSpec, ...], expected: dict[str, Any]
) -> None:
    request = Request((user("hi"),), max_tokens=9, temperature=0.5, stop_sequences=("a",), tools=tools)
    body = await sent(router, CHAT, request, model)
    common = {"model", "messages", "stream", "stream_options", "tools", "tool_choice"}
    assert {key: value for key, value in body.items() if key not in common} == expected


BOUND = {"type": "adaptive", "display": "summarized", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@pytest.mark.parametrize(
    ("model", "ordinary", "lowest"),
    [
        ("claude-sonnet-5-5", {"thinking": BOUND},
         {"thinking": {"type": "between_tools"}, "output_config": {"effort": "low"}}),
        ("claude-haiku-5-5", {"thinking": BOUND}, {"thinking": {"type": "disabled"}}),
        ("claude-opus-5-5", {"thinking": BOUND}, {"thinking": BOUND, "output_config": {"effort": "low"}}),
        ("claude-haiku-4-5", {}, {}),
        ("some-model", {}, {}),
    ],
)  # fmt: skip
async def test_claudes_differ(
    router: respx.MockRouter, model: str, ordinary: dict[str, Any], lowest: dict[str, Any]
) -> None:
    for effort, expected in (("default", ordinary), ("lowest", lowest)):
        body = await sent(router, MESSAGES, Request((user("hi"),), effort=effort), model)
        common = {"model", "messages", "stream", "max_tokens", "cache_control"}
        assert {key: value for key, value in body.items() if key not in common} == expected
        assert ("cache_control" in body) == model.startswith("claude")
        beta = router.calls.last.request.headers.get("anthropic-beta")
        assert (beta is not None) == ("block_binding" in expected.get("thinking", ()))


@pytest.mark.parametrize(
    ("model", "choice", "system"),
    [
        ("claude-sonnet-5-5", {"type": "auto"}, "Be brief.\n\nAnswer by calling one of the tools, not in words."),
        ("claude-haiku-4-5", {"type": "any"}, "Be brief."),
    ],
)
async def test_a_model_that_cannot_be_forced_is_asked(
    router: respx.MockRouter, model: str, choice: dict[str, str], system: str
) -> None:
    request = Request((user("hi"),), system="Be brief.", tools=(NOW,), tool_choice="required")
    body = await sent(router, MESSAGES, request, model)
    assert (body["tool_choice"], body["system"]) == (choice, system)


async def test_audio_goes_to_models_that_hear(router: respx.MockRouter) -> None:
    request = CONVERSATIONS["images from the user"]
    body = await sent(router, CHAT, request, "gpt-audio")
    assert body["messages"][0]["content"][2] == {
        "type": "input_audio",
        "input_audio": {"data": "UklGRg==", "format": "wav"},
    }


@pytest.mark.parametrize("api", [CHAT, RESPONSES], ids=["chat", "responses"])
async def test_openai_gets_no_more_tools_than_it_takes(router: respx.MockRouter, api: Api) -> None:
    tools = tuple(ToolSpec(f"t{number}", "", {}) for number in range(200))
    body = await sent(router, api, Request((user("hi"),), tools=tools))
    names = [tool.get("function", tool)["name"] for tool in body["tools"]]
    assert names == [f"t{number}" for number in range(128)]
