"""A page in a browser of the person's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from agent.host import browser
from agent.host.browser import open_page


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the environment's BROWSER runs: it writes down its arguments, and where its output would go."""
    script = tmp_path / "browser.py"
    script.write_text(
        "import pathlib, sys\n"
        f"pathlib.Path({str(tmp_path / 'seen')!r}).write_text(repr((sys.argv[1:], sys.stdout.isatty())))\n"
        "print('noise')\n"
    )
    monkeypatch.setenv("BROWSER", f"{sys.executable} {script} %s")
    return tmp_path / "seen"


def test_the_browser_of_the_environment_gets_the_address_as_one_argument(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = "https://example.com/?a=1&b=$(id);'\"`|x"
    assert anyio.run(open_page, url)
    assert program.read_text() == repr(([url], False))
    assert capfd.readouterr() == ("", "")


def test_a_browser_that_fails_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", f"{sys.executable} -c 1/0 %s")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not anyio.run(open_page, "https://example.com")


def test_one_that_takes_long_to_start_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*args: object, **more: object) -> None:
        raise subprocess.TimeoutExpired("browser", browser.OPENING_SECONDS)

    monkeypatch.setattr(browser.subprocess, "run", run)
    assert anyio.run(open_page, "https://example.com")
