"""Resources and templates, as a client lists and reads them."""

from __future__ import annotations

from typing import Any

import pytest

from agent.mcp import Context, Server
from agent.mcp.server.content import Image
from tests.mcp.raw_client import raw_client

pytestmark = pytest.mark.anyio


def a_library() -> Server:
    server = Server("library")

    @server.resource("file:///readme.txt", title="Read me", mime_type="text/markdown", size=5)
    async def readme() -> str:
        """What this is."""
        return "hello"

    @server.resource("pic://logo")
    async def logo() -> Image:
        return Image(b"\x89PNG\r\n")

    @server.resource("notes://{id}")
    async def note(ctx: Context, id: int) -> dict[str, Any] | None:
        return {"id": id, "from": ctx.request_id} if id < 10 else None

    @server.resource("notes://9")
    async def nine() -> str:
        return "nine"

    @server.resource("find://all{?q}")
    async def find(q: str = "*") -> str:
        if q == "burn":
            raise RuntimeError("the shelf is on fire")
        return q

    return server


async def test_resources_are_listed_apart_from_templates() -> None:
    async with raw_client(a_library()) as client:
        assert await client.ask("resources/list") == {
            "resources": [
                {
                    "name": "readme",
                    "title": "Read me",
                    "description": "What this is.",
                    "uri": "file:///readme.txt",
                    "mimeType": "text/markdown",
                    "size": 5,
                },
                {"name": "logo", "uri": "pic://logo"},
                {"name": "nine", "uri": "notes://9"},
            ]
        }
        assert await client.ask("resources/templates/list") == {
            "resourceTemplates": [
                {"name": "note", "uriTemplate": "notes://{id}"},
                {"name": "find", "uriTemplate": "find://all{?q}"},
            ]
        }


@pytest.mark.parametrize(
    ("uri", "content"),
    [
        ("file:///readme.txt", {"mimeType": "text/markdown", "text": "hello"}),
        ("pic://logo", {"mimeType": "image/png", "blob": "iVBORw0K"}),
        ("notes://7", {"mimeType": "application/json", "text": '{"id":7,"from":"r"}'}),
        ("notes://9", {"mimeType": "text/plain", "text": "nine"}),
        ("find://all", {"mimeType": "text/plain", "text": "*"}),
        ("find://all?q=a%20b", {"mimeType": "text/plain", "text": "a b"}),
    ],
)
async def test_a_resource_is_read(uri: str, content: dict[str, str]) -> None:
    async with raw_client(a_library()) as client:
        assert await client.ask("resources/read", {"uri": uri}, "r") == {"contents": [{"uri": uri, **content}]}


@pytest.mark.parametrize(
    ("uri", "code", "words"),
    [
        ("file:///other.txt", -32002, "Resource not found: file:///other.txt"),
        ("notes://10", -32002, "Resource not found: notes://10"),
        ("notes://x", -32602, "Invalid arguments for reading notes://x: id: Input should be a valid integer"),
        ("find://all?q=burn", -32603, "reading find://all?q=burn failed: the shelf is on fire"),
        (None, -32602, "uri must be a string"),
    ],
)
async def test_what_cannot_be_read_is_an_error(uri: Any, code: int, words: str) -> None:
    async with raw_client(a_library()) as client:
        refusal = await client.refusal("resources/read", {"uri": uri})
    assert refusal.code == code
    assert refusal.message.startswith(words)
    assert refusal.data == ({"uri": uri} if code == -32002 else None)
