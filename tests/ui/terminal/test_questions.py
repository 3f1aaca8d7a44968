"""Questions of servers in the whole program, in a terminal, cell by cell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ui.screen import Terminal

Open = Callable[..., Terminal]

SERVER = Path(__file__).parent / "servers" / "counter.py"
SCRIPT = """
[[turn]]
text = "まず確認します。 I look first."
calls = [{tool = "counter__slow", arguments = {}}, {tool = "counter__ask", arguments = {}}]
[[turn]]
text = "Booked."
"""
CONFIG = f"""
[providers.mock]
script = "script.toml"
[permissions]
default = "allow"
[servers.counter]
command = {sys.executable!r}
args = [{str(SERVER)!r}]
"""
KEYS = "Enter next · Shift-Tab back · Ctrl-X decline · Ctrl-C cancel"


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Open]:
    made: list[Terminal] = []

    def start(*argv: str, columns: int = 80, rows: int = 40, **environ: str) -> Terminal:
        made.append(Terminal(argv, tmp_path, environ, rows=rows, columns=columns))
        made[-1].wait_for("1 of 1 server ready")
        return made[-1]

    yield start
    for terminal in made:
        terminal.close()


@pytest.fixture(params=["2025-11-25", "2026-07-28"])
def counting(chat: Open, tmp_path: Path, request: pytest.FixtureRequest) -> Terminal:
    """A chat in which the model has said something and called two tools: one reports progress, the other asks."""
    (tmp_path / "script.toml").write_text(SCRIPT)
    (tmp_path / "config.toml").write_text(CONFIG + f'protocol = "{request.param}"\n')
    on = chat("-c", str(tmp_path / "config.toml"), "-m", "mock/script", rows=24)
    on.type("go\r")
    return on


def shows(on: Terminal, *rows: str) -> None:
    """Wait until these, and nothing else, stand below the request but for the status line."""

    def below() -> list[str]:
        seen = on.rows
        return seen[seen.index("› go") + 1 : -1] if "› go" in seen else []

    on.wait_until(lambda: below() == list(rows), f"{rows} to stand below the request")


def test_a_tool_asks_while_another_shows_its_progress_and_the_model_has_just_spoken(counting: Terminal) -> None:
    said, bar = ("", "まず確認します。 I look first."), "◌ █████░░░░░░░░░░░░░░░  25% counter/slow() 半分まで"
    title = "counter asks: どの席にしますか"
    place = ("1/2 座席 (one of them)", "  1) 窓側", "  2) 通路側")
    shows(counting, *said, bar, "◌ counter/ask()", title, *place, "?", KEYS)
    assert counting.cursor[1] == 2
    counting.type("窓")
    shows(counting, *said, bar, "◌ counter/ask()", title, *place, "? 窓", KEYS)
    assert counting.cursor[1] == 4
    counting.type("\r")
    fault = "Please choose a number or one of the names above."
    shows(counting, *said, bar, "◌ counter/ask()", title, *place, "? 窓", fault, KEYS)
    counting.type("\x15" + "2\r")
    name = ("  座席: 通路側", "2/2 お名前 (at least 2 characters)")
    shows(counting, *said, bar, "◌ counter/ask()", title, *name, "?", KEYS)
    counting.type("渡辺\r")
    review = ("  座席: 通路側", "  お名前: 渡辺", "Enter send · Shift-Tab back · Ctrl-X decline · Ctrl-C cancel")
    shows(counting, *said, bar, "◌ counter/ask()", title, *review)
    counting.type("\r")
    counting.wait_for("  └ accept 渡辺")
    counting.wait_for("Booked.")
    assert "25%" not in counting.text
    assert "どの席にしますか" not in counting.text


@pytest.mark.parametrize("counting", ["2026-07-28"], indirect=True)
def test_the_same_while_the_window_becomes_narrow(counting: Terminal) -> None:
    counting.wait_for(KEYS)
    counting.wait_for("半分まで")
    counting.resize(24, 40)
    said = ("", "まず確認します。 I look first.")
    running = ("◌ █████░░░░░░░░░░░░░░░  25% counter/slo…", "◌ counter/ask()")
    place = ("counter asks: どの席にしますか", "1/2 座席 (one of them)", "  1) 窓側", "  2) 通路側")
    keys = ("Enter next · Shift-Tab back · Ctrl-X", "decline · Ctrl-C cancel")
    shows(counting, *said, *running, *place, "?", *keys)
    counting.type("1\r")
    name = ("counter asks: どの席にしますか", "  座席: 窓側", "2/2 お名前 (at least 2 characters)")
    shows(counting, *said, *running, *name, "?", *keys)
    counting.type("辺" * 25)
    shows(counting, *said, *running, *name, f"? {'辺' * 19}", f"  {'辺' * 6}", *keys)
    counting.resize(24, 80)
    counting.wait_for("半分まで")
    counting.type("\x03")
    counting.wait_for("? The form of counter was cancelled")
    counting.wait_for("Booked.")


def test_ctrl_c_at_a_question_cancels_it_and_the_next_one_stops_the_turn(counting: Terminal) -> None:
    counting.wait_for(KEYS)
    counting.type("\x03")
    counting.wait_for("  └ cancel")
    counting.wait_for("Booked.")
    counting.type("\x04")
    assert counting.wait_for_exit() == 0


BROWSER = """
import sys, urllib.request
urllib.request.urlopen(sys.argv[1]).read()
urllib.request.urlopen(urllib.request.Request(sys.argv[1], data=b"", method="POST")).read()
print("noise")
"""


def test_the_tour_leads_through_everything(chat: Open, tmp_path: Path) -> None:
    (tmp_path / "browser.py").write_text(BROWSER)
    on = chat("demo", rows=60, BROWSER=f"{sys.executable} {tmp_path / 'browser.py'} %s")
    for request, tool in (
        ("echo hello from the tour", "echo"),
        ("add 3 and 5", "add"),
        ("run long_task for 2 seconds with 4 steps", "long_task"),
        ("book a seat on ICE 5", "book_seat"),
    ):
        on.wait_for(f"› {request}")
        on.type("\r")
        on.wait_for(f"Run demo/{tool}?")
        on.type("y")
    on.wait_for("1/2 place")
    on.type("1\r\r\r")
    on.wait_for("› link account example")
    on.type("\r")
    on.wait_for("Run demo/link_account?")
    on.type("y")
    on.wait_for("demo asks you to open a page on")
    on.type("y")
    on.wait_for("demo waits until you are done on 127.0.0.1:")
    on.type("y")
    on.wait_for("  └ The example account is linked.")
    on.wait_for("people decide.")
    on.type("\r")
    on.wait_for("Run demo/summarize?")
    on.type("y")
    on.wait_for("Allow it?")
    on.type("y")
    on.wait_for("Send this to demo?")
    on.type("y")
    on.wait_for("That was the tour.")
    on.type("\x04")
    assert on.wait_for_exit() == 0
    assert b"noise" not in on.raw


def test_a_request_is_edited_and_a_reply_written_in_place_of_the_model_s(chat: Open) -> None:
    on = chat("-m", "mock/demo", "-y")
    on.type("summarize the quick brown fox\r")
    on.wait_for("Allow it?")
    on.type("e")
    on.wait_for("1/3 System prompt")
    on.type("Be brief.\r")
    on.wait_for("2/3 Last message")
    on.type(", in Dutch\r\r")
    on.wait_for("Enter send")
    on.type("\r")
    on.wait_until(lambda: "the quick brown fox, in Dutch" in on.rows, "the edited request")
    on.type("y")
    on.wait_for("    the quick brown fox, in Dutch")
    on.wait_for("Send this to demo?")
    on.type("n")
    on.wait_for("◇ demo asked mock/demo: declined")
    on.type("summarize it again\r")
    on.wait_for("Allow it?")
    on.type("w")
    on.wait_for("You answer demo in the model's place")
    on.type("It is a fox.\r\r")
    on.wait_for("(mock) summarize said: It is a fox.")
    on.wait_for("◇ demo was answered by you")
    on.type("/sampling\r")
    on.wait_for("demo: you are asked each time")
    on.wait_for(" demo asked mock/demo: you refused the reply, ")
    on.wait_for(" demo asked you: answered, no tokens, –")
    on.type("summarize it once more\r")
    on.wait_for("Allow it?")
    on.type("ss")
    on.wait_for("Send this to demo?")
    on.type("y")
    on.wait_for("(mock) summarize said:\n")
    on.type("/sampling\r")
    on.wait_for("demo: you were asked; for this session: requests go out unasked")
    on.type("/sampling forget demo\r")
    on.wait_until(lambda: on.text.count("demo: you are asked each time") == 2, "the grant to be gone")
    on.type("\x04")
    assert on.wait_for_exit() == 0


def test_folders_are_shared_from_the_chat(chat: Open, tmp_path: Path) -> None:
    on = chat("-m", "mock/demo")
    on.type("/roots\r")
    on.wait_for("For every server that you agree to: none")
    on.type("/roots add missing\r")
    on.wait_for("There is no folder")
    on.type("/roots add .\r")
    on.wait_for(f"{tmp_path.name}\n")
    on.type("/roots remove .\r")
    on.wait_until(lambda: on.text.count("that you agree to: none") == 2, "none again")
    on.type("/roots nonsense\r")
    on.wait_for("Say /roots, /roots add FOLDER, /roots remove FOLDER, or /roots forget SERVER.")
    on.type("/sampling forget nobody\r")
    on.wait_for("Say /sampling, or /sampling forget SERVER.")
