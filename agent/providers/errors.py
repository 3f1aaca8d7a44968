"""Converts every failure of a model SDK to a ProviderError that says what happened and what to do about it."""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agent.chat.provider import RETRYABLE, ErrorKind, ProviderError

if TYPE_CHECKING:
    import httpx2

    from agent.providers.registry import ProviderConfig

_SENTENCES: dict[ErrorKind, tuple[str, str]] = {
    "auth": ("refused the API key", "check api_key under [providers.{name}]"),
    "quota": ("says that the account has no credit left", "add credit there, or choose another model"),
    "rate_limit": ("is asked too often", "wait a little and try again"),
    "overloaded": ("is overloaded", "try again in a little while"),
    "timeout": ("did not answer in time", "try again"),
    "connection": ("could not be reached, or the connection broke", "check the network and the base_url"),
    "server": ("failed on its side", "try again in a little while"),
    "context": ("cannot take a conversation this long", "begin a new one, or choose a model that takes more"),
    "too_large": ("cannot take a request this large", "leave out large images and results"),
    "not_found": ("does not know this model or address", "check the model's name and the base_url"),
    "bad_request": ("refused the request", "change what it objects to, or choose another model"),
    "bad_tool": ("refused the tool {tool}", "leave that tool out"),
    "incomplete": ("broke off in the middle of its reply", "try again"),
    "protocol": ("sent something that is no reply", "check the base_url and the api of [providers.{name}]"),
    "missing": ("cannot be used", "install what is missing"),
}

_CODES: dict[str, ErrorKind] = {
    "insufficient_quota": "quota",
    "billing_error": "quota",
    "billing_hard_limit_reached": "quota",
    "invalid_api_key": "auth",
    "authentication_error": "auth",
    "permission_error": "auth",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "server_is_overloaded": "overloaded",
    "timeout_error": "timeout",
    "context_length_exceeded": "context",
    "request_too_large": "too_large",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "server_error": "server",
    "internal_error": "server",
    "internal_server_error": "server",
    "api_error": "server",
    "vector_store_timeout": "server",
}
_STATUSES: dict[int, ErrorKind] = {
    401: "auth", 402: "quota", 403: "auth", 404: "not_found", 408: "timeout", 409: "server", 413: "too_large",
    429: "rate_limit", 503: "overloaded", 504: "timeout", 529: "overloaded",
}  # fmt: skip

_TOO_LONG = re.compile(r"prompt is too long|context (length|window)|maximum context", re.IGNORECASE)
_TOOL_INDEX = re.compile(r"\btools(?:\[(\d+)\]|\.(\d+)\b)")
_TOOL_NAME = re.compile(r"(?:function|tool) ['\"`]([^'\"`]+)['\"`]")
_LONGEST_DETAIL = 300
TRIES_TO_FIND = 2  # attempts for a host name that cannot be resolved


def failure(
    config: ProviderConfig, kind: ErrorKind, detail: str = "", *, wait: float | None = None, tool: str | None = None
) -> ProviderError:
    """`detail` is the provider's own message, `wait` the seconds it asked to wait."""
    what, advice = (text.format(name=config.name, tool=tool) for text in _SENTENCES[kind])
    said = f" ({shown})" if (shown := _presentable(detail, config)) else ""
    message, brief = f"{config.name} {what}{said}; {advice}.", f"{config.name} {what}."
    return ProviderError(kind, message, retryable=kind in RETRYABLE, retry_after=wait, tool=tool, brief=brief)


def refusal(
    config: ProviderConfig,
    body: object,
    tools: Sequence[str] = (),
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ProviderError:
    """Interpret an error body. `tools` are the names sent, in order; without `status` the error came in the stream."""
    fields = _fields(body)
    text = str(fields.get("message") or "")
    kind = _kind(fields, text, status)
    tool = _tool_named(f"{fields.get('param') or ''} {text}", tools) if kind == "bad_request" else None
    wait = retry_after(headers or {})
    return failure(config, "bad_tool" if tool else kind, text, wait=wait, tool=tool)


@contextmanager
def translated(config: ProviderConfig, sdk: ModuleType, tools: Sequence[str]) -> Iterator[None]:
    """Convert every exception raised inside to a ProviderError."""
    try:
        yield
    except ProviderError:
        raise
    except Exception as error:  # the SDKs parse server data in many places and raise many kinds of exceptions there
        raise _explained(error, config, sdk, tools) from error


def expect_stream(config: ProviderConfig, response: httpx2.Response) -> None:
    """Reject a response with another content type (HTML, plain JSON), which the SDKs would read as an empty stream."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("text/html", "application/json"):
        raise failure(config, "protocol", f"{kind} instead of a stream")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the provider asks to wait, from `retry-after-ms` or `retry-after` in either of its forms."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if (seconds := _number(value)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _explained(error: Exception, config: ProviderConfig, sdk: ModuleType, tools: Sequence[str]) -> ProviderError:
    import httpx2

    match error:
        case sdk.APITimeoutError() | httpx2.TimeoutException() | TimeoutError():
            return failure(config, "timeout")
        case sdk.APIConnectionError() if _is_unresolved(error):
            return _not_found(config)
        case sdk.APIConnectionError():
            return failure(config, "connection", str(error.__cause__ or ""))
        case sdk.APIStatusError():
            return refusal(config, error.body, tools, status=error.status_code, headers=error.response.headers)
        case sdk.APIError():
            return refusal(config, error.body or error.message, tools)
        case httpx2.HTTPError():
            return failure(config, "connection", str(error))
    said = _presentable(f"{type(error).__name__}: {error}", config)
    brief = f"{config.name} sent a garbled reply"
    return ProviderError("protocol", f"{brief} ({said}); try again.", retryable=True, brief=f"{brief}.")


def _is_unresolved(error: BaseException) -> bool:
    """Whether the cause is a host name that could not be resolved."""
    cause: BaseException | None = error
    while cause and not isinstance(cause, socket.gaierror):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _not_found(config: ProviderConfig) -> ProviderError:
    brief = f"The host {config.host} of {config.name} was not found"
    message = f"{brief}; check the network and the base_url."
    return ProviderError("connection", message, retryable=True, brief=f"{brief}.", tries=TRIES_TO_FIND)


def _fields(body: object) -> dict[str, Any]:
    """The error object, wherever this provider puts it: in a list, or under "error"."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict) and isinstance(body.get("error"), dict | str):
        body = body["error"]
    if isinstance(body, dict):
        return body
    text = body if isinstance(body, str) else ""
    return {"message": "" if "<" in text else text}


def _kind(fields: dict[str, Any], text: str, status: int | None) -> ErrorKind:
    by_status = _STATUSES.get(status or 0)
    for field in ("code", "type"):
        if kind := _CODES.get(str(fields.get(field))):
            return by_status or kind if kind == "server" else kind  # for a "server" error the status is more specific
    if _TOO_LONG.search(text):
        return "context"
    if status is None or status == 200:
        return "bad_request" if "invalid" in f"{fields.get('type')} {fields.get('code')}" else "server"
    return by_status or ("server" if status >= 500 else "bad_request")


def _tool_named(text: str, tools: Sequence[str]) -> str | None:
    if (found := _TOOL_INDEX.search(text)) and (index := int(found[1] or found[2])) < len(tools):
        return tools[index]
    return next((name for name in _TOOL_NAME.findall(text) if name in tools), None)


def _presentable(detail: str, config: ProviderConfig) -> str:
    line = config.mask(" ".join(detail.split()).rstrip("."))
    return line if len(line) <= _LONGEST_DETAIL else f"{line[:_LONGEST_DETAIL]}…"
