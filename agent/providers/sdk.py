"""The model SDKs: imported once, outside the event loop's thread, and used for streams of plain JSON."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, Self

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

from agent.providers.errors import failure

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

    from agent.providers.registry import ProviderConfig

Json = dict[str, Any]

IMPORT_TIMEOUT = 120.0  # seconds; enough for a slow disk or a busy machine, but not unlimited

DRAIN_TIMEOUT = 0.1  # seconds
CLOSE_TIMEOUT = 1.0  # seconds

# Importing a package in two threads at once may give one of them a partly initialised module: one at a time.
_importing = threading.Lock()
_loaded: dict[str, ModuleType] = {}


def load(name: str) -> ModuleType:
    """Import in the calling thread. Safe from any thread."""
    with _importing:
        if name not in _loaded:
            _loaded[name] = import_module(name)
            # It logs every request at INFO, which would appear on the screen as soon as logging is configured.
            logging.getLogger("httpx2").setLevel(logging.WARNING)
        return _loaded[name]


async def loaded(name: str, config: ProviderConfig) -> ModuleType:
    """Import on a daemon thread, so that neither the event loop nor the program's exit waits for it.

    Raises:
        ProviderError: the package cannot be imported, or not in time.
    """
    try:
        if name not in _loaded:
            with anyio.fail_after(IMPORT_TIMEOUT):
                await _import_aside(name)
        return load(name)
    except ImportError as error:
        raise failure(config, "missing", str(error)) from error
    except TimeoutError as error:
        raise failure(config, "timeout", f"importing {name}") from error


async def _import_aside(name: str) -> None:
    done, token = anyio.Event(), current_token()

    def work() -> None:
        with suppress(ImportError):  # the caller imports again and gets the error
            load(name)
        with suppress(RuntimeError):  # the event loop has been closed, so nobody waits any more
            from_thread.run_sync(done.set, token=token)

    threading.Thread(target=work, name=f"import {name}", daemon=True).start()
    await done.wait()


class Events(Protocol):
    """The stream of a reply, one JSON value at a time. Leaving it closes the connection."""

    response: httpx2.Response

    def __aiter__(self) -> AsyncIterator[Any]: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *exc_info: Any) -> None: ...


async def post(
    client: AsyncOpenAI | AsyncAnthropic, sdk: ModuleType, path: str, body: Json, headers: Mapping[str, str] = {}
) -> Events:
    """Send a request whose response is a stream.

    The SDK's own method for the path is not used: it builds a model for every delta, which takes ten times as long, and
    assumes that the server sent all fields.
    """
    send: Any = client.post  # the same in both SDKs, but typed differently
    kind = sdk.AsyncStream[object]
    events: Events = await send(
        path, body=body | {"stream": True}, options={"headers": headers}, cast_to=object, stream=True, stream_cls=kind
    )
    return events


async def drain(events: Events) -> None:
    """Read the rest of the stream if it arrives at once: otherwise the connection cannot be reused."""
    # The reply is complete, so errors after it are ignored.
    with anyio.move_on_after(DRAIN_TIMEOUT), suppress(Exception):
        async for _ in events:
            pass


async def close(client: AsyncOpenAI | AsyncAnthropic | None) -> None:
    """Close the connections in bounded time, also if the caller has been cancelled."""
    if client is not None:
        with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
            await client.close()


def timeouts() -> httpx2.Timeout:
    """Seconds for each step. `read` is the longest time between two parts of a stream."""
    import httpx2

    return httpx2.Timeout(connect=10, read=120, write=60, pool=10)
