from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the bundled demo server is: to start one for every run would take longer than the runs."""
    command = [sys.executable, "-m", "servers.demo", "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        yield server.stderr.readline().strip()
        server.terminate()
        server.stderr.read()


@pytest.fixture
def demo(url: str) -> list[str]:
    """Options for the mock, and that server."""
    return ["-m", "mock/demo", "-s", f"demo={url}"]
