"""The logging setup: discarded, or to stderr with -vv. What users need to know is shown as an event, not logged."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def logs(*, shown: bool) -> Iterator[None]:
    """Install a handler for the block: without one Python would print warnings and tracebacks over the screen."""
    handler = logging.StreamHandler(sys.stderr) if shown else logging.NullHandler()
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
