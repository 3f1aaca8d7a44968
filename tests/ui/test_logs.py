"""Tests for agent.ui.logs."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from agent.ui.logs import logs

PROGRAM = """
import logging
from agent.ui.logs import logs
with logs(shown={shown}):
    try:
        1 / 0
    except ZeroDivisionError:
        logging.getLogger("agent.mcp.session").exception("in a callback")
"""


@pytest.mark.parametrize("shown", [False, True])
def test_what_is_logged_reaches_stderr_only_if_it_was_asked_for(shown: bool) -> None:
    command = [sys.executable, "-c", PROGRAM.format(shown=shown)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stderr
    assert ("ZeroDivisionError" in said) is shown
    assert bool(said) is shown


def test_the_handler_goes_when_the_run_ends() -> None:
    before = list(logging.getLogger().handlers)
    with logs(shown=True):
        pass
    assert logging.getLogger().handlers == before
