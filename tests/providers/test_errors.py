from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpcore2
import httpx
import pytest
import respx

from agent.chat.messages import user
from agent.chat.provider import ProviderError, Request, ToolSpec
from agent.providers.errors import retry_after
from tests.providers.wire import CHAT, MESSAGES, RESPONSES, SSE, Api, Reply, chat_chunk, frames, heard

pytestmark = pytest.mark.anyio

TOOLS = tuple(ToolSpec(name, "", {}) for name in ("fs__read", "srv__bad", "now"))
ASK = Request((user("hi"),), tools=TOOLS)


async def error_of(router: respx.MockRouter, api: Api, response: httpx.Response | Exception) -> ProviderError:
    router.post(api.url).mock(side_effect=[response])  # asked twice, it would run out
    with pytest.raises(ProviderError) as caught:
        await heard(api.open(), ASK)
    return caught.value


def error_body(api: Api, kind: str, code: str | None, message: str) -> dict[str, Any]:
    if api is MESSAGES:
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"type": kind, "code": code, "message": message, "param": None}}


STATUSES: list[tuple[int, str, str | None, str, str, bool]] = [
    (401, "authentication_error", "invalid_api_key", "Incorrect key", "auth", False),
    (403, "permission_error", None, "Not for you", "auth", False),
    (402, "billing_error", None, "Pay first", "quota", False),
    (429, "rate_limit_error", "rate_limit_exceeded", "Slow down", "rate_limit", True),
    (404, "not_found_error", "model_not_found", "No such model", "not_found", False),
    (408, "unknown", None, "Too slow", "timeout", True),
    (409, "unknown", None, "Conflict", "server", True),
    (413, "request_too_large", None, "Too big", "too_large", False),
    (400, "invalid_request_error", None, "prompt is too long: 3 tokens > 2", "context", False),
    (400, "invalid_request_error", "context_length_exceeded", "Too many tokens", "context", False),
    (400, "invalid_request_error", None, "temperature is refused", "bad_request", False),
    (422, "unknown", None, "No", "bad_request", False),
    (500, "api_error", "server_error", "Oh", "server", True),
    (502, "unknown", None, "Oh", "server", True),
    (503, "unknown", None, "Oh", "overloaded", True),
    (529, "overloaded_error", None, "Overloaded", "overloaded", True),
    (529, "server_error", None, "Overloaded", "overloaded", True),
]


@pytest.mark.parametrize(("status", "type", "code", "said", "kind", "retryable"), STATUSES)
async def test_a_refusal_has_a_kind_and_a_sentence(
    router: respx.MockRouter, api: Api, status: int, type: str, code: str | None, said: str, kind: str, retryable: bool
) -> None:
    if api is MESSAGES and code == "context_length_exceeded":
        said = "prompt is too long"
    error = await error_of(router, api, httpx.Response(status, json=error_body(api, type, code, said)))
    assert (error.kind, error.retryable, error.retry_after, error.tool) == (kind, retryable, None, None)
    assert str(error).startswith(f"{api.config.name} ")
    assert f"({said}); " in str(error)
    assert str(error).endswith(".")


async def test_no_credit_is_not_tried_again(router: respx.MockRouter) -> None:
    body = error_body(CHAT, "insufficient_quota", "insufficient_quota", "You exceeded your current quota.")
    error = await error_of(router, CHAT, httpx.Response(429, json=body))
    assert str(error) == (
        "local says that the account has no credit left (You exceeded your current quota); "
        "add credit there, or choose another model."
    )
    assert (error.kind, error.retryable) == ("quota", False)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'[{"error": {"code": 400, "message": "Bad value", "status": "INVALID_ARGUMENT"}}]', " (Bad value)"),
        (b'{"error": "model is loading"}', " (model is loading)"),
        (b'{"message": "plain"}', " (plain)"),
        (b"<html><h1>502 Bad Gateway</h1></html>", ""),
        (b"just words", " (just words)"),
        (b"", ""),
        (b"null", ""),
        (b"[]", ""),
        (b'{"error": {"message": null}}', ""),
    ],
)
async def test_error_bodies_of_all_shapes_are_read(router: respx.MockRouter, api: Api, body: bytes, said: str) -> None:
    error = await error_of(router, api, httpx.Response(400, content=body))
    assert str(error) == (
        f"{api.config.name} refused the request{said}; change what it objects to, or choose another model."
    )


async def test_the_key_is_never_shown(router: respx.MockRouter) -> None:
    body = error_body(RESPONSES, "invalid_request_error", "invalid_api_key", "Incorrect API key: sk-secret.\n See")
    error = await error_of(router, RESPONSES, httpx.Response(401, json=body))
    assert str(error) == (
        "openai refused the API key (Incorrect API key: ***. See); check api_key under [providers.openai]."
    )


async def test_a_key_of_a_few_letters_does_not_spoil_the_sentence(router: respx.MockRouter) -> None:
    api = replace(RESPONSES, config=replace(RESPONSES.config, api_key="x"))
    body = error_body(RESPONSES, "invalid_request_error", None, "The maximum is exceeded.")
    error = await error_of(router, api, httpx.Response(400, json=body))
    assert str(error) == (
        "openai refused the request (The maximum is exceeded); change what it objects to, or choose another model."
    )


async def test_a_long_message_is_cut(router: respx.MockRouter, api: Api) -> None:
    error = await error_of(router, api, httpx.Response(400, json=error_body(api, "x", None, "long " * 1000)))
    assert len(str(error)) < 450


# Retry-After


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "1"}, 1.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "86400"}, 86400.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({}, None),
    ],
)
async def test_the_wait_asked_for_is_passed_on(
    router: respx.MockRouter, api: Api, headers: dict[str, str], seconds: float | None
) -> None:
    error = await error_of(router, api, httpx.Response(429, headers=headers, json={}))
    assert (error.kind, error.retry_after) == ("rate_limit", seconds)


@pytest.mark.parametrize("zone", ["GMT", "-0000"])
def test_a_date_to_wait_for_becomes_seconds(zone: str) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True).replace("GMT", zone)
    seconds = retry_after({"retry-after": date})
    assert seconds is not None
    assert 80 < seconds <= 90


# A tool that is refused


@pytest.mark.parametrize(
    ("param", "message", "tool"),
    [
        ("tools[1].function.parameters", "Invalid schema for function 'srv__bad': nope", "srv__bad"),
        (None, "Invalid schema for function 'srv__bad': nope", "srv__bad"),
        (None, "tools.1.custom.name: String should match pattern", "srv__bad"),
        (None, "tools.2.custom.input_schema: JSON schema is invalid", "now"),
        (None, "Invalid 'tools[0].function.name'", "fs__read"),
        (None, "tools.7.custom.name: String should match pattern", None),
        (None, "Invalid schema for function 'unknown': nope", None),
        ("tools", "Invalid 'tools': array too long. Expected an array with maximum length 128", None),
        (None, "messages.1.content: the word tools.x", None),
    ],
)
async def test_the_tool_that_spoils_a_request_is_named(
    router: respx.MockRouter, api: Api, param: str | None, message: str, tool: str | None
) -> None:
    body = error_body(api, "invalid_request_error", "invalid_function_parameters", message)
    body["error"]["param"] = param
    error = await error_of(router, api, httpx.Response(400, json=body))
    assert (error.kind, error.tool, error.retryable) == ("bad_tool" if tool else "bad_request", tool, False)
    assert not tool or str(error).startswith(f"{api.config.name} refused the tool {tool} (")


# The connection


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (httpcore2.ConnectError("Name or service not known"), "connection"),
        (httpcore2.ConnectTimeout("slow"), "timeout"),
        (httpcore2.ReadTimeout("slow"), "timeout"),
        (httpcore2.PoolTimeout("busy"), "timeout"),
        (httpcore2.RemoteProtocolError("Server disconnected"), "connection"),
        (httpcore2.WriteError("broken pipe"), "connection"),
    ],
)
async def test_a_connection_that_fails_is_told(
    router: respx.MockRouter, api: Api, failure: Exception, kind: str
) -> None:
    error = await error_of(router, api, failure)
    assert (error.kind, error.retryable) == (kind, True)


async def test_why_it_is_tried_again_is_told_without_what_to_do_about_it(router: respx.MockRouter, api: Api) -> None:
    error = await error_of(router, api, httpx.Response(503, json=error_body(api, "x", None, "Come back later")))
    assert (error.brief, error.tries) == (f"{api.config.name} is overloaded.", None)
    assert str(error) == f"{api.config.name} is overloaded (Come back later); try again in a little while."


class Broken(httpx.AsyncByteStream):
    """A body that fails after its first part."""

    def __init__(self, start: bytes, failure: Exception) -> None:
        self._start, self._failure = start, failure

    async def __aiter__(self) -> Any:
        yield self._start
        raise self._failure


@pytest.mark.parametrize(
    ("failure", "kind"),
    [(httpcore2.ReadTimeout("stalled"), "timeout"), (httpcore2.RemoteProtocolError("incomplete body"), "connection")],
)
async def test_a_stream_that_breaks_is_told(router: respx.MockRouter, api: Api, failure: Exception, kind: str) -> None:
    start = api.encode(Reply(("Hello",)))[:-200]
    error = await error_of(router, api, httpx.Response(200, headers=SSE, stream=Broken(start, failure)))
    assert (error.kind, error.retryable) == (kind, True)


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/json"])
async def test_a_page_instead_of_a_stream_is_told(router: respx.MockRouter, api: Api, kind: str) -> None:
    response = httpx.Response(200, headers={"content-type": kind}, content=b"<html>Welcome</html>")
    error = await error_of(router, api, response)
    assert (error.kind, error.retryable) == ("protocol", False)
    assert str(error) == (
        f"{api.config.name} sent something that is no reply ({kind.partition(';')[0]} instead of a stream); "
        f"check the base_url and the api of [providers.{api.config.name}]."
    )


@pytest.mark.parametrize(
    "break_it", [lambda body: b"", lambda body: b"<html>Welcome</html>", lambda body: b": wait\n\n"]
)
async def test_an_empty_stream_is_incomplete(
    router: respx.MockRouter, api: Api, break_it: Callable[[bytes], bytes]
) -> None:
    error = await error_of(router, api, httpx.Response(200, headers=SSE, content=break_it(b"")))
    assert (error.kind, error.retryable) == ("incomplete", True)


@pytest.mark.parametrize("garbage", [b"{not json", b'"text"', b"5", b"[1]", b"null", b"\xff\xfe"])
async def test_garbage_in_a_stream_is_one_error(router: respx.MockRouter, api: Api, garbage: bytes) -> None:
    event = b"event: message_start\ndata: " + garbage + b"\n\n"
    error = await error_of(router, api, httpx.Response(200, headers=SSE, content=event))
    assert error.kind in ("protocol", "incomplete")
    assert error.retryable
    assert str(error).endswith("; try again.")


# Errors inside a stream


async def test_chat_errors_in_the_stream_are_told(router: respx.MockRouter) -> None:
    body = frames(
        [chat_chunk({"content": "He"}), {"error": {"code": 402, "message": "No credit", "type": "billing_error"}}]
    )
    error = await error_of(router, CHAT, httpx.Response(200, headers=SSE, content=body))
    assert (error.kind, "(No credit)" in str(error)) == ("quota", True)
    body = frames([chat_chunk({"content": "He"}), chat_chunk({}, "error")])
    error = await error_of(router, CHAT, httpx.Response(200, headers=SSE, content=body))
    assert (error.kind, error.retryable) == ("server", True)


@pytest.mark.parametrize(
    ("event", "kind", "retryable"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "Slow", "param": None}, "rate_limit", True),
        ({"type": "error", "error": {"type": "server_error", "message": "Slow"}}, "server", True),
        ({"type": "response.failed", "response": {"error": {"code": "server_error", "message": ""}}}, "server", True),
        ({"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": "Slow"}}},
         "bad_request", False),
        ({"type": "response.failed", "response": {"error": None}}, "server", True),
    ],
)  # fmt: skip
async def test_responses_errors_in_the_stream_are_told(
    router: respx.MockRouter, event: dict[str, Any], kind: str, retryable: bool
) -> None:
    error = await error_of(router, RESPONSES, httpx.Response(200, headers=SSE, content=frames([event])))
    assert (error.kind, error.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    ("type", "kind", "retryable"),
    [
        ("overloaded_error", "overloaded", True),
        ("api_error", "server", True),
        ("rate_limit_error", "rate_limit", True),
        ("invalid_request_error", "bad_request", False),
    ],
)
async def test_messages_errors_in_the_stream_are_told(
    router: respx.MockRouter, type: str, kind: str, retryable: bool
) -> None:
    start = MESSAGES.encode(Reply(("Hello",))).partition(b"event: content_block_stop")[0]
    event = {"type": "error", "error": {"type": type, "message": "Oh"}}
    response = httpx.Response(200, headers=SSE, content=start + frames([event]))
    error = await error_of(router, MESSAGES, response)
    assert (error.kind, error.retryable) == (kind, retryable)
