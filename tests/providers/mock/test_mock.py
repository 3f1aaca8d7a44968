from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, Usage, user
from agent.chat.provider import ProviderError, Request
from agent.providers.mock.mock import MockProvider
from tests.providers.mock_requests import DEMO, ran, stream

pytestmark = pytest.mark.anyio


async def test_text_comes_in_small_pieces() -> None:
    pieces, end = await stream(Request((user("hello"),), system="be brief", tools=DEMO))
    assert len(pieces) > 10
    assert end.message == AssistantMessage((Text("".join(pieces)),))
    assert end.usage == Usage(input_tokens=3, output_tokens=len("".join(pieces).split()))
    assert end.model == "mock/demo"


async def test_calls_end_the_reply() -> None:
    request = Request((*ran("demo__add", "4 2"), user("echo a b")), tools=DEMO)
    pieces, end = await stream(request)
    raw = '{"message":"a b"}'
    call = ToolCall("mock_2", "demo__echo", {"message": "a b"}, raw)
    assert (pieces, end.message) == ([], AssistantMessage((call,), Stop.TOOL_USE))
    assert end.usage == Usage(input_tokens=8, output_tokens=2)


async def test_equal_requests_get_equal_replies() -> None:
    request = Request((user("add 1 and 2, echo x"),), tools=DEMO)
    assert await stream(request) == await stream(request)


@pytest.mark.parametrize(
    ("text", "limits", "expected", "stop"),
    [
        ("one two three", {"max_tokens": 3}, "[mock] one two", Stop.MAX_TOKENS),
        ("one two", {"max_tokens": 3}, "[mock] one two", Stop.END),
        ("one two three", {"stop_sequences": ("", "x", "two", " three")}, "[mock] one ", Stop.STOP_SEQUENCE),
        ("one two three", {"stop_sequences": ("three",), "max_tokens": 2}, "[mock] one", Stop.MAX_TOKENS),
        ("one two", {"stop_sequences": ("[mock]",)}, "", Stop.STOP_SEQUENCE),
    ],
)
async def test_limits_are_kept(text: str, limits: dict[str, Any], expected: str, stop: Stop) -> None:
    pieces, end = await stream(Request((user(text),), effort="lowest", **limits))
    assert ("".join(pieces), end.message.text, end.message.stop) == (expected, expected, stop)


async def test_a_reply_cut_by_max_tokens_has_no_calls() -> None:
    _, end = await stream(Request((user("echo one two three"),), tools=DEMO, max_tokens=2))
    assert end.message == AssistantMessage((), Stop.MAX_TOKENS)


async def test_there_are_two_models() -> None:
    with pytest.raises(ProviderError, match="no model mock/other: use mock/demo or mock/script") as error:
        await stream(Request((user("hi"),)), MockProvider("other"))
    assert error.value.kind == "not_found"
    assert [MockProvider("demo").name, MockProvider("script").name] == ["mock/demo", "mock/script"]


async def test_it_can_be_closed() -> None:
    with anyio.fail_after(5):
        await MockProvider("demo").aclose()
