"""What a server of the stateless era answers, for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agent import __version__
from agent.mcp.jsonrpc import Params

REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"
EVERYTHING = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}, "logging": {}}


def discovered(*supported: str, capabilities: Mapping[str, Any] = EVERYTHING, **more: Any) -> dict[str, Any]:
    """What it answers to `server/discover`."""
    return {
        "resultType": "complete",
        "supportedVersions": list(supported or (REVISION,)),
        "capabilities": dict(capabilities),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {META + "serverInfo": {"name": "modern", "version": "0"}},
    } | more


def meta(declared: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The `_meta` of each request of ours; `declared` are the client's capabilities."""
    extensions = {"extensions": {META + "tasks": {}}}
    return {
        META + "protocolVersion": REVISION,
        META + "clientCapabilities": {**(declared or {}), **extensions},
        META + "clientInfo": {"name": "mcp-chat", "version": __version__},
        **more,
    }


def complete(**members: Any) -> dict[str, Any]:
    return {"resultType": "complete", **members}


def text(words: str, **members: Any) -> dict[str, Any]:
    """The result of a tool."""
    return complete(content=[{"type": "text", "text": words}], **members)


def asks(state: Any = None, **questions: Any) -> dict[str, Any]:
    """An answer that is a question: `key=(method, params)`."""
    requests = {key: {"method": method, "params": params} for key, (method, params) in questions.items()}
    return (
        {"resultType": "input_required"}
        | ({"inputRequests": requests} if requests else {})
        | ({} if state is None else {"requestState": state})
    )


def in_turn(answers: Iterable[Any]) -> Callable[[Params], Any]:
    """An answer for each time it is asked."""
    waiting = iter(answers)
    return lambda params: next(waiting)


def without_meta(params: Params) -> Params:
    return {name: value for name, value in params.items() if name != "_meta"}
