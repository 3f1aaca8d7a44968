"""Exceptions from task groups."""

from __future__ import annotations


def innermost(error: Exception) -> Exception:
    """The first exception within nested exception groups."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
