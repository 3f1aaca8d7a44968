"""The signals that end a run in good order, and the exit code that each stands for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import anyio

from agent.ui.exit_codes import ExitCode

SIGNALS = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
    **({signal.SIGHUP: ExitCode.HANGUP} if hasattr(signal, "SIGHUP") else {}),
}


async def listen(act: Callable[[ExitCode], None]) -> None:
    """Tell `act` of every signal, for as long as this runs. Only the main thread of a process hears any."""
    if threading.current_thread() is not threading.main_thread():
        return
    with anyio.open_signal_receiver(*SIGNALS) as received:
        async for one in received:
            act(SIGNALS[one])
