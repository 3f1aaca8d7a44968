"""The model SDKs: imported once and never on the event loop, and asked for streams of plain JSON."""

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

IMPORT_TIMEOUT = 120.0  # seconds; a slow disk and a busy machine are waited for, a dead one is not

DRAIN_TIMEOUT = 0.1  # seconds
CLOSE_TIMEOUT = 1.0  # seconds

# Two threads that import one package from different ends may be handed half of it: one at a time.
_importing = threading.Lock()
_loaded: dict[str, ModuleType] = {}


def load(name: str) -> ModuleType:
    """Import here and now. Safe from any thread."""
    with _importing:
        if name not in _loaded:
            _loaded[name] = import_module(name)
            # It logs every request at INFO, which lands on the screen once anybody configures logging.
            logging.getLogger("httpx2").setLevel(logging.WARNING)
        return _loaded[name]


async def loaded(name: str, config: ProviderConfig) -> ModuleType:
    """Import on a daemon thread, so that the loop goes on and leaving the program waits for nothing.

    Raises:
        ProviderError: if the package cannot be imported, or not in time.
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
        with suppress(ImportError):  # the caller tries again, and hears it
            load(name)
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            from_thread.run_sync(done.set, token=token)

    threading.Thread(target=work, name=f"import {name}", daemon=True).start()
    await done.wait()


class Events(Protocol):
    """A reply's stream, one JSON value after the other. Leaving it closes the connection."""

    response: httpx2.Response

    def __aiter__(self) -> AsyncIterator[Any]: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *exc_info: Any) -> None: ...


async def post(
    client: AsyncOpenAI | AsyncAnthropic, sdk: ModuleType, path: str, body: Json, headers: Mapping[str, str] = {}
) -> Events:
    """Ask for a stream.

    Not through the SDK's own method for the path: it makes a model of every delta, which takes ten times as long, and
    trusts the server to have sent all of its fields.
    """
    send: Any = client.post  # the same in both SDKs, typed differently
    kind = sdk.AsyncStream[object]
    events: Events = await send(
        path, body=body | {"stream": True}, options={"headers": headers}, cast_to=object, stream=True, stream_cls=kind
    )
    return events


async def drain(events: Events) -> None:
    """Read on to the end if it comes at once: only then is the connection kept for the next request."""
    # The reply is complete: nothing that goes wrong behind it matters.
    with anyio.move_on_after(DRAIN_TIMEOUT), suppress(Exception):
        async for _ in events:
            pass


async def close(client: AsyncOpenAI | AsyncAnthropic | None) -> None:
    """Close the connections, also when the caller is being cancelled, and give up on a peer that will not have it."""
    if client is not None:
        with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
            await client.close()


def timeouts() -> httpx2.Timeout:
    """Seconds for each step. `read` is the longest silence between two pieces of a stream."""
    import httpx2

    return httpx2.Timeout(connect=10, read=120, write=60, pool=10)
