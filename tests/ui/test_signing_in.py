"""`login`, `logout` and what needs them: what they print, how they end, what they leave behind.

What is waited for, or comes twice at once, is a real program; the rest runs within this process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream
from starlette.responses import Response

from tests.authorization_server import World, world
from tests.host.signing_in import follow, location
from tests.ui.runs import start

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
CONFIG = """
[chat]
model = "mock/demo"
[permissions]
default = "allow"
[servers.far]
url = "{url}"
auth = "oauth"
required = {required}
"""


@dataclass
class Place:
    """A folder with a configuration, in which programs are run; `said` is all that they wrote."""

    folder: Path
    there: World
    said: bytes = b""
    configured: bool = True
    _names: list[str] = field(default_factory=list)

    def configure(self, *, required: bool = False) -> None:
        text = CONFIG.format(url=self.there.url, required=str(required).lower())
        (self.folder / "config.toml").write_text(text)

    @property
    def hint(self) -> str:
        return f"Run: mcp-chat login far -c {self.folder / 'config.toml'}"

    def arguments(self, *more: str) -> list[str]:
        return [*(("-c", str(self.folder / "config.toml")) if self.configured else ()), *more]

    def command(self, *arguments: str) -> Sequence[str]:
        return [sys.executable, "-m", "agent", *self.arguments(*arguments)]

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "MCP_CHAT_DATA_DIR": str(self.folder / "data"), "HOME": str(self.folder)}

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        done = await anyio.to_thread.run_sync(start, self.arguments(*arguments), self.folder)
        self.said += (done.out + done.err).encode()
        return done.code, done.out, done.err

    async def run_program(self, *arguments: str) -> tuple[int, str, str]:
        """The same, in a process of its own."""
        done = await anyio.run_process(
            self.command(*arguments), cwd=ROOT, env=self.environ, check=False, input=b"", stdout=PIPE, stderr=PIPE
        )
        self.said += done.stdout + done.stderr
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    @asynccontextmanager
    async def login(self, server: str = "far") -> AsyncIterator[tuple[Process, str]]:
        """A login that waits for whoever opens the page with this address."""
        async with await anyio.open_process(
            self.command("login", server), cwd=ROOT, env=self.environ, stdin=PIPE, stdout=PIPE, stderr=PIPE
        ) as process:
            assert process.stderr
            shown = ""
            async for text in TextReceiveStream(process.stderr):
                shown += text
                if "within 10 minutes.\n" in shown:
                    break
            self.said += shown.encode()
            yield process, next(line for line in shown.splitlines() if line.startswith("http"))

    def written(self) -> dict[str, bytes]:
        """Every file that is there now."""
        return {path.name: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    async def sign_in(self, server: str = "far") -> None:
        async with self.login(server) as (process, url):
            assert "go back to mcp-chat" in await follow(url)
            assert await process.wait() == 0


@asynccontextmanager
async def place(folder: Path) -> AsyncIterator[Place]:
    with anyio.fail_after(40):
        async with world() as there:
            made = Place(folder, there)
            made.configure()
            yield made


async def test_without_a_terminal_a_page_is_named_and_whoever_opens_it_signs_in(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        async with here.login() as (process, url):
            assert url.startswith(f"{here.there.authority.issuer}/authorize?")
            await follow(url)
            assert process.stdout
            assert await process.stdout.receive() == b"You are signed in to far.\n"
            assert await process.wait() == 0
        code, out, _ = await here.run("call", "far/add", '{"a": 3, "b": 5}')
        assert (code, out.strip()) == (0, "8")


async def test_the_address_can_be_pasted(tmp_path: Path) -> None:
    async with place(tmp_path) as here, here.login() as (process, url):
        assert process.stdin
        await process.stdin.send(f"{await location(url)}\n".encode())
        assert await process.wait() == 0


async def test_the_list_of_servers_says_who_is_signed_in_and_logout_ends_it(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        code, out, _ = await here.run("servers", "--json")
        [server] = json.loads(out)
        assert (code, server["state"], server["sign_in"]) == (1, "failed", "not signed in")
        assert server["detail"] == f"far wants you to sign in. {here.hint}"
        await here.sign_in()
        code, out, _ = await here.run("servers")
        assert (code, out.splitlines()[0].split(", ")[:4]) == (0, ["far: ready", "http", "2026-07-28", "signed in"])
        assert await here.run("logout", "far") == (0, "You are signed out of far.\n", "")
        assert await here.run("logout", "far") == (0, "You were not signed in to far.\n", "")
        code, _, _ = await here.run("servers")
        assert code == 1


async def test_logout_tells_the_authorization_server_too_and_needs_it_not(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        authority = here.there.authority
        authority.metadata = {"revocation_endpoint": f"{authority.issuer}/revoke"}
        for status in (None, 503):
            await here.sign_in()
            authority.replies = {"/revoke": Response("", status)} if status else {}
            assert await here.run("logout", "far") == (0, "You are signed out of far.\n", "")
            assert json.loads((tmp_path / "data/tokens.json").read_text()) == {}
        assert authority.counted["revoke"] == 1


@pytest.mark.parametrize(("required", "code"), [(False, 0), (True, 3)])
async def test_a_script_is_told_how_to_sign_in_and_fails_only_if_it_must(
    tmp_path: Path, required: bool, code: int
) -> None:
    async with place(tmp_path) as here:
        here.configure(required=required)
        ended, _, said = await here.run("-p", "hello")
        assert ended == code
        assert f"far wants you to sign in. {here.hint}" in said
        assert here.there.authority.counted == {}


async def test_two_programs_at_once_refresh_once(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.sign_in()
        here.there.authority.expire()
        ended: list[tuple[int, str]] = []

        async def one() -> None:
            code, out, _ = await here.run_program("call", "far/add", '{"a": 3, "b": 5}')
            ended.append((code, out.strip()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            tasks.start_soon(one)
        assert ended == [(0, "8")] * 2
        assert here.there.authority.counted["refresh_token"] == 1


async def test_no_secret_stands_in_anything_that_a_run_writes(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.sign_in()
        here.there.authority.expire()
        trace = tmp_path / "trace.jsonl"
        code, _, _ = await here.run_program("-p", "add 3 and 5", "-vv", "-o", "jsonl", "--trace", str(trace))
        assert code == 0
        assert b"tools/call" in trace.read_bytes()
        here.there.authority.revoke()
        here.there.authority.out_of_order = True
        await here.run_program("servers", "-vv", "--trace", str(tmp_path / "second.jsonl"))
        await here.run("config", "check")
        written = here.written()
        kept = written.pop("tokens.json")
        assert here.there.authority.counted["refresh_token"] == 1
        assert len(here.there.authority.issued) == 6  # a secret, a code, and twice two tokens
        assert any(secret.encode() in kept for secret in here.there.authority.issued)
        for secret in here.there.authority.issued:
            assert [name for name, data in written.items() if secret.encode() in data] == []
            assert secret.encode() not in here.said


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("login", "fra"), 2, "There is no server named 'fra'. Did you mean 'far'?"),
        (("login", "near", "-s", "near=bundled:demo"), 2, "near runs on this machine; only a server with a url can be "
         "signed in to."),
        (("login", "http://"), 2, "http:// is no address of a server; write https://HOST/PATH."),
        (("login", "gone", "-s", "gone=http://127.0.0.1:9/mcp"), 1, "The server at http://127.0.0.1:9/mcp refused the "
         "connection; is it running?"),
    ],
)  # fmt: skip
async def test_what_cannot_be_signed_in_to_is_told(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    async with place(tmp_path) as here:
        assert await here.run(*arguments) == (code, "", f"{said}\n")


async def test_a_server_of_the_command_line_is_signed_in_to_by_its_url(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.configured = False
        url = here.there.url
        _, _, said = await here.run("call", "add", "a=3", "b=5", "-s", url)
        assert f"127.0.0.1 wants you to sign in. Run: mcp-chat login {url}\n" in said
        await here.sign_in(url)
        code, out, _ = await here.run("call", "add", "a=3", "b=5", "-s", url)
        assert (code, out) == (0, "8\n")
        assert await here.run("logout", url) == (0, "You are signed out of 127.0.0.1.\n", "")


async def test_what_a_script_was_refused_is_granted_by_the_login_that_it_was_told_of(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.sign_in()
        code, _, said = await here.run("call", "far/delete_note", "id=7")
        told = f"far wants you to sign in. It asks for more than was granted: notes:write. {here.hint}\n"
        assert (code, said) == (1, told)
        await here.sign_in()
        assert await here.run("call", "far/delete_note", "id=7") == (0, "deleted 7\n", "")


async def test_a_sign_in_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        (tmp_path / "data").write_text("in its place")
        async with here.login() as (process, url):
            await follow(url)
            assert process.stderr
            said = (await process.stderr.receive()).decode()
            assert await process.wait() == 1
        assert said == (
            f"You have signed in to far, but that cannot be kept for the next run: File exists: {tmp_path / 'data'}.\n"
        )


@pytest.mark.parametrize("environ", [{"HTTP_PROXY": "nonsense://x"}, {"SSL_CERT_FILE": "/nowhere"}])
async def test_an_environment_that_cannot_be_used_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    async with place(tmp_path) as here:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        code, _, said = await here.run("login", "far")
    assert code == 1
    assert said.startswith(
        "Signing in to far failed: a proxy or certificates that the environment names cannot be used: "
    )


async def test_a_wrong_address_may_be_followed_by_the_right_one(tmp_path: Path) -> None:
    async with place(tmp_path) as here, here.login() as (process, url):
        assert process.stdin
        await process.stdin.send(f"hello\n{await location(url)}\n".encode())
        assert await process.wait() == 0
        assert process.stderr
        assert "".join([text async for text in TextReceiveStream(process.stderr)]).splitlines() == [
            "That is not the address that this page ends at, or not all of it.",
            "If it ends at an address that does not load, paste that address here, within 10 minutes.",
        ]
