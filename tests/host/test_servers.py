"""Servers that work and servers that do not: each is told of by name, and the others go on."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agent import __version__
from agent.chat.events import Noticed, ServerChanged
from agent.host.config.config import Config, Disabled
from agent.host.config.models import ServerTable
from agent.host.errors import HostError, ServerUnavailable
from agent.host.host import open_host
from agent.host.transports import reach
from agent.mcp import Context, Server
from tests.host.scene import Scene, configure, scene

pytestmark = pytest.mark.anyio

FRAGILE = str(Path(__file__).parent / "servers" / "fragile.py")


def fragile(**how: str) -> Config:
    """Servers that misbehave, by name, beside one called `good`, which does not."""
    tables = {
        name: {"command": sys.executable, "args": [FRAGILE, way]} for name, way in ({"good": "well"} | how).items()
    }
    return configure(tables)


def started(config: Config) -> Any:
    return scene(config, open_transport=reach)


def changes(view: Scene, server: str) -> list[tuple[str, str]]:
    return [(event.state, event.detail) for event in view.events(ServerChanged) if event.name == server]


async def echo(view: Scene, server: str) -> str:
    result = await view.host.call_tool("echo", {"a": 1}, server)
    return result.content[0].text  # type: ignore[union-attr]


# Starting


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("die", "exited with code 2 before it answered anything. The end of its stderr:\ncannot find my config"),
        ("die later", "exited with code 4. Its stderr is empty."),
        (
            "program",
            "It printed 'usage: program FILE' on stdout, which is no message. "
            f"{os.path.basename(sys.executable)} exited with code 1 before it answered anything. Its stderr is empty.",
        ),
        ("refuse", "It refused to be initialized: not today"),
        ("nonsense", "The server answered with protocol version '1999-01-01'; this program speaks 2024-11-05"),
    ],
)
async def test_a_server_that_does_not_start_says_why_and_the_others_go_on(how: str, sentence: str) -> None:
    async with started(fragile(bad=how)) as view:
        [good, bad] = view.host.servers()
        assert (good.state, bad.state) == ("ready", "failed")
        assert sentence in bad.detail
        assert await echo(view, "good") == 'echo {"a": 1}'
        with pytest.raises(ServerUnavailable) as caught:
            await view.host.connections["bad"].request("it", lambda client: client.ping())
        assert str(caught.value) == f"The server bad is not connected: {bad.detail}"
    assert changes(view, "bad") == [("starting", ""), ("failed", bad.detail)]
    assert changes(view, "good") == [("starting", ""), ("ready", "5 tools"), ("stopped", "")]


async def test_a_command_that_is_none_says_what_to_do() -> None:
    config = configure({"none": {"command": "surely-not-installed"}})
    async with started(config) as view:
        [server] = view.host.servers()
    assert server.detail == "The command 'surely-not-installed' was not found. Install it, or give its full path."


async def test_a_server_that_never_answers_is_given_up_at_its_deadline_with_its_last_words() -> None:
    table = {"command": sys.executable, "args": [FRAGILE, "silent"], "connect_timeout": 1.5}
    async with started(configure({"slow": table})) as view:
        [server] = view.host.servers()
        assert (server.state, server.detail) == (
            "failed",
            "It did not answer within 1.5 s. The end of its stderr:\nI am still thinking",
        )


async def test_a_server_that_exits_and_is_too_slow_the_second_time_is_said_to_have_exited(tmp_path: Path) -> None:
    script = "if [ -e begun ]; then exec sleep 60; fi; touch begun; echo broken >&2; exit 7"
    table = {"command": "sh", "args": ["-c", script], "cwd": str(tmp_path), "connect_timeout": 1.5}
    async with started(configure({"crash": table})) as view:
        [server] = view.host.servers()
    exited = "sh exited with code 7 before it answered anything. The end of its stderr:\nbroken"
    assert server.detail == f"{exited} Started once more, it did not answer within 1.5 s."


async def test_a_server_that_answers_with_what_is_no_message_is_quoted() -> None:
    table = {"command": sys.executable, "args": [FRAGILE, "garbage"], "connect_timeout": 1.5}
    async with started(configure({"odd": table})) as view:
        [server] = view.host.servers()
        said = "It printed 'hello to you too' on stdout, which is no message."
        assert (server.state, server.detail) == ("failed", f"It did not answer within 1.5 s. {said}")


async def test_what_a_server_prints_of_its_secrets_is_masked() -> None:
    config = configure({"leaky": {"command": "sh", "args": ["-c", "echo key is s3cr3t >&2; exit 1"]}})
    async with started(replace(config, secrets=frozenset({"s3cr3t"}))) as view:
        [server] = view.host.servers()
    assert server.stderr == "key is ***\n"
    assert server.detail.endswith("The end of its stderr:\nkey is ***")


async def test_leaving_does_not_wait_for_a_server_that_is_still_starting() -> None:
    config = configure({"slow": {"command": sys.executable, "args": [FRAGILE, "silent"]}})
    with anyio.fail_after(5):
        async with open_host(config) as host:
            assert [view.state for view in host.servers()] == ["starting"]


async def test_noise_is_counted_and_a_flood_on_stderr_does_no_harm() -> None:
    async with started(fragile(noisy="noise", flooding="flood")) as view:
        assert await echo(view, "noisy") == await echo(view, "flooding") == 'echo {"a": 1}'
        views = {server.name: server for server in view.host.servers()}
        assert (views["noisy"].noise, views["good"].noise) == (1, 0)
        assert 0 < len(views["flooding"].stderr) < 100_000
        [notice] = view.events(Noticed)
        assert (notice.server, notice.level) == ("noisy", "info")
        assert "Welcome to fragile 1.0!" in notice.text


async def test_one_bad_tool_is_left_out_with_a_notice() -> None:
    async with started(fragile(odd="bad tool")) as view:
        assert [tool.name for tool in view.host.tools("odd")] == ["echo", "exit", "kill", "hang", "error"]
        [notice] = view.events(Noticed)
        assert (notice.server, notice.level) == ("odd", "warning")


async def test_a_tool_with_an_odd_name_can_be_called_and_one_without_a_name_is_left_out() -> None:
    async with started(fragile(odd="odd names")) as view:
        [tool] = view.host.tools("odd")
        assert (tool.name, re.fullmatch("[a-zA-Z0-9_-]{1,64}", tool.shown_as) is not None) == ("größe: a/b.c 🎉", True)
        for name in (tool.name, tool.shown_as):
            result = await view.host.call_tool(name)
            assert result.content[0].text == "größe: a/b.c 🎉 {}"
        assert view.events(Noticed) == [Noticed("odd", "warning", "number 2 in tools was left out: name: it is empty.")]


async def test_a_list_that_cannot_be_read_is_empty_with_a_notice() -> None:
    async with started(fragile(locked="no list")) as view:
        assert [server.detail for server in view.host.servers()] == ["5 tools", "nothing"]
        assert view.events(Noticed) == [
            Noticed("locked", "warning", "The list of its tools could not be read: database is locked")
        ]


async def test_lists_that_a_server_only_boasts_of_are_empty() -> None:
    async with started(fragile(proud="boast")) as view:
        assert (view.host.resources("proud"), view.host.templates("proud"), view.host.prompts("proud")) == ([], [], [])
        assert await echo(view, "proud") == 'echo {"a": 1}'


async def test_a_required_server_that_is_not_there_is_an_error() -> None:
    config = configure({"bad": {"command": sys.executable, "args": [FRAGILE, "die"], "required": True}})
    async with open_host(config) as host:
        with pytest.raises(HostError, match=r"The server bad is required, but failed: .* exited with code 2"):
            await host.settled()


async def test_a_required_server_that_is_disabled_is_an_error_too() -> None:
    config = replace(configure(), disabled=(Disabled("server", "bad", "c.toml: servers.bad: odd.", required=True),))
    async with open_host(config) as host:
        with pytest.raises(HostError, match=r"The server bad is required, but failed: c\.toml: servers\.bad: odd\."):
            await host.ask("hello")
        with pytest.raises(HostError, match=r"The server bad is disabled: c\.toml: servers\.bad: odd\."):
            await host.reconnect("bad")


@pytest.mark.parametrize("folder", ["/", "empty"])
async def test_the_bundled_server_runs_from_anywhere_and_nothing_there_stands_in_for_it(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "servers").mkdir()
    (tmp_path / "servers" / "demo.py").write_text("raise SystemExit('not this one')")
    (tmp_path / "servers" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path if folder == "empty" else folder)
    config = configure()
    async with scene(
        Config(config.settings, {"demo": ServerTable(bundled="demo")}, config.providers, (), "mock/demo", ""),
        open_transport=reach,
    ) as view:
        [server] = view.host.servers()
        assert (server.state, server.tools > 0, server.transport) == ("ready", True, "stdio")


async def test_what_a_server_speaks_is_found_out_once_and_remembered(tmp_path: Path) -> None:
    table = {"command": sys.executable, "args": [FRAGILE]}
    asked = []
    for _ in range(2):
        async with started(configure({"good": table}, data_folder=tmp_path)) as view:
            asked.append([line.split()[2] for line in view.host.trace.last(99) if " → " in line])
            assert [server.revision for server in view.host.servers()] == ["2025-06-18"]
    assert asked == [
        ["server/discover", "initialize", "notifications/initialized", "tools/list"],
        ["initialize", "notifications/initialized", "tools/list"],
    ]


async def test_a_server_that_leaves_when_it_is_probed_is_started_once_more(tmp_path: Path) -> None:
    table = {"command": sys.executable, "args": [FRAGILE, "no probe"]}
    async with started(configure({"shy": table}, data_folder=tmp_path)) as view:
        assert await echo(view, "shy") == 'echo {"a": 1}'
    assert [state for state, _ in changes(view, "shy")] == ["starting", "ready", "stopped"]


async def test_one_revision_may_be_demanded() -> None:
    tables = {
        name: {"command": sys.executable, "args": [FRAGILE], "protocol": revision}
        for name, revision in (("fitting", "2025-06-18"), ("other", "2025-11-25"))
    }
    async with started(configure(tables)) as view:
        assert [(server.name, server.state, server.detail) for server in view.host.servers()] == [
            ("fitting", "ready", "5 tools"),
            ("other", "failed", "The server speaks protocol version 2025-06-18, and 2025-11-25 was asked for."),
        ]


# Dying and coming back


@pytest.mark.parametrize(
    ("tool", "how"),
    [
        ("exit", "exited with code 3. The end of its stderr:\nboom"),
        ("kill", "was killed by SIGKILL (signal 9). Its stderr is empty."),
    ],
)
async def test_a_server_that_dies_during_a_call_fails_that_call_and_comes_back_for_the_next(
    tool: str, how: str
) -> None:
    async with started(fragile()) as view:
        with pytest.raises(HostError) as caught:
            await view.host.call_tool(tool)
        program = os.path.basename(sys.executable)
        assert str(caught.value) == f"The server good is gone: {program} {how}"
        assert await echo(view, "good") == 'echo {"a": 1}'
    assert [state for state, _ in changes(view, "good")] == [
        "starting", "ready", "lost", "starting", "ready", "stopped",
    ]  # fmt: skip


async def test_two_calls_at_once_after_a_crash_start_the_server_once() -> None:
    async with started(fragile()) as view:
        with pytest.raises(HostError):
            await view.host.call_tool("exit")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(echo, view, "good")
            tasks.start_soon(echo, view, "good")
    assert [state for state, _ in changes(view, "good")].count("starting") == 2


async def test_a_server_can_be_started_anew_by_hand() -> None:
    async with started(fragile()) as view:
        await view.host.reconnect("good")
        assert await echo(view, "good") == 'echo {"a": 1}'
        with pytest.raises(HostError, match=r"There is no server named 'god'\. Did you mean 'good'\?"):
            await view.host.reconnect("god")
    assert [state for state, _ in changes(view, "good")] == [
        "starting", "ready", "stopped", "starting", "ready", "stopped",
    ]  # fmt: skip


async def test_a_call_without_an_answer_is_given_up_and_the_server_stays() -> None:
    config = configure({"good": {"command": sys.executable, "args": [FRAGILE], "timeout": 0.3}})
    async with started(config) as view:
        with pytest.raises(HostError) as caught:
            await view.host.call_tool("hang")
        assert str(caught.value) == "good did not answer the call of hang within 0.3 s."
        assert await echo(view, "good") == 'echo {"a": 1}'


async def test_a_server_s_error_is_told_with_its_code_and_data() -> None:
    async with started(fragile()) as view:
        with pytest.raises(HostError) as caught:
            await view.host.call_tool("error")
    assert str(caught.value) == 'good: The server answered with error -32000: Tool failed {"why": "upstream"}'


# Changes and words


async def test_a_list_that_changes_is_read_again() -> None:
    growing = Server("growing")

    @growing.tool
    async def grow() -> str:
        growing.tool(name="grown")(grow)
        return "grown"

    async with scene(configure({"growing": {}}), {"growing": growing}) as view:
        await view.host.call_tool("grow")
        await view.until(lambda: ("ready", "2 tools") in changes(view, "growing"))
        assert [tool.name for tool in view.host.tools()] == ["grow", "grown"]


async def test_an_idle_server_is_pinged_as_often_as_the_configuration_says() -> None:
    tables = {name: {"ping": seconds, "protocol": "2025-11-25"} for name, seconds in (("often", 0.001), ("never", 0))}
    async with scene(configure(tables), {name: Server(name) for name in tables}) as view:
        await view.host.settled()
        while "often: → ping" not in (pinged := "\n".join(view.host.trace.last(99))):
            await anyio.lowlevel.checkpoint()
    assert "never: → ping" not in pinged


async def test_what_a_server_logs_is_passed_on() -> None:
    talking = Server("talking")

    @talking.tool
    async def talk(ctx: Context) -> str:
        await ctx.log("error", "disk is full", logger="fs")
        await ctx.log("warning", {"slow_ms": 9})
        return ""

    async with scene(configure({"talking": {}}), {"talking": talking}) as view:
        await view.host.call_tool("talk")
        await view.until(lambda: len(view.events(Noticed)) == 3)
    deprecated, *logged = view.events(Noticed)
    assert (deprecated.level, "log messages" in deprecated.text) == ("info", True)
    assert logged == [
        Noticed("talking", "error", "fs: disk is full"),
        Noticed("talking", "warning", '{"slow_ms": 9}'),
    ]


async def test_a_server_is_told_who_we_are() -> None:
    curious = Server("curious")

    @curious.tool
    async def who(ctx: Context) -> dict[str, str]:
        return {key: str(ctx.client_info[key]) for key in ("name", "version")}

    async with scene(configure({"curious": {}}), {"curious": curious}) as view:
        result = await view.host.call_tool("who")
    assert result.structured_content == {"name": "mcp-chat", "version": __version__}
