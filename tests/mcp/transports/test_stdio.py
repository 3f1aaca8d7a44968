from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent.mcp.client.client import Client
from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import Unreadable
from agent.mcp.transports.child import environment
from agent.mcp.transports.stdio import Noise, stdio
from tests.mcp.transports.server_program import program

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _short_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that will not leave are not waited for as long as in earnest."""
    for name in ("EOF_SECONDS", "TERM_SECONDS", "KILL_SECONDS"):
        monkeypatch.setattr(f"agent.mcp.transports.child.{name}", 0.4)


@asynccontextmanager
async def running(code: str, **more: Any) -> AsyncIterator[Client]:
    with anyio.fail_after(20):
        async with Client(stdio(program(code), **more)) as client:
            yield client


async def text_of(client: Client, **arguments: Any) -> str:
    return "".join(block.text for block in (await client.call_tool("any", arguments)).content)  # type: ignore[union-attr]


def group_is_empty(group: int) -> bool:
    """Whether nothing of a process group runs any more. A zombie runs no more, and pid 1 may be slow to bury it."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    stats = [path.read_text().rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat") if path.exists()]
    return bool(stats) and all(state == "Z" for state, _, found, *_ in stats if int(found) == group)


# Talking.


async def test_a_conversation_and_an_end() -> None:
    transport = stdio(program("serve(echo); sys.exit(0)"))
    with anyio.fail_after(10):
        async with Client(transport) as client:
            assert client.server_info.name == "program"
            assert await text_of(client, text="✓ — 日本 🎉") == "✓ — 日本 🎉"
    assert (transport.stderr_tail, transport.noise) == ("", Noise())


async def test_the_wire_is_utf8_whatever_the_locale() -> None:
    env = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"}
    async with running("serve(echo)", env=env) as client:
        assert await text_of(client, text="✓ — 日本") == "✓ — 日本"


async def test_blank_lines_banners_and_logs_on_stdout_are_skipped_and_counted() -> None:
    code = """
        print("🖥️ mode: STDIO\\n\\n🔧 tools ready\\n \\r", flush=True)
        serve(echo)
    """
    notices: list[str] = []
    transport = stdio(program(code))
    with anyio.fail_after(10):
        async with Client(transport, on_notice=notices.append) as client:
            assert await text_of(client, text="a") == "a"
    assert transport.noise == Noise(2, "🔧 tools ready")
    assert notices == ["The server prints on stdout what is no message, as in '🖥️ mode: STDIO'; that was skipped."]


async def test_a_banner_glued_to_the_first_answer_is_shown_and_fails_the_handshake_at_once() -> None:
    notices: list[str] = []
    transport = stdio(program("print('Loading plugins...', end='', flush=True); serve(echo)"))
    with anyio.fail_after(10), pytest.raises(Unreadable):
        async with Client(transport, on_notice=notices.append, protocol="2025-11-25"):
            pass
    assert len(notices) == 1
    assert "'Loading plugins...{" in notices[0]


async def test_an_answer_that_comes_byte_by_byte_is_whole() -> None:
    code = """
        def call(id, arguments):
            for byte in json.dumps({"jsonrpc": "2.0", "id": id, "result": {"content": [
                {"type": "text", "text": "žluť 漢字 🎉"}]}}, ensure_ascii=False).encode() + b"\\r\\n":
                os.write(1, bytes([byte]))
        serve(call)
    """
    async with running(code) as client:
        assert await text_of(client) == "žluť 漢字 🎉"


async def test_bytes_that_are_no_utf8_are_repaired() -> None:
    code = r"""
        def call(id, arguments):
            os.write(1, b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a \x97 b"}]}}\n' % id)
        serve(call)
    """
    async with running(code) as client:
        assert await text_of(client) == "a � b"


@pytest.mark.parametrize("size", [129 << 10, 1 << 20, 8 << 20])
async def test_long_lines_are_read(size: int) -> None:
    code = "serve(lambda id, a: say({'id': id, 'result': {'content': [{'type': 'text', 'text': 'é' * a['size']}]}}))"
    async with running(code) as client:
        assert await text_of(client, size=size) == "é" * size


async def test_a_line_beyond_the_limit_fails_its_call_only() -> None:
    code = """
        def call(id, arguments):
            echo(id, {"text": "x" * arguments["size"]})
        serve(call)
    """
    async with running(code, line_limit=64 << 10) as client:
        with pytest.raises(Unreadable, match=r"longer than the limit of 65,536 bytes\."):
            await text_of(client, size=200 << 10)
        assert await text_of(client, size=2) == "xx"


async def test_a_flood_without_newline_fails_what_is_pending_and_keeps_what_came_before() -> None:
    code = """
        def call(id, arguments):
            say({"method": "notifications/message", "params": {"level": "info", "data": "hi"}})
            os.write(1, b"x" * 300_000)
        serve(call)
    """
    heard: list[str] = []
    with anyio.fail_after(10):
        transport = stdio(program(code), line_limit=100_000)
        async with Client(transport, on_notification=lambda method, params: heard.append(method)) as client:
            with pytest.raises(Unreadable, match="longer than the limit"):
                await client.call_tool("x")
    assert heard == ["notifications/message"]


async def test_stderr_is_drained_and_its_end_is_kept() -> None:
    code = """
        def call(id, arguments):
            sys.stderr.write("log line\\n" * 30_000 + "\\r" * 200_000 + "the end")
            sys.stderr.flush()
            echo(id, arguments)
        serve(call)
    """
    transport = stdio(program(code))
    with anyio.fail_after(10):
        async with Client(transport) as client:
            assert await text_of(client, text="a") == "a"
    assert transport.stderr_tail.endswith("\rthe end")
    assert len(transport.stderr_tail) == 16 * 1024


async def test_what_a_server_says_on_leaving_is_kept_and_never_holds_it_up() -> None:
    code = """
        serve(echo)
        print("x" * 1_000_000, flush=True)
        sys.stderr.write("y" * 1_000_000 + "goodbye")
    """
    transport = stdio(program(code))
    started = time.monotonic()
    with anyio.fail_after(10):
        async with Client(transport) as client:
            await client.ping()
    assert time.monotonic() - started < 5
    assert transport.stderr_tail.endswith("ygoodbye")


async def test_a_server_that_does_not_read_holds_up_neither_our_reader_nor_a_cancelled_call() -> None:
    code = """
        def call(id, arguments):
            while True:
                say({"method": "notifications/message", "params": {"level": "info", "data": "hi"}})
                time.sleep(0.01)
        serve(call)
    """
    heard = anyio.Event()
    with anyio.fail_after(10):
        transport = stdio(program(code))
        async with Client(transport, on_notification=lambda *_: heard.set()) as client:
            with anyio.move_on_after(0.2) as first:
                await client.call_tool("any", {"text": "stand still"})
            heard = anyio.Event()
            started = time.monotonic()
            with anyio.move_on_after(0.1) as second:
                await client.call_tool("any", {"text": "x" * (4 << 20)})
            assert time.monotonic() - started < 1
            assert first.cancelled_caught
            assert second.cancelled_caught
            await heard.wait()


# Starting.


async def test_what_cannot_be_started_says_what_to_do(tmp_path: Path) -> None:
    text, binary = tmp_path / "notes.txt", tmp_path / "tool"
    text.write_text("hello")
    binary.write_text("no magic")
    binary.chmod(0o755)
    sentences = {
        (
            "no-such-program-here",
        ): "The command 'no-such-program-here' was not found. Install it, or give its full path.",
        (str(text),): f"The command {str(text)!r} may not be executed. "
        "Make it executable, or name its interpreter first.",
        (str(binary),): f"The command {str(binary)!r} is no program. "
        f"Name its interpreter first, as in 'python3 {binary}'.",
        ("a\0b",): "The command 'a\\x00b' could not be started: embedded null byte.",
    }
    for command, sentence in sentences.items():
        with anyio.fail_after(5), pytest.raises(ConnectionLost) as caught:
            async with Client(stdio(command)):
                pass
        assert str(caught.value) == sentence


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectionLost, match=r"The folder '.*/nowhere', in which '.*' is to run, does not exist"):
        async with Client(stdio([sys.executable], cwd=tmp_path / "nowhere")):
            pass


def test_an_empty_command_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="at least the name of a program"):
        stdio([])


async def test_the_server_runs_where_and_with_what_it_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("LC_TIME", "de_DE.UTF-8")
    code = """
        names = ("OPENAI_API_KEY", "LC_TIME", "EXTRA")
        serve(lambda id, a: echo(id, {"text": json.dumps([os.getcwd(), *[os.environ.get(name) for name in names]])}))
    """
    async with running(code, cwd=tmp_path, env={"EXTRA": "1"}) as client:
        assert await text_of(client) == f'["{tmp_path}", null, "de_DE.UTF-8", "1"]'


def test_the_environment_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name in ("PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "USER", "SHELL", "LOGNAME", "AWS_SECRET", "LD_X"):
        monkeypatch.setenv(name, name.lower())
    assert environment({"HOME": "mine", "A": "b"}) == {
        "PATH": "path",
        "HOME": "mine",
        "LANG": "lang",
        "LC_ALL": "lc_all",
        "TERM": "term",
        "TMPDIR": "tmpdir",
        "USER": "user",
        "SHELL": "shell",
        "LOGNAME": "logname",
        "A": "b",
    }


# Ending.


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            "print('boom', file=sys.stderr); sys.exit(3)",
            "{} exited with code 3 before it answered anything. The end of its stderr:\nboom",
        ),
        ("sys.exit(0)", "{} exited with code 0 before it answered anything. Its stderr is empty."),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "{} was killed by SIGKILL (signal 9) before it answered anything. Its stderr is empty.",
        ),
        (
            "os.kill(os.getpid(), signal.SIGRTMIN + 3)",
            "{} was killed by signal 37 before it answered anything. Its stderr is empty.",
        ),
        (
            "os.close(1); time.sleep(60)",
            "{} closed its output before it answered anything. Its stderr is empty.",
        ),
    ],
)
async def test_a_server_that_dies_before_the_handshake_is_explained(code: str, sentence: str) -> None:
    with anyio.fail_after(10), pytest.raises(ConnectionLost) as caught:
        async with Client(stdio(program(code))):
            pass
    assert str(caught.value) == sentence.format(os.path.basename(sys.executable))


@pytest.mark.parametrize(
    ("death", "sentence"),
    [
        ("print('boom', file=sys.stderr); sys.exit(3)", "exited with code 3. The end of its stderr:\nboom"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL (signal 9). Its stderr is empty."),
    ],
)
async def test_a_server_that_dies_in_a_call_fails_every_call_at_once(death: str, sentence: str) -> None:
    code = f"""
        count = []
        def call(id, arguments):
            count.append(id)
            if len(count) == 2:
                {death}
        serve(call)
    """
    failures: list[str] = []

    async def fail(client: Client) -> None:
        with pytest.raises(ConnectionLost) as caught:
            await client.call_tool("x")
        failures.append(str(caught.value))

    async with running(code) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail, client)
            tasks.start_soon(fail, client)
        await fail(client)
    assert failures == [f"{os.path.basename(sys.executable)} {sentence}"] * 3


async def test_a_last_word_without_a_newline_is_heard() -> None:
    code = """
        def call(id, arguments):
            os.write(1, b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}' % id)
            sys.exit(0)
        serve(call)
    """
    async with running(code) as client:
        assert (await client.call_tool("x")).content == ()


async def test_a_call_on_a_server_that_closed_its_stdin_is_lost_and_not_stuck() -> None:
    code = """
        def call(id, arguments):
            echo(id, arguments)
            os.close(0)
            time.sleep(60)
        serve(call)
    """
    async with running(code) as client:
        await client.call_tool("x")
        with pytest.raises(ConnectionLost):
            await client.call_tool("x", {"text": "y" * (1 << 20)})


async def test_leaving_ends_a_server_that_ignores_eof_and_sigterm_and_what_it_started() -> None:
    code = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = os.fork()
        if not child:
            os.close(1)
            while True:
                time.sleep(60)
        serve(lambda id, a: echo(id, {"text": str(os.getpid())}))
        while True:
            time.sleep(60)
    """
    async with running(code) as client:
        group = int(await text_of(client))
        started = time.monotonic()
    assert time.monotonic() - started < 5
    assert group_is_empty(group)


async def test_leaving_ends_what_a_server_left_behind() -> None:
    code = """
        if not os.fork():
            time.sleep(60)
            os._exit(0)
        serve(lambda id, a: echo(id, {"text": str(os.getpid())}))
    """
    async with running(code) as client:
        group = int(await text_of(client))
    assert group_is_empty(group)


async def test_the_death_of_a_server_is_noticed_although_its_child_holds_stdout_open() -> None:
    code = """
        def call(id, arguments):
            if not os.fork():
                time.sleep(60)
                os._exit(0)
            echo(id, {"text": str(os.getpid())})
            os._exit(7)
        serve(call)
    """
    async with running(code) as client:
        group = int(await text_of(client))
        with pytest.raises(ConnectionLost, match=r"exited with code 7\."):
            await client.call_tool("x")
        while not group_is_empty(group):  # noqa: ASYNC110 — ended by the system, which sends no event
            await anyio.sleep(0.01)


async def test_being_cancelled_ends_the_server_all_the_same() -> None:
    group = 0
    with anyio.fail_after(10):
        with anyio.CancelScope() as scope:
            async with Client(stdio(program("serve(lambda id, a: echo(id, {'text': str(os.getpid())}))"))) as client:
                group = int(await text_of(client))
                scope.cancel()
                await client.ping()
        assert scope.cancelled_caught
    assert group_is_empty(group)


async def test_a_server_that_never_answers_can_be_left() -> None:
    with anyio.fail_after(10), anyio.move_on_after(0.3) as scope:
        async with Client(stdio(program("sys.stdin.read()"))):
            pass
    assert scope.cancelled_caught


async def test_a_transport_can_be_entered_again() -> None:
    transport = stdio(program("print('noise', flush=True); serve(echo)"))
    for _ in range(2):
        with anyio.fail_after(10):
            async with Client(transport) as client:
                await client.ping()
        assert transport.noise == Noise(1, "noise")


async def test_our_end_can_close_its_half_and_hear_the_rest() -> None:
    code = "sys.stdin.read(); say({'method': 'bye'})"
    with anyio.fail_after(10):
        async with stdio(program(code)) as channel:
            await channel.send_eof()
            assert (await channel.receive()).messages[0].method == "bye"
            with pytest.raises(ConnectionLost, match="exited with code 0"):
                await channel.receive()
            await channel.aclose()


async def test_nothing_is_known_of_a_server_not_yet_started() -> None:
    transport = stdio(program(""))
    assert (transport.stderr_tail, transport.noise) == ("", Noise())
