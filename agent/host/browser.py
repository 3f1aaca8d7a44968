"""Opens a page in the person's browser, where neither this program nor a model can see what is entered."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable

from anyio import to_thread

OPENING_SECONDS = 10.0
"""Seconds; a browser that has not exited by then is assumed to be opening the page."""

_PROGRAM = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"

OpenPage = Callable[[str], Awaitable[bool]]
"""Opens a URL that the person agreed to. False if no browser is available."""


async def open_page(url: str) -> bool:
    """Implements `OpenPage` with the platform's default browser, or the one in the environment variable BROWSER.

    It runs in a separate process without our terminal: some browsers write to the terminal or take it over.
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
