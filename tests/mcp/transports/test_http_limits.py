"""What one client may ask of a server over HTTP, and that the others do not suffer from it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agent.mcp.transports import http_limits
from agent.mcp.transports.http_limits import HEAD_LIMIT, Limited, Limits
from agent.mcp.transports.http_responses import send_document

pytestmark = pytest.mark.anyio


class Desk:
    """An app that answers at once, or, while `busy`, not until it is told to; asked by whom one likes, at any time."""

    def __init__(self, limits: Limits) -> None:
        self.now, self.go = 0.0, anyio.Event()
        self.waiting = 0
        self._limited = Limited(self._app, limits, lambda: self.now)

    async def ask(self, client: str = "ada", path: str = "/", header: bytes = b"") -> tuple[int, str | None]:
        """Status and Retry-After."""
        said: list[Any] = []

        async def send(message: Any) -> None:
            said.append(message)

        async def receive() -> Any:
            raise AssertionError("nobody reads it")

        scope = {"type": "http", "client": (client, 1), "path": path, "headers": [(b"x", header)]}
        await self._limited(scope, receive, send)
        headers = dict(said[0]["headers"])
        return said[0]["status"], headers[b"retry-after"].decode() if b"retry-after" in headers else None

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            self.waiting += 1
            await self.go.wait()
        await send_document(send, 204, b"")


async def test_a_burst_is_served_and_then_so_many_a_second() -> None:
    desk = Desk(Limits(per_second=2, burst=3))
    assert [await desk.ask() for _ in range(5)] == [(204, None)] * 3 + [(429, "1")] * 2
    assert await desk.ask("bob") == (204, None)
    desk.now = 0.5
    assert [await desk.ask() for _ in range(2)] == [(204, None), (429, "1")]
    desk.now = 100.0
    assert [await desk.ask() for _ in range(4)] == [(204, None)] * 3 + [(429, "1")]


async def test_a_slow_allowance_says_how_long_to_wait() -> None:
    desk = Desk(Limits(per_second=0.1, burst=1))
    assert [await desk.ask() for _ in range(2)] == [(204, None), (429, "10")]


async def test_only_so_many_are_open_at_once() -> None:
    desk = Desk(Limits(open=2))
    answers: list[Any] = []

    async def one(path: str) -> None:
        answers.append(await desk.ask(path=path))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, "/slow")
            tasks.start_soon(one, "/slow")
            while desk.waiting < 2:
                await anyio.lowlevel.checkpoint()
            assert await desk.ask() == (429, "1")
            assert await desk.ask("bob") == (204, None)
            desk.go.set()
    assert answers == [(204, None)] * 2
    assert await desk.ask() == (204, None)


async def test_headers_have_an_end() -> None:
    desk = Desk(Limits())
    assert await desk.ask(header=HEAD_LIMIT * b"x") == (431, None)
    assert await desk.ask(header=(HEAD_LIMIT - 1) * b"x") == (204, None)


async def test_of_many_clients_the_idle_ones_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limits, "REMEMBERED", 2)
    desk = Desk(Limits(per_second=0.1, burst=1))
    assert [await desk.ask(name) for name in ("ada", "bob", "cy", "cy", "ada")] == [
        (204, None),
        (204, None),
        (204, None),
        (429, "10"),
        (204, None),
    ]
