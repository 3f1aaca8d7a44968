"""Estimates the size and the maximum cost of a model request before it is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator

from agent.chat.messages import Audio, Content, Image, Text, ToolCall, ToolMessage, Usage
from agent.chat.provider import Request

ASCII_PER_TOKEN = 3
"""Characters per token; prose has four or more, code and numbers fewer."""
BYTES_PER_TOKEN = 2
"""Bytes of UTF-8 per token, beyond ASCII: a Chinese character has three and may take more than one token."""
TOKENS_PER_PICTURE = 1_500  # or audio clip: about the size of a large one
LEAST_REPLY = 16
"""Tokens: some APIs have a minimum limit; what exceeds the server's own limit is paid for and then cut off."""


def text_tokens(text: str) -> int:
    """An approximate upper limit of the tokens of `text`."""
    ascii_only = len(text.encode("ascii", "ignore"))
    beyond = len(text.encode("utf-8", "surrogatepass")) - ascii_only
    return -(-ascii_only // ASCII_PER_TOKEN) - (-beyond // BYTES_PER_TOKEN)


def request_tokens(request: Request) -> int:
    """An approximate upper limit of the tokens of a request."""
    tools = [[tool.name, tool.description, tool.schema] for tool in request.tools]
    texts = [request.system, json.dumps(tools, ensure_ascii=False) if tools else ""]
    pictures = 0
    for part in _parts(request):
        match part:
            case Text(text):
                texts.append(text)
            case ToolCall(raw=raw):
                texts.append(raw)
            case Image() | Audio():
                pictures += 1
    return sum(map(text_tokens, texts)) + pictures * TOKENS_PER_PICTURE


def most_usage(request: Request) -> Usage:
    """The maximum usage. A model that had to call a tool and did not is asked once more."""
    tries = 2 if request.tool_choice == "required" else 1
    reply = max(LEAST_REPLY, request.max_tokens or 0)
    again = reply * (tries - 1)  # the second request includes the first reply
    return Usage(input_tokens=request_tokens(request) * tries + again, output_tokens=reply * tries)


def _parts(request: Request) -> Iterator[Content | ToolCall]:
    for message in request.messages:
        if isinstance(message, ToolMessage):
            for result in message.results:
                yield from result.content
        else:
            yield from message.content
