from __future__ import annotations

from agent import __version__
from agent.mcp.version import VERSION


def test_program_and_library_are_released_together() -> None:
    assert __version__ == VERSION
