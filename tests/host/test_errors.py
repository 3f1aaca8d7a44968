"""Servers' errors in words."""

from __future__ import annotations

from typing import Any

import pytest

from agent.host.errors import describe_error
from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import NO_CODE


@pytest.mark.parametrize(
    ("code", "message", "data", "sentence"),
    [
        (-32002, "Resource not found", {"uri": "a://b"}, "There is no resource a://b."),
        (-32602, "Resource not found", {"uri": "a://b"}, "There is no resource a://b."),
        (-32602, "Unknown resource", {"uri": "a://b"}, "There is no resource a://b."),
        (-32002, "Not found", None, "There is no resource of that URI."),
        (-32002, "Not found", {"uri": 3}, "There is no resource of that URI."),
        (-32602, "Bad argument", {"uri": "a://b"}, 'The server answered with error -32602: Bad argument {"uri": "a://b"}'),
        (-32602, "Resource not found", None, "The server answered with error -32602: Resource not found"),
        (NO_CODE, '{"code": "x"}', None, 'The server answered with an error: {"code": "x"}'),
        (-32021, "The server cannot do this without roots.", {"requiredCapabilities": {"roots": {}}},
         "The server cannot do this without roots."),
        (-32042, "x", {"elicitations": []}, "The server wants a page opened in the browser first, and the person has "
         "not done that."),
    ],
)  # fmt: skip
def test_an_error_is_a_sentence(code: int, message: str, data: Any, sentence: str) -> None:
    assert describe_error(McpError(code, message, data)) == sentence
