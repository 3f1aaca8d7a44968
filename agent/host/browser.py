"""A page in the person's own browser, where neither this program nor a model can see what is typed there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable

from anyio import to_thread

OPENING_SECONDS = 10.0
"""A browser that is still starting then is taken to be opening the page."""

_PROGRAM = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"

OpenPage = Callable[[str], Awaitable[bool]]
"""Opens an address that was agreed to. False if there is no browser to open it in."""


async def open_page(url: str) -> bool:
    """Implements `OpenPage`, as the platform does it, or the environment's BROWSER.

    It runs in a process of its own without our terminal, which some browsers write to and others would take over.
    """
    return await to_thread.run_sync(_open, url, abandon_on_cancel=True)


def _open(url: str) -> bool:
    try:
        opened = subprocess.run(
            [sys.executable, "-I", "-c", _PROGRAM, url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=OPENING_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    except OSError:
        return False
    return opened.returncode == 0
