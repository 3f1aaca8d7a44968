"""Resources mentioned in a line: they go along, whole and marked; other words with an @ are just words."""

from __future__ import annotations

import base64

import pytest

from agent.chat.messages import Image, Text, UserMessage
from agent.host.errors import HostError
from agent.mcp import Server
from agent.ui.attachments import attached, has_mentions
from tests.host.scene import configure, scene

pytestmark = pytest.mark.anyio


def files(name: str) -> Server:
    server = Server(name)

    @server.resource("text://readme")
    async def readme() -> str:
        return "Read me."

    @server.resource(f"{name}://picture.png", mime_type="image/png")
    async def picture() -> bytes:
        return b"\x89PNG"

    @server.resource(f"{name}://pages/{{page}}")
    async def page(page: str) -> str:
        if page == "99":
            raise ValueError("there is no such page")
        return f"page {page}"

    return server


async def test_what_is_mentioned_goes_along_once_and_marked_with_its_uri() -> None:
    line = "Compare @text://readme with @a://pages/3, and (@a://picture.png!) and @text://readme; ask @bob or me@home."
    assert has_mentions(line)
    async with scene(configure({"a": {}}), {"a": files("a")}) as view:
        message = await attached(view.host, line)
    assert message == UserMessage(
        (
            Text(line),
            Text('<resource uri="text://readme">\nRead me.\n</resource>'),
            Text('<resource uri="a://pages/3">\npage 3\n</resource>'),
        )
    )


async def test_an_image_goes_along_as_one() -> None:
    async with scene(configure({"a": {}}), {"a": files("a")}) as view:
        message = await attached(view.host, "What is on @a://picture.png?")
    assert message.content[1:] == (Image(base64.b64encode(b"\x89PNG").decode(), "image/png"),)


async def test_a_long_resource_is_cut_as_a_tool_s_result_would_be() -> None:
    async with scene(configure({"a": {}}, chat={"max_tool_output": 20}), {"a": files("a")}) as view:
        message = await attached(view.host, "@text://readme")
    [_, cut] = message.content
    assert isinstance(cut, Text)
    assert "characters left out here" in cut.text


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("@a://pages/99", "a: The server answered with error "),
        ("@text://readme", "Several servers have text://readme: a, b; use /read to choose."),
    ],
)
async def test_what_cannot_be_read_is_said(line: str, sentence: str) -> None:
    servers = {name: files(name) for name in ("a", "b")}
    async with scene(configure({"a": {}, "b": {}}), servers) as view:
        with pytest.raises(HostError) as caught:
            await attached(view.host, line)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("line", ["mail me@home.org", "", "no @ here"])
async def test_a_line_without_mentions_is_a_message_as_it_stands(line: str) -> None:
    assert not has_mentions(line)
    async with scene(configure()) as view:
        assert await attached(view.host, line) == UserMessage((Text(line),))
