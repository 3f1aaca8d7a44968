"""Properties of callables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def is_async(function: Any) -> bool:
    """Whether calling it returns an awaitable, so that it need not run in a worker thread."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def name_of(function: Callable[..., Any]) -> str:
    """Its `__name__`, or the name of its class if it has none."""
    return str(getattr(function, "__name__", type(function).__name__))
