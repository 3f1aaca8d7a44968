"""Calling registered functions with a client's arguments, in the event loop or in a worker thread."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio.to_thread

from agent.mcp.callables import is_async
from agent.mcp.server.signature import Signature

Function = Callable[..., Any]


async def run(signature: Signature, arguments: Mapping[str, Any], context: Any) -> Any:
    """Call a function with a client's arguments. Raises ArgumentFault, and whatever the function raises."""
    bound = signature.bind(arguments)
    for name in signature.context_parameters:
        bound[name] = context
    return await invoke(signature.function, bound)


async def invoke(function: Function, arguments: Mapping[str, Any]) -> Any:
    """Await an `async def`; run a plain `def` in a worker thread, which is abandoned on cancellation."""
    try:
        if is_async(function):
            return await function(**arguments)
        value = await anyio.to_thread.run_sync(partial(function, **arguments), abandon_on_cancel=True)
        return await value if inspect.isawaitable(value) else value
    except SystemExit as leaving:  # raised by libraries for command lines; it must not end the server
        raise RuntimeError(f"it tried to end the program (exit code {leaving.code})") from leaving


def message_of(error: BaseException) -> str:
    """The text of an exception; of a group, those of all its exceptions."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(message_of(inner) for inner in error.exceptions)
    if isinstance(error, KeyError) and error.args:  # its own text is the key alone
        return f"KeyError: {error}"
    return str(error) or type(error).__name__
