"""What every test stands on: asyncio under anyio, no network but loopback, and a watch on what our ends of MCP send."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from agent.mcp.envelope import Channel
from agent.mcp.session import Session
from agent.mcp.transports.http_server import HttpApp
from tests.wire_watch import WatchedChannel, watched_app

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SIGNALS = (signal.SIGINT, signal.SIGTERM)

# A run in the background inherits that interrupts are ignored, and so would every process that the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("default", max_examples=60, stateful_step_count=30, derandomize=True, deadline=None)
settings.register_profile(
    "fuzz", max_examples=5_000, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def quiet() -> Iterator[None]:
    """No logs: pytest keeps them for the report of a test, and thousands of examples make too many."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches out fails at once, and says where it wanted to go."""
    connect, resolve = socket.socket.connect, socket.getaddrinfo

    def connect_here(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to connect to {address}")
        connect(self, address)

    def resolve_here(host: Any, *rest: Any, **more: Any) -> Any:
        if host is not None and (host.decode() if isinstance(host, bytes) else host) not in LOOPBACK:
            raise AssertionError(f"a test tried to look up {host}")
        return resolve(host, *rest, **more)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
    monkeypatch.setattr(socket, "getaddrinfo", resolve_here)


@pytest.fixture(autouse=True)
def _signals_as_they_were() -> Iterator[None]:
    """Whoever takes a signal gives it back: the tests that come after run in the same process."""
    before = [signal.getsignal(each) for each in SIGNALS]
    yield
    assert [signal.getsignal(each) for each in SIGNALS] == before


@pytest.fixture(autouse=True)
def _nobody_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """But whom a test names: reading the certificates of the system takes longer than most tests, for every client."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", os.devnull)


@pytest.fixture(autouse=True)
def _valid_on_the_wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever one of our ends sends is valid for the revision it speaks. A handler made by a test is none of them."""
    faults: list[str] = []
    begin = Session.__init__

    def begin_watched(self: Session, channel: Channel, handler: Any, *rest: Any, **more: Any) -> None:
        is_ours = type(handler).__module__.startswith("agent.")
        begin(self, WatchedChannel(channel, faults) if is_ours else channel, handler, *rest, **more)

    monkeypatch.setattr(Session, "__init__", begin_watched)
    _watch_apps(monkeypatch, faults)
    yield
    assert faults == []


def _watch_apps(monkeypatch: pytest.MonkeyPatch, faults: list[str]) -> None:
    answer = HttpApp.__call__

    async def answer_watched(self: HttpApp, scope: Any, receive: Any, send: Any) -> None:
        app = partial(answer, self)
        is_ours = type(self._server).__module__.startswith("agent.")
        await (watched_app(app, faults) if is_ours else app)(scope, receive, send)

    monkeypatch.setattr(HttpApp, "__call__", answer_watched)
