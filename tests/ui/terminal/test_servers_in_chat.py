"""What passes between the chat and its servers, as a person sees it: suggestions, changes, messages, tasks."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ui.screen import Terminal

Open = Callable[..., Terminal]
ROOT = os.getcwd()
SERVERS = Path(__file__).parent / "servers"


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Open]:
    made: list[Terminal] = []

    def start(*argv: str) -> Terminal:
        made.append(Terminal(["-m", "mock/demo", *argv], tmp_path))
        made[-1].wait_for("1 of 1 server ready")
        return made[-1]

    yield start
    for terminal in made:
        terminal.close()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """One chat for several tests: to start it takes longer than most of them."""
    on = Terminal(["-m", "mock/demo"], tmp_path_factory.mktemp("chat"))
    on.wait_for("1 of 1 server ready")
    yield on
    on.close()


@pytest.fixture
def on(lasting: Terminal) -> Iterator[Terminal]:
    """That chat, left with nothing running and nothing typed."""
    yield lasting
    lasting.wait_until(lambda: lasting.rows[-2] == "›" and "Ctrl-C" not in lasting.rows[-1], "an idle prompt")


def test_tab_asks_the_server_what_an_argument_may_be(on: Terminal) -> None:
    on.type("/prompt code_review fo\t")
    on.wait_until(lambda: " readability" in on.rows and " security" in on.rows, "what the server suggests")
    on.type("re\t")
    on.wait_for("› /prompt code_review focus=readability")
    on.type("\x03/read demo://sights/Ky\t")
    on.wait_for("› /read demo://sights/Kyoto")
    on.type("\r")
    on.wait_for('<resource uri="demo://sights/Kyoto">')


def test_a_resource_goes_along_with_a_message(chat: Open) -> None:
    on = chat()
    on.type("hello @fi\t?\r")
    on.wait_for("› hello @file:///data/readme.txt?")
    on.wait_for('+ <resource uri="file:///data/readme.txt"> … (141 characters)')


def test_a_subscribed_resource_s_change_is_told(on: Terminal) -> None:
    on.type("/subscribe demo://bo\t\r")
    on.wait_for("demo tells when demo://bookings changes; /unsubscribe demo://bookings ends that.")
    on.type("/call book_seat train=X\r")
    on.wait_for("1/2 place")
    on.type("aisle\r\r\r")
    on.wait_for("! demo: demo://bookings has changed; /read demo://bookings shows it.")
    on.type("/subscribe\r")
    on.wait_for("demo: demo://bookings")
    on.type("/unsubscribe demo://bo\t\r")
    on.wait_for("demo does not tell of demo://bookings any more.")
    on.type("/subscribe\r")
    on.wait_for("Nothing is subscribed to: say /subscribe URI.")


def test_messages_are_shown_as_they_pass_and_afterwards(on: Terminal) -> None:
    on.type("/trace on\r")
    on.wait_for("Every message is shown as it passes; /trace off ends that.")
    on.type("/call add a=3 b=5\r")
    on.wait_for("! demo: → tools/call (")
    on.wait_for('{"name":"add","arguments":{"a":3,"b":5},"_meta"')
    on.wait_for("! demo: ← result (")
    on.type("/trace off\r")
    on.wait_for("Not any more.")
    on.type("/trace last 1\r")
    on.wait_for("\n/trace last 1\ndemo: ")
    on.type("/trace what\r")
    on.wait_for("Say /trace on, /trace off, or /trace last N.")


def test_a_tool_is_allowed_for_good(chat: Open) -> None:
    on = chat()
    on.type("add 3 and 5\r")
    on.wait_for("a always")
    on.type("a")
    on.wait_for("a again or Enter: always")
    on.type("a")
    on.wait_for("(mock) add said: 8")
    on.type("\x04")
    assert on.wait_for_exit() == 0
    on = chat()
    on.type("add 4 and 5\r")
    on.wait_for("(mock) add said: 9")


def test_a_call_by_hand_in_which_the_server_exits_is_a_call_that_failed(chat: Open, tmp_path: Path) -> None:
    table = {"command": sys.executable, "args": [str(SERVERS / "counter.py")], "env": {"PYTHONPATH": ROOT}}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"counter": table}}))
    on = chat("--mcp-config", str(tmp_path / "servers.json"))
    on.type("/call nothing\r")
    on.wait_for("\nThere is no tool named 'nothing'")
    on.type("/call leave\r")
    on.wait_for("✗ leave()")
    on.wait_for("  └ The server counter is gone: ")


@pytest.mark.parametrize("server", ["guide.py", "older_guide.py"])
def test_a_task_tells_its_progress_and_ctrl_c_cancels_it(chat: Open, tmp_path: Path, server: str) -> None:
    env = {"PYTHONPATH": ROOT, "LOG": str(tmp_path / "log")}
    table = {"command": sys.executable, "args": [str(SERVERS / server)], "env": env}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"guide": table}}))
    on = chat("--mcp-config", str(tmp_path / "servers.json"), "-y")
    on.type("walk\r")
    on.wait_until(lambda: any(row.startswith("◌ guide/walk() ") for row in on.rows), "the task's progress")
    on.wait_for("on the way")
    on.type("\x03")
    on.wait_for("Cancelled by the user.")
    on.wait_until(lambda: (tmp_path / "log").exists(), "the server to hear of it")
    assert (tmp_path / "log").read_text() == "cancelled"
