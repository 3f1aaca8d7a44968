"""Errors out of task groups."""

from __future__ import annotations


def innermost(error: Exception) -> Exception:
    """The first fault of those that task groups have gathered."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
