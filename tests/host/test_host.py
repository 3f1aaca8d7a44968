"""The host as its users meet it: chats, listings, and everything by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent import load_config, open_host
from agent.chat.events import TurnEnded
from agent.chat.messages import AssistantMessage, Image, Stop, Text, Usage, UserMessage, user
from agent.host.config.config import ConfigError
from agent.host.content import messages_of
from agent.host.errors import HostError
from agent.host.host import Reply
from agent.mcp import Server, memory
from tests.host.scene import configure, scene

pytestmark = pytest.mark.anyio

sums = Server("sums", title="Sums")


@sums.tool(annotations={"readOnlyHint": True}, title="Add")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@sums.prompt
async def explain(topic: str, tone: str = "plain") -> list[dict[str, Any]]:
    """Explain a topic."""
    return [
        {"role": "user", "content": {"type": "text", "text": f"Explain {topic}, {tone}."}},
        {"role": "assistant", "content": {"type": "text", "text": "Gladly."}},
        {"role": "user", "content": {"type": "image", "data": "iV", "mimeType": "image/png"}},
    ]


@sums.resource("sums://about")
async def about() -> str:
    return "about sums"


@sums.resource("sums://table/{n}")
async def table(n: str) -> str:
    return f"table {n}"


other = Server("other")


@other.tool(name="add")
async def add_words(words: str) -> str:
    return words


@other.prompt(name="explain")
async def explain_words() -> str:
    return "words"


@other.resource("sums://about")
async def other_about() -> str:
    return "about other"


BOTH = {"sums": sums, "other": other}


def one() -> Any:
    return scene(configure({"sums": {}}, permissions={"default": "allow"}), BOTH)


def two() -> Any:
    return scene(configure({"sums": {}, "other": {}}), BOTH)


# Chatting


async def test_without_an_outbox_a_question_is_asked_and_answered_in_one_line() -> None:
    config = configure({"sums": {}}, permissions={"default": "allow"})
    async with open_host(config, open_transport=lambda table: memory(sums)) as host:
        with anyio.fail_after(5):
            reply = await host.ask("add 3 and 5")
            again = await host.ask(user("add 1 and 1"))
    [call] = reply.tool_calls
    assert (call.server, call.tool, call.arguments, call.is_error) == ("sums", "add", {"a": 3, "b": 5}, False)
    assert (reply.stop, reply.error, "8" in reply.text) == (Stop.END, None, True)
    assert reply.usage.output_tokens > 0
    assert ("2" in again.text, [call.arguments for call in again.tool_calls]) == (True, [{"a": 1, "b": 1}])


async def test_without_an_outbox_nothing_waits_for_a_person() -> None:
    async with open_host(configure({"sums": {}}), open_transport=lambda table: memory(sums)) as host:
        with anyio.fail_after(5):
            reply = await host.ask("add 3 and 5")
    assert (reply.stop, [call for call in reply.tool_calls if not call.is_error]) == (Stop.END, [])


async def test_with_an_outbox_its_reader_hears_everything() -> None:
    async with one() as view:
        reply = await view.host.ask("add 3 and 5")
        assert (reply.stop, "8" in reply.text) == (Stop.END, True)
        await view.until(lambda: view.events(TurnEnded))


async def test_a_model_without_a_key_fails_the_turn_and_nothing_else() -> None:
    config = configure({"sums": {}}, model="anthropic/claude")
    async with open_host(config, open_transport=lambda table: memory(sums)) as host:
        with anyio.fail_after(5):
            reply = await host.ask("hello")
            result = await host.call_tool("add", {"a": 1, "b": 2})
    sentence = "There is no API key for anthropic: set ANTHROPIC_API_KEY, or api_key under [providers.anthropic]."
    assert reply == Reply("", (), Usage(), Stop.ERROR, sentence)
    assert result.structured_content == {"result": 3}


async def test_the_model_may_be_changed_between_turns() -> None:
    async with one() as view:
        assert view.host.model == "mock/demo"
        await view.host.set_model("mock/script")
        assert (view.host.model, view.host.provider.name) == ("mock/script", "mock/script")
        assert (await view.host.ask("hello")).stop is Stop.ERROR


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        ("gpt", "'gpt' is neither PROVIDER/MODEL nor an alias. There are: anthropic/MODEL, mock/MODEL, openai/MODEL."),
        ("mock/dmeo", "mock/dmeo: there is no such model. Did you mean 'demo'?"),
        ("openai/x", "There is no API key for openai: set OPENAI_API_KEY, or api_key under [providers.openai]."),
    ],
)
async def test_a_model_that_cannot_be_used_is_refused_and_the_chat_stays_with_its_own(
    label: str, sentence: str
) -> None:
    async with one() as view:
        with pytest.raises(ConfigError) as caught:
            await view.host.set_model(label)
        assert (str(caught.value), view.host.model) == (sentence, "mock/demo")


async def test_the_limits_and_permissions_of_the_configuration_hold() -> None:
    config = configure({"sums": {}}, permissions={"default": "deny"}, chat={"max_turns": 1, "system": "Be brief."})
    async with open_host(config, open_transport=lambda table: memory(sums)) as host:
        with anyio.fail_after(5):
            reply = await host.ask("add 3 and 5")
        assert reply.stop is Stop.MAX_TURNS
        assert host.agent.conversation.segment.system == "Be brief."


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with open_host(configure({"sums": {}}), open_transport=lambda table: memory(sums)):
            raise KeyError("mine")


# Listings


async def test_a_tool_is_listed_with_everything_there_is_to_know() -> None:
    async with two() as view:
        [add_numbers, words] = view.host.tools()
        assert (words.server, words.name, words.shown_as) == ("other", "add", "other__add")
        listed = add_numbers.as_json()
        schemas = listed.pop("inputSchema"), listed.pop("outputSchema")
        assert (schemas[0]["required"], schemas[1]["required"]) == (["a", "b"], ["result"])
        assert listed == {
            "server": "sums",
            "name": "add",
            "shown_as": "sums__add",
            "title": "Add",
            "description": "Add two numbers.",
            "annotations": {"readOnlyHint": True},
        }
        assert [tool.server for tool in view.host.tools("other")] == ["other"]


async def test_resources_templates_and_prompts_are_listed_by_server() -> None:
    async with two() as view:
        assert [(found.server, found.item.uri) for found in view.host.resources()] == [
            ("sums", "sums://about"),
            ("other", "sums://about"),
        ]
        assert [found.as_json()["uriTemplate"] for found in view.host.templates()] == ["sums://table/{n}"]
        assert [found.as_json()["name"] for found in view.host.prompts("other")] == ["explain"]
        with pytest.raises(HostError, match=r"There is no server named 'sum'\. Did you mean 'sums'\?"):
            view.host.tools("sum")


async def test_servers_are_listed_with_their_counts() -> None:
    async with one() as view:
        [server] = view.host.servers()
    assert (server.name, server.revision, server.tools, server.resources, server.prompts) == (
        "sums", "2026-07-28", 1, 1, 1,
    )  # fmt: skip
    assert server.latency is not None
    assert 0 <= server.latency < 5


# By hand


async def test_a_tool_is_found_by_its_name_its_full_name_or_the_name_the_model_sees() -> None:
    async with two() as view:
        for name, server in (("sums/add", None), ("sums__add", None), ("add", "sums")):
            result = await view.host.call_tool(name, {"a": 1, "b": 2}, server)
            assert result.structured_content == {"result": 3}
        with pytest.raises(HostError, match=r"Several servers have a tool 'add': say sums/add or other/add\."):
            await view.host.call_tool("add", {"a": 1, "b": 2})
        with pytest.raises(HostError, match=r"There is no tool named 'ad'\. Did you mean 'add'\?"):
            await view.host.call_tool("ad")
        with pytest.raises(HostError, match=r"There is no tool named 'sub' on sums\. There are: add\."):
            await view.host.call_tool("sub", {}, "sums")


async def test_where_there_is_nothing_it_says_so() -> None:
    async with scene(configure(), BOTH) as view:
        with pytest.raises(HostError, match=r"There is no tool named 'add'\. No connected server has any tools\."):
            await view.host.call_tool("add")
        with pytest.raises(HostError, match="x://y cannot be read: no connected server has resources"):
            await view.host.read("x://y")
        with pytest.raises(HostError, match=r"There is no prompt named 'p'\. No connected server has any prompts\."):
            await view.host.prompt("p")


async def test_a_resource_is_read_from_the_server_that_has_it() -> None:
    async with one() as view:
        for uri, words in (("sums://about", "about sums"), ("sums://table/7", "table 7")):
            [part] = (await view.host.read(uri)).contents
            assert part.text == words  # type: ignore[union-attr]
        with pytest.raises(HostError, match=r"^sums: There is no resource sums://nowhere\.$"):
            await view.host.read("sums://nowhere")
    async with two() as view:
        [part] = (await view.host.read("sums://about", "other")).contents
        assert part.text == "about other"  # type: ignore[union-attr]
        with pytest.raises(HostError, match="Several servers may have sums://about: say which of other, sums"):
            await view.host.read("sums://about")


async def test_a_prompt_comes_as_the_messages_of_a_conversation() -> None:
    async with one() as view:
        assert messages_of(await view.host.prompt("explain", {"topic": "rain"})) == [
            UserMessage((Text("Explain rain, plain."),)),
            AssistantMessage((Text("Gladly."),)),
            UserMessage((Image("iV", "image/png"),)),
        ]
        with pytest.raises(HostError, match="sums: The server answered with error -32602"):
            await view.host.prompt("sums/explain")


# The library's face


async def test_the_configuration_of_one_file_is_all_it_takes(tmp_path: Path) -> None:
    file = tmp_path / "mcp-chat.toml"
    file.write_text("[chat]\nmodel = 'mock/demo'\n[permissions]\ndefault = 'allow'\n[servers.demo]\nbundled = 'demo'\n")
    with anyio.fail_after(10):
        async with open_host(load_config(file)) as host:
            reply = await host.ask("What is 3 + 5?")
    assert (reply.stop, "8" in reply.text) == (Stop.END, True)


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    return set(ran.stdout.split())


def test_importing_the_package_loads_nothing_of_it() -> None:
    loaded = modules_after("import agent; agent.__version__")
    assert {name for name in loaded if name.startswith("agent")} == {"agent"}
    assert loaded.isdisjoint({"pydantic", "anyio", "mcp_types"})


def test_a_server_that_imports_the_protocol_loads_no_host() -> None:
    loaded = modules_after("from agent.mcp import Server; Server('x')")
    assert {name for name in loaded if name.startswith(("agent.host", "agent.chat", "agent.providers"))} == set()


def test_nothing_heavy_is_loaded_before_the_servers_have_been_started() -> None:
    heavy = {"openai", "anthropic", "rich", "prompt_toolkit", "click", "jsonschema", "mcp", "httpx2", "mcp_types"}
    assert modules_after("import agent; agent.open_host, agent.load_config").isdisjoint(heavy)


def test_the_package_has_no_other_names() -> None:
    import agent

    assert {"load_config", "open_host", "__version__"} <= set(dir(agent))
    with pytest.raises(AttributeError, match="module 'agent' has no attribute 'nothing'"):
        _ = agent.nothing


def test_leaving_never_waits_for_an_sdk_that_is_being_imported() -> None:
    """The import of a model's SDK is made to take for ever; the program ends all the same."""
    code = """
import sys, time, anyio, types
import agent.providers.registry, agent.host.provider_choice
agent.host.provider_choice.warm_up = lambda config: time.sleep(1000)
from agent.host.config.config import resolve
from agent.host.options import Options
from agent.host.host import open_host
from pathlib import Path

async def main():
    environ = {"OPENAI_API_KEY": "sk-1", "MCP_CHAT_CONFIG_DIR": "/nowhere", "MCP_CHAT_DATA_DIR": "/nowhere"}
    async with open_host(resolve(Options(no_servers=True), environ, Path("/"))) as host:
        print(host.model)

anyio.run(main)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert ran.stdout.startswith("openai/")
    assert ran.stderr == ""
