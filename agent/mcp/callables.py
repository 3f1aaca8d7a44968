"""Properties of callables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def is_async(function: Any) -> bool:
    """Whether calling it gives something to await, so that it needs no thread."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def name_of(function: Callable[..., Any]) -> str:
    """The name in its `def`, or its class where it has none."""
    return str(getattr(function, "__name__", type(function).__name__))
