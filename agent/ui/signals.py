"""The signals that end a run cleanly, and the exit code of each."""

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
    """Call `act` with the exit code of each signal while this runs. Only the main thread receives signals."""
    if threading.current_thread() is not threading.main_thread():
        return
    with anyio.open_signal_receiver(*SIGNALS) as received:
        async for one in received:
            act(SIGNALS[one])
