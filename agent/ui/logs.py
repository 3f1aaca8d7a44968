"""Where our log goes: nowhere, or with -vv to stderr. What a person is to know comes as a notice, not as a log."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def logs(*, shown: bool) -> Iterator[None]:
    """Without a handler Python would print warnings and tracebacks over whatever is on the screen."""
    handler = logging.StreamHandler(sys.stderr) if shown else logging.NullHandler()
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
