from __future__ import annotations

import json
import re
import time
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx
import pytest
import respx

from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, ToolMessage, ToolResult, Usage, user
from agent.chat.provider import Finished, Provider, ProviderError, Request, TextDelta, ThinkingDelta, ToolSpec
from tests.providers.wire import CHAT, MESSAGES, RESPONSES, SSE, Api, Reply, chat_chunk, finished, frames, heard

pytestmark = pytest.mark.anyio

ASK = Request((user("hi"),))
ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "number"}}})


def answer(router: respx.MockRouter, api: Api, body: bytes) -> None:
    router.post(api.url).respond(200, headers=SSE, content=body)


async def reply_of(router: respx.MockRouter, api: Api, reply: Reply, request: Request = ASK) -> Finished:
    answer(router, api, api.encode(reply))
    return finished(await heard(api.open(), request))


async def test_text_arrives_as_it_comes(router: respx.MockRouter, api: Api) -> None:
    answer(router, api, api.encode(Reply(("Hel", "lo ", "wörld 😀"))))
    items = await heard(api.open(), ASK)
    assert items[:-1] == [TextDelta("Hel"), TextDelta("lo "), TextDelta("wörld 😀")]
    end = finished(items)
    assert replace(end.message, native=None) == AssistantMessage((Text("Hello wörld 😀"),))
    assert (end.usage, end.model) == (Usage(10, 5, cached_tokens=4, reasoning_tokens=2), "answers")


async def test_thinking_is_told_apart(router: respx.MockRouter, api: Api) -> None:
    answer(router, api, api.encode(Reply(("ok",), thinking=("hm ", "so"))))
    items = await heard(api.open(), ASK)
    assert items[:-1] == [ThinkingDelta("hm "), ThinkingDelta("so"), TextDelta("ok")]
    assert finished(items).message.text == "ok"


async def test_parallel_calls_come_in_their_order(router: respx.MockRouter, api: Api) -> None:
    calls = (("c1", "add", ('{"a"', ":1}")), ("c2", "add", ('{"a":2}',)), ("c3", "now", ()))
    end = await reply_of(router, api, Reply(("Let me see.",), calls, "tool_use"))
    assert replace(end.message, native=None) == AssistantMessage(
        (
            Text("Let me see."),
            ToolCall("c1", "add", {"a": 1}, '{"a":1}'),
            ToolCall("c2", "add", {"a": 2}, '{"a":2}'),
            ToolCall("c3", "now", {}, ""),
        ),
        Stop.TOOL_USE,
    )


@pytest.mark.parametrize("raw", ["", "   ", "null"])
async def test_no_arguments_are_an_empty_object(router: respx.MockRouter, api: Api, raw: str) -> None:
    end = await reply_of(router, api, Reply((), (("c", "now", (raw,)),), "tool_use"))
    assert end.message.tool_calls == (ToolCall("c", "now", {}, raw),)


@pytest.mark.parametrize("raw", ['{"{"tagIds":[1]}', '{"a":1', '{"a":1,}', '{"a":NaN}', "[1]", '"x"', '{"p": "/tmp/x'])
async def test_bad_arguments_are_never_guessed_and_can_be_replayed(
    router: respx.MockRouter, api: Api, raw: str
) -> None:
    end = await reply_of(router, api, Reply((), (("c", "rm", (raw,)),), "tool_use"))
    assert end.message.tool_calls == (ToolCall("c", "rm", None, raw),)
    assert end.message.native is not None
    assert raw not in json.dumps(end.message.native.payload)


@pytest.mark.parametrize("stop", ["max_tokens", "refusal"])
async def test_a_reply_that_was_cut_has_no_calls_and_no_native_form(
    router: respx.MockRouter, api: Api, stop: str
) -> None:
    end = await reply_of(router, api, Reply(("Half",), (("c", "add", ('{"a":',)),), stop, thinking=("hm",)))
    assert end.message == AssistantMessage((Text("Half"),), Stop(stop))
    assert end.usage == Usage(10, 5, cached_tokens=4, reasoning_tokens=2)


async def test_an_empty_reply_is_empty(router: respx.MockRouter, api: Api) -> None:
    assert (await reply_of(router, api, Reply())).message == AssistantMessage(())


async def test_thoughts_alone_are_an_empty_reply(router: respx.MockRouter, api: Api) -> None:
    end = await reply_of(router, api, Reply(thinking=("hm",)))
    assert end.message.content == ()


async def test_a_refusal_in_words_is_told(router: respx.MockRouter) -> None:
    for api in (CHAT, RESPONSES):
        end = await reply_of(router, api, Reply(refusal="I must not."))
        assert end.message == AssistantMessage((Text("I must not."),), Stop.REFUSAL)


async def test_a_refusal_without_words_gives_its_reason(router: respx.MockRouter) -> None:
    ended = {"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": "No."}}
    body = frames([{"type": "message_delta", "delta": ended, "usage": {}}, {"type": "message_stop"}])
    answer(router, MESSAGES, body)
    end = finished(await heard(MESSAGES.open(), ASK))
    assert end.message == AssistantMessage((Text("No."),), Stop.REFUSAL)


@pytest.mark.parametrize("reason", ["end_turn", "pause_turn", "something_new"])
async def test_calls_count_whatever_the_stop_reason(router: respx.MockRouter, reason: str) -> None:
    body = MESSAGES.encode(Reply((), (("c", "add", ("{}",)),), "tool_use")).replace(b'"tool_use","stop_seq', b"@", 1)
    answer(router, MESSAGES, body.replace(b"@", f'"{reason}","stop_seq'.encode()))
    end = finished(await heard(MESSAGES.open(), ASK))
    assert (end.message.stop, len(end.message.tool_calls)) == (Stop.TOOL_USE, 1)


async def test_a_full_context_window_counts_as_max_tokens(router: respx.MockRouter) -> None:
    end = await reply_of(router, MESSAGES, Reply(("x",), stop="model_context_window_exceeded"))
    assert end.message == AssistantMessage((Text("x"),), Stop.MAX_TOKENS)


async def test_calls_beside_the_reason_stop_are_calls(router: respx.MockRouter) -> None:
    end = await reply_of(router, CHAT, Reply((), (("c", "add", ("{}",)),), "end"))
    assert (end.message.stop, len(end.message.tool_calls)) == (Stop.TOOL_USE, 1)


# Ids


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (("x", "x"), ["x", "x_2"]),
        (("", ""), ["call_1", "call_2"]),
        (("functions.now:0", "a b"), ["functions_now_0", "a_b"]),
        (("i" * 90, "ok"), ["i" * 55 + "_90262640", "ok"]),
        (("used", "call_1"), ["used_2", "call_1"]),
    ],
)
async def test_call_ids_are_made_unique_and_fit(
    router: respx.MockRouter, api: Api, ids: tuple[str, str], expected: list[str]
) -> None:
    earlier = AssistantMessage((ToolCall("used", "now", {}),), Stop.TOOL_USE)
    request = Request((user("hi"), earlier, ToolMessage((ToolResult("used", (Text("1"),)),))), tools=(ADD,))
    reply = Reply((), tuple((id, "add", ("{}",)) for id in ids), "tool_use")
    end = await reply_of(router, api, reply, request)
    found = [call.id for call in end.message.tool_calls]
    assert found == expected
    assert end.message.native is not None
    assert all(f'"{id}"' in json.dumps(end.message.native.payload) for id in found)


async def test_an_invented_tool_name_is_told_and_can_be_replayed(router: respx.MockRouter, api: Api) -> None:
    reply = Reply((), (("c1", "fs.read file", ("{}",)), ("c2", "", ("{}",))), "tool_use")
    end = await reply_of(router, api, reply)
    assert [call.tool for call in end.message.tool_calls] == ["fs.read file", ""]
    again = json.dumps(end.message.native.payload if end.message.native else "")
    assert '"fs_read_file"' in again
    assert '"unnamed"' in again


# Streams in pieces


async def outcome_of(provider: Provider) -> Finished | ProviderError:
    try:
        return finished(await heard(provider, ASK))
    except ProviderError as error:
        return error


async def test_a_stream_cut_anywhere_is_the_whole_reply_or_an_error(router: respx.MockRouter, api: Api) -> None:
    """Before every byte, but within a word only now and then: nothing depends on where in it."""
    body = api.encode(Reply(("ö😀",), (("c", "add", ('{"a":', "1}")),), "tool_use", thinking=("hm",)))
    cuts = [body[: at.start()] for at in re.finditer(rb"\w{1,8}|\W|$", body)]
    router.post(api.url).mock(side_effect=[httpx.Response(200, headers=SSE, content=cut) for cut in cuts])
    provider = api.open()  # reading the system's certificates takes longer than a whole reply
    *outcomes, whole = [await outcome_of(provider) for _ in cuts]
    assert isinstance(whole, Finished)
    assert {outcome.message for outcome in outcomes if isinstance(outcome, Finished)} <= {whole.message}
    errors = [outcome for outcome in outcomes if isinstance(outcome, ProviderError)]
    assert {error.kind for error in errors} == {"incomplete", "protocol"}
    assert all(error.retryable for error in errors)
    assert isinstance(outcomes[0], ProviderError)


class Trickle(httpx.AsyncByteStream):
    """A body that arrives in pieces of a size."""

    def __init__(self, body: bytes, size: int) -> None:
        self._body, self._size = body, size

    async def __aiter__(self) -> Any:
        for start in range(0, len(self._body), self._size):
            yield self._body[start : start + self._size]


async def test_a_stream_may_come_byte_by_byte(router: respx.MockRouter, api: Api) -> None:
    body = api.encode(Reply(("wörld 😀",), (("c", "add", ('{"a":', "1}")),), "tool_use", thinking=("hm",)))
    router.post(api.url).mock(return_value=httpx.Response(200, headers=SSE, stream=Trickle(body, 1)))
    slowly = await heard(api.open(), ASK)
    answer(router, api, body)
    assert slowly == await heard(api.open(), ASK)


async def test_half_surrogate_pairs_never_get_out(router: respx.MockRouter, api: Api) -> None:
    body = api.encode(Reply(("one",), (("c", "add", ('{"a":"one"}',)),), "tool_use", thinking=("one",)))
    answer(router, api, body.replace(b"one", rb"\ud83d"))
    items = await heard(api.open(), ASK)
    end = finished(items)
    assert end.message.text == "�"
    again = replace(
        ASK, messages=(user("\udcff"), AssistantMessage((Text(end.message.text),), Stop.END)), system="\ud800"
    )
    await heard(api.open(), again)
    assert "�" in router.calls.last.request.content.decode()


async def test_a_pair_cut_by_its_deltas_becomes_whole(router: respx.MockRouter, api: Api) -> None:
    body = api.encode(Reply(("one", "two")))
    answer(
        router,
        api,
        body.replace(b'"one"', rb'"\ud83d"').replace(b'"two"', rb'"\ude00"').replace(b"onetwo", "😀".encode()),
    )
    items = await heard(api.open(), ASK)
    assert items[0] == TextDelta("😀")
    assert finished(items).message.text == "😀"


# Stop sequences


@pytest.mark.parametrize(
    ("pieces", "stops", "expected"),
    [
        (("one ST", "OP two"), ("STOP",), "one "),
        (("a\n", "\nb"), ("\n\n",), "a"),
        (("one ST", "ART"), ("STOP",), None),
        (("xSTOPy",), ("y", "STOP"), "x"),
        (("one",), ("", "zzz"), None),
    ],
)
async def test_the_text_is_cut_at_a_stop_sequence(
    router: respx.MockRouter, pieces: tuple[str, ...], stops: tuple[str, ...], expected: str | None
) -> None:
    end = await reply_of(router, RESPONSES, Reply(pieces), replace(ASK, stop_sequences=stops))
    assert "stop" not in json.loads(router.calls.last.request.content)
    if expected is None:
        assert (end.message.text, end.message.stop) == ("".join(pieces), Stop.END)
    else:
        assert end.message == AssistantMessage((Text(expected),), Stop.STOP_SEQUENCE)
        assert end.usage is None


async def test_what_an_api_can_stop_at_itself_is_left_to_it(router: respx.MockRouter) -> None:
    await reply_of(router, CHAT, Reply(("x",)), replace(ASK, stop_sequences=("a", " ", "")))
    assert json.loads(router.calls.last.request.content)["stop"] == ["a", " "]
    await reply_of(router, MESSAGES, Reply(("x",), stop="stop_sequence"), replace(ASK, stop_sequences=("a", " ", "")))
    assert json.loads(router.calls.last.request.content)["stop_sequences"] == ["a"]


async def test_blank_stop_sequences_are_watched_for_here(router: respx.MockRouter) -> None:
    end = await reply_of(router, MESSAGES, Reply(("a", "\n", "\nb")), replace(ASK, stop_sequences=("\n\n",)))
    assert end.message == AssistantMessage((Text("a"),), Stop.STOP_SEQUENCE)


async def test_more_stop_sequences_than_chat_takes_are_watched_for_here(router: respx.MockRouter) -> None:
    end = await reply_of(router, CHAT, Reply(("a5b",)), replace(ASK, stop_sequences=("1", "2", "3", "4", "5")))
    assert "stop" not in json.loads(router.calls.last.request.content)
    assert end.message == AssistantMessage((Text("a"),), Stop.STOP_SEQUENCE)


async def test_a_stop_sequence_found_by_the_api_is_told(router: respx.MockRouter) -> None:
    end = await reply_of(router, MESSAGES, Reply(("a",), stop="stop_sequence"), replace(ASK, stop_sequences=("z",)))
    assert end.message == AssistantMessage((Text("a"),), Stop.STOP_SEQUENCE)


# What only one API does


async def test_a_comment_and_the_answer_do_not_run_together(router: respx.MockRouter) -> None:
    def said(index: int, text: str) -> list[dict[str, Any]]:
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": f"m{index}", "role": "assistant", "content": [part], "status": "completed"}
        return [
            {"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": text},
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]

    ended = {"id": "r", "model": "m", "status": "completed", "output": []}
    answer(router, RESPONSES, frames([*said(0, "Let me look."), *said(1, "It is 8."),
                                      {"type": "response.completed", "response": ended}]))  # fmt: skip
    end = finished(await heard(RESPONSES.open(), ASK))
    assert end.message.text == "Let me look.\n\nIt is 8."
    assert end.message.native is not None
    assert [item["id"] for item in end.message.native.payload] == ["m0", "m1"]


async def test_signed_blocks_come_back_as_they_were(router: respx.MockRouter) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": "sig123"},
        {"type": "redacted_thinking", "data": "zzz"},
        {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
        {"type": "thinking", "thinking": "", "signature": "sig456"},
        {"type": "tool_use", "id": "t2", "name": "add", "input": {}, "caller": {"type": "direct"}},
    ]
    deltas: list[dict[str, Any]] = [
        {"index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"index": 0, "delta": {"type": "signature_delta", "signature": "sig123"}},
        {"index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'}},
        {"index": 3, "delta": {"type": "signature_delta", "signature": "sig456"}},
    ]
    blank = {"thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
    starts = [{**block, **blank.get(block["type"], {})} for block in blocks]
    events: list[dict[str, Any]] = []
    for index, start in enumerate(starts):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", **delta} for delta in deltas if delta["index"] == index]
    events.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}})
    answer(router, MESSAGES, frames(events))
    end = finished(await heard(MESSAGES.open(), ASK))
    assert end.message.native is not None
    assert json.dumps(end.message.native.payload) == json.dumps(blocks)


async def test_blank_text_is_shown_but_not_sent_back(router: respx.MockRouter) -> None:
    end = await reply_of(router, MESSAGES, Reply(("\n\n",), (("c", "add", ("{}",)),), "tool_use"))
    assert end.message.text == "\n\n"
    assert end.message.native is not None
    assert [block["type"] for block in end.message.native.payload] == ["tool_use"]


async def test_renamed_arguments_get_their_names_back(router: respx.MockRouter) -> None:
    tool = ToolSpec("find", "", {"type": "object", "properties": {"filter[x]": {}, "filter_x_": {}}})
    reply = Reply((), (("c", "find", ('{"filter_x__1":1,"filter_x_":2}',)),), "tool_use")
    end = await reply_of(router, MESSAGES, reply, replace(ASK, tools=(tool,)))
    assert end.message.tool_calls[0].arguments == {"filter[x]": 1, "filter_x_": 2}


async def test_what_a_server_adds_to_a_call_comes_back_to_it(router: respx.MockRouter) -> None:
    extra = {"extra_content": {"google": {"thought_signature": "sig"}}}
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    delta = {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}], "tool_calls": [{**call, **extra}]}
    answer(router, CHAT, frames([chat_chunk(delta, "stop"), "[DONE]"]))
    end = finished(await heard(CHAT.open(), ASK))
    assert end.message.native is not None
    assert end.message.native.payload == (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**call, **extra}],
            "reasoning_details": [{"type": "reasoning.text", "text": "hm"}],
        },
    )


@pytest.mark.parametrize(
    "chunks",
    [
        [{"choices": [{"delta": {"content": "ok"}}]}, {"choices": [{"finish_reason": "stop"}]}],
        [
            {"choices": None},
            {"choices": [{"delta": {"content": [{"type": "text", "text": "ok"}]}, "finish_reason": "eos"}]},
        ],
        [{}, {"choices": [{"delta": None}]}, {"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}],
    ],
)
async def test_chunks_may_lack_almost_everything(router: respx.MockRouter, chunks: list[dict[str, Any]]) -> None:
    answer(router, CHAT, frames(chunks))
    end = finished(await heard(CHAT.open(), ASK))
    assert (end.message.text, end.usage, end.model) == ("ok", None, "some-model")


@pytest.mark.long
async def test_a_long_stream_takes_time_in_proportion(router: respx.MockRouter, api: Api) -> None:
    async def seconds(words: int) -> float:
        body = Trickle(api.encode(Reply(("word",) * words)), 16_384)
        router.post(api.url).mock(return_value=httpx.Response(200, headers=SSE, stream=body))
        start = time.process_time()
        async with aclosing(provider.stream(replace(ASK, stop_sequences=("wordless", "w0")))) as items:
            async for _ in items:
                pass
        return time.process_time() - start

    provider = api.open()
    await seconds(100)  # what is slow only once
    assert await seconds(100_000) < 20 * await seconds(10_000)


async def test_summaries_are_given_up_where_the_account_may_not_have_them(router: respx.MockRouter) -> None:
    error = {
        "message": "Your organization must be verified.",
        "param": "reasoning.summary",
        "code": "unsupported_value",
    }
    refusal = httpx.Response(400, json={"error": error})
    good = httpx.Response(200, headers=SSE, content=RESPONSES.encode(Reply(("ok",))))
    router.post(RESPONSES.url).mock(side_effect=[refusal, good, good])
    provider = RESPONSES.open()
    for _ in range(2):
        assert finished(await heard(provider, ASK)).message.text == "ok"
    assert ["reasoning" in json.loads(call.request.content) for call in router.calls] == [True, False, False]
