"""Tools as the loop and the model meet them."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest

from agent.chat.events import Noticed
from agent.chat.messages import Image, Text
from agent.chat.outbox import Outbox
from agent.chat.provider import ToolSpec
from agent.chat.toolbox import ToolOutput
from agent.host.approvals import Approvals
from agent.host.content import Cutter
from agent.host.errors import ServerUnavailable
from agent.host.mcp_tools import McpTool
from agent.host.toolbox import READ_RESOURCE, READ_RESULT, HostToolbox
from agent.mcp import Context, McpError, Server
from agent.mcp.wire import read_tool_result
from tests.host.scene import NOWHERE, Scene, configure, scene

pytestmark = pytest.mark.anyio

shop = Server("shop", instructions="Look before you buy.")


@shop.tool(annotations={"readOnlyHint": True})
async def look(item: str) -> str:
    """Look at an item."""
    return f"a {item}"


@shop.tool
async def buy(ctx: Context, item: str, count: int = 1) -> str:
    await ctx.progress(1, 2, "paying")
    return f"{count} {item}"


@shop.tool
async def catalogue(pages: int) -> str:
    return "".join(f"page {page:04}\n" for page in range(pages))


@shop.tool
async def fail() -> str:
    raise RuntimeError("out of stock")


@shop.resource("shop://hours")
async def hours() -> str:
    return "9 to 5"


plain = Server("plain")


@plain.tool(name="look")
async def look_elsewhere(item: str) -> str:
    return "elsewhere"


SERVERS = {"shop": shop, "plain": plain}


def no_progress(done: float, total: float | None, note: str) -> None:
    pass


def toolbox(view: Scene, *, system: str = "", max_output: int = 60_000) -> HostToolbox:
    return HostToolbox(view.host._servers, view.host.outbox, view.host.approvals, system, max_output)


async def run(box: HostToolbox, name: str, arguments: dict[str, Any]) -> ToolOutput:
    tool = box.find(name)
    assert tool is not None
    assert tool.fault(arguments) is None
    return await tool(arguments, no_progress)


async def test_all_tools_are_there_under_names_that_tell_their_servers_apart() -> None:
    async with scene(configure({"shop": {}, "plain": {}}), SERVERS) as view:
        box = toolbox(view)
        assert [(tool.spec.name, tool.server, tool.name) for tool in box.tools()] == [
            ("shop__look", "shop", "look"),
            ("shop__buy", "shop", "buy"),
            ("shop__catalogue", "shop", "catalogue"),
            ("shop__fail", "shop", "fail"),
            ("plain__look", "plain", "look"),
            ("read_resource", "mcp-chat", "read_resource"),
            ("read_result", "mcp-chat", "read_result"),
        ]
        assert [tool.spec for tool in box.tools()] == [tool.spec for tool in box.tools()]
        assert await run(box, "plain__look", {"item": "x"}) == ToolOutput((Text("elsewhere"),))
        assert box.find("look") is None
        description = box.tools()[0].spec
        assert (description.description, description.schema["required"]) == ("Look at an item.", ["item"])


async def test_a_tool_is_made_once_for_what_its_server_offers() -> None:
    stall = Server("stall")

    @stall.tool
    async def restock() -> str:
        stall.tool(name="pear")(restock)
        return "pears"

    async with scene(configure({"stall": {}}), {"stall": stall}) as view:
        box = toolbox(view)
        before = box.find("stall__restock")
        assert before is not None
        assert (box.find("stall__restock") is before, before in box.tools()) == (True, True)
        assert box.find("stall__pear") is None
        await view.host.call_tool("restock")
        await view.until(lambda: len(view.host.tools()) == 2)
        assert [tool.name for tool in box.tools()] == ["restock", "pear", "read_result"]
        assert box.find("stall__pear") is box.tools()[1]


async def test_our_own_tools_are_there_only_where_they_are_of_use() -> None:
    async with scene(configure({"plain": {}}), SERVERS) as view:
        assert [tool.spec.name for tool in toolbox(view).tools()] == ["plain__look", "read_result"]
    async with scene(configure(), SERVERS) as view:
        assert toolbox(view).tools() == []


async def test_only_a_trusted_server_s_word_makes_a_tool_harmless() -> None:
    async with scene(configure({"shop": {"trust": True}}), SERVERS) as view:
        harmless = {tool.spec.name: tool.harmless for tool in toolbox(view).tools()}
    assert harmless == {
        "shop__look": True, "shop__buy": False, "shop__catalogue": False, "shop__fail": False,
        "read_resource": False, "read_result": True,
    }  # fmt: skip
    async with scene(configure({"shop": {}}), SERVERS) as view:
        assert not toolbox(view).tools()[0].harmless


async def test_a_call_reports_progress_and_gives_its_result() -> None:
    seen: list[tuple[float, float | None, str]] = []
    async with scene(configure({"shop": {}}), SERVERS) as view:
        tool = toolbox(view).find("shop__buy")
        assert tool is not None
        output = await tool({"item": "pear", "count": 3}, lambda *progress: seen.append(progress))
    assert output == ToolOutput((Text("3 pear"),))
    assert seen == [(1, 2, "paying")]


async def test_a_tool_that_fails_gives_an_error_to_the_model() -> None:
    async with scene(configure({"shop": {}}), SERVERS) as view:
        output = await run(toolbox(view), "shop__fail", {})
    assert output.is_error
    assert "out of stock" in str(output.content)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "The arguments do not fit the tool's schema: 'item' is a required property."),
        ({"item": 3}, "The arguments do not fit the tool's schema: item: 3 is not of type 'string'."),
        ({"item": "x"}, None),
    ],
)
async def test_arguments_are_held_against_the_server_s_schema(arguments: dict[str, Any], fault: str | None) -> None:
    async with scene(configure({"shop": {}}), SERVERS) as view:
        tool = toolbox(view).find("shop__look")
        assert tool is not None
        assert tool.fault(arguments) == fault


async def test_the_system_prompt_is_the_user_s_and_the_servers_marked_as_theirs() -> None:
    async with scene(configure({"shop": {}, "plain": {}}), SERVERS) as view:
        assert toolbox(view, system="Be brief.").system() == (
            'Be brief.\n\n<server name="shop">\nWhat this server says about its own tools:\n'
            "Look before you buy.\n</server>"
        )
        view.host.connections["shop"].stop()
        await view.until(lambda: view.host.connections["shop"].state == "stopped")
        assert toolbox(view).system() == ""


async def test_a_long_result_can_be_read_to_its_end() -> None:
    async with scene(configure({"shop": {}}), SERVERS) as view:
        box = toolbox(view, max_output=100)
        output = await run(box, "shop__catalogue", {"pages": 30})
        assert '[… 200 of 300 characters left out here. Read on with read_result(id="r1", offset=75)' in str(
            output.content[0].text  # type: ignore[union-attr]
        )
        rest = await run(box, "read_result", {"id": "r1", "offset": 275})
        assert rest == ToolOutput((Text("0027\npage 0028\npage 0029\n"),))
        gone = await run(box, "read_result", {"id": "r9", "offset": 0})
        assert gone == ToolOutput((Text("There is no result 'r9' any more."),), is_error=True)


async def test_calls_made_together_come_to_no_more_than_two_long_results() -> None:
    async with scene(configure({"shop": {}}), SERVERS) as view:
        box = toolbox(view, max_output=1_000)
        found: list[int] = []

        async def call() -> None:
            output = await run(box, "shop__catalogue", {"pages": 3_000})
            [part] = output.content
            assert isinstance(part, Text)
            found.append(len(part.text.partition("\n[…")[0]))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)
        await call()
        assert found == [750, 750, 375, 750]


async def test_a_resource_can_be_read() -> None:
    async with scene(configure({"shop": {}}), SERVERS) as view:
        box = toolbox(view)
        output = await run(box, "read_resource", {"server": "shop", "uri": "shop://hours"})
        assert output == ToolOutput((Text('<resource uri="shop://hours">\n9 to 5\n</resource>'),))
        missing = await run(box, "read_resource", {"server": "shop", "uri": "shop://none"})
        assert missing == ToolOutput((Text("There is no resource shop://none."),), is_error=True)
        with pytest.raises(ServerUnavailable, match=r"There is no server named 'shp'\. Did you mean 'shop'\?"):
            await run(box, "read_resource", {"server": "shp", "uri": "x"})


def test_our_own_tools_check_their_arguments() -> None:
    from agent.host.schemas import mismatch

    assert mismatch({"server": "a"}, READ_RESOURCE.schema) == "'uri' is a required property"
    assert mismatch({"id": "r1", "offset": -1}, READ_RESULT.schema) == "offset: -1 is less than the minimum of 0"


class Lone:
    """Stands for a connection whose server answers every call with one result."""

    def __init__(self, result: Any) -> None:
        self.name, self.result = "s", result
        self.table = configure({"s": {}}).servers["s"]

    async def request(self, what: str, send: Any, patience: Any) -> Any:
        if isinstance(self.result, McpError):
            raise self.result
        return read_tool_result(self.result)


def lone(server: Lone, definition: types.Tool, outbox: Outbox) -> McpTool:
    return McpTool(server, definition, outbox, Approvals(NOWHERE, {}), Cutter(1_000))  # type: ignore[arg-type]


async def output_of(result: Any, **tool: Any) -> tuple[ToolOutput, list[Any]]:
    outbox = Outbox()
    definition = types.Tool.model_validate({"name": "t", "inputSchema": {}, **tool})
    output = await lone(Lone(result), definition, outbox)({}, no_progress)
    return output, outbox.drain()


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ({"content": [text('{"n":1}')], "structuredContent": {"n": 1}}, ToolOutput((Text('{"n":1}'),))),
        ({"structuredContent": {"ü": 1}}, ToolOutput((Text('{"ü": 1}'),))),
        ({"content": [], "structuredContent": [1]}, ToolOutput((Text("[1]"),))),
        ({"content": []}, ToolOutput((Text("(empty result)"),))),
        ({}, ToolOutput((Text("(empty result)"),))),
        (None, ToolOutput((Text("(empty result)"),))),
        ({"toolResult": {"x": 1}}, ToolOutput((Text('{"toolResult":{"x":1}}'),))),
        ({"content": [text("no")], "isError": True}, ToolOutput((Text("no"),), is_error=True)),
        ({"content": [{"type": "image", "data": "iV", "mimeType": "image/png"}]},
         ToolOutput((Image("iV", "image/png"),))),
    ],
)  # fmt: skip
async def test_whatever_a_result_holds_the_model_gets_it_once(result: Any, output: ToolOutput) -> None:
    assert await output_of(result) == (output, [])


async def test_a_server_s_error_goes_to_the_model_with_its_data() -> None:
    output, events = await output_of(McpError(-32000, "Tool invocation failed", {"why": "timeout upstream"}))
    told = 'The server answered with error -32000: Tool invocation failed {"why": "timeout upstream"}'
    assert (output, events) == (ToolOutput((Text(told),), is_error=True), [])


async def test_what_is_for_the_user_is_shown_to_the_user() -> None:
    private = text("psst", annotations={"audience": ["user"]})
    shown = [Noticed("s", "info", "psst")]
    assert await output_of({"content": [private]}) == (ToolOutput((Text("(shown to the user only)"),)), shown)
    assert await output_of({"content": [private, text("hi")]}) == (ToolOutput((Text("hi"),)), shown)


OUTPUT_SCHEMA = {"type": "object", "required": ["rows"]}


@pytest.mark.parametrize(
    ("result", "warnings"),
    [
        ({"content": [text("x")], "structuredContent": {"rows": 1}}, []),
        ({"content": [text("x")], "structuredContent": {}}, ["'rows' is a required property"]),
        ({"content": [text("x")]}, ["None is not of type 'object'"]),
        ({"content": [text("x")], "isError": True}, []),
    ],
)
async def test_a_result_that_breaks_its_promise_is_warned_of_and_given_all_the_same(
    result: Any, warnings: list[str]
) -> None:
    output, events = await output_of(result, outputSchema=OUTPUT_SCHEMA)
    assert output.content == (Text("x"),)
    assert events == [
        Noticed("s", "warning", f"The result of t breaks its promise: {warning}.") for warning in warnings
    ]


def test_a_tool_whose_schema_cannot_be_used_says_so_to_the_model() -> None:
    definition = types.Tool.model_validate({"name": "t", "inputSchema": {"$ref": "#/nowhere"}})
    tool = lone(Lone(None), definition, Outbox())
    fault = "The tool t cannot be called: its schema refers to '/nowhere', which it does not hold."
    assert (tool.fault({}), tool.spec) == (fault, ToolSpec("s__t", "", {"$ref": "#/nowhere"}))
