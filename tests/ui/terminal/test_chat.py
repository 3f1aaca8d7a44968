"""The chat as a person meets it: the whole program in a terminal, with the bundled demo server."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ui.runs import script
from tests.ui.screen import Terminal

Open = Callable[..., Terminal]


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Open]:
    made: list[Terminal] = []

    def start(*argv: str, ready: str = "1 of 1 server ready", rows: int = 40, columns: int = 80) -> Terminal:
        made.append(Terminal(argv, tmp_path, rows=rows, columns=columns))
        made[-1].wait_for(ready)
        return made[-1]

    yield start
    for terminal in made:
        terminal.close()


def test_the_first_start_says_which_model_it_is_and_why(chat: Open) -> None:
    on = chat(columns=112)
    on.wait_above_status(
        "mcp-chat 0.1.0 · model mock/demo. No model is configured, and neither OPENAI_API_KEY nor ANTHROPIC_API_KEY is",
        "set.",
        "This model is a mock: it runs real tools, but does not think. Set a key to use a real one.",
        "Type a request; /help shows the commands, Ctrl-D leaves.",
        "›",
    )
    on.type("\x04")
    assert on.wait_for_exit() == 0


def test_a_turn_with_a_tool_progress_ctrl_c_and_another_turn(chat: Open) -> None:
    on = chat("-m", "mock/demo")
    on.type("run long_task for 60 seconds with 120 steps\r")
    on.wait_for("Run demo/long_task?")
    on.type("ss")
    on.wait_for("step 1 of 120")
    on.type("a draft")
    on.wait_for("› a draft")
    on.type("\x03")
    on.wait_for("Cancelled by the user.")
    on.wait_above_status("■ Stopped. What was said so far is kept.", "› a draft")
    on.type("\x03")
    on.wait_gone("a draft")
    on.type("add 3 and 5\r")
    on.wait_for("Run demo/add?")
    on.type("y")
    on.wait_above_status("● demo/add(a=3, b=5)", "  └ 8", "", "(mock) add said: 8", "›")
    on.type("\x03")
    on.wait_for("Ctrl-D leaves.")
    on.type("\x04")
    assert on.wait_for_exit() == 0
    assert b"Traceback" not in on.raw


def test_a_form_and_a_sample_in_the_middle_of_a_tool(chat: Open) -> None:
    on = chat("-m", "mock/demo", "--allow", "demo/*")
    on.type("book a seat on ICE 5\r")
    on.wait_for("1/2 place (one of them)")
    on.type("2\r")
    on.wait_for("2/2 meal")
    on.type("yes\r")
    on.wait_for("Enter send")
    on.type("\r")
    on.wait_for("(mock) book_seat said: Booked on ICE 5: aisle, with a meal.")
    on.type("summarize the quick brown fox\r")
    on.wait_for("demo wants to ask mock/demo something. Allow it?")
    on.type("y")
    on.wait_for("Send this to demo?")
    on.type("y")
    on.wait_for("◇ demo asked mock/demo: answered")
    on.wait_for("(mock) summarize said:")
    on.type("book a seat on ICE 7\r")
    on.wait_for("1/2 place (one of them)")
    on.type("\x03")
    on.wait_for("? The form of demo was cancelled")
    on.wait_for("(mock) book_seat")
    on.type("\x04")
    assert on.wait_for_exit() == 0


def test_a_line_typed_meanwhile_waits_its_turn(chat: Open) -> None:
    on = chat("-m", "mock/demo", "-y")
    on.type("run long_task for 1 seconds with 2 steps\r")
    on.wait_for("◌ ")
    on.type("echo later\rhalf")
    on.wait_for("  queued: echo later")
    on.wait_for("(mock) echo said: later")
    on.wait_above_status("› half")


def test_slash_commands_ask_servers_by_hand(chat: Open) -> None:
    on = chat("-m", "mock/demo")
    on.type("/tools\r")
    on.wait_for("demo/long_task([seconds], [steps])")
    on.type('/call add {"a":3,"b":5}\r')
    on.wait_for("● add(a=3, b=5)")
    on.wait_for("  └ 8")
    on.type("/call demo/echo message='two words'\r")
    on.wait_for("  └ two words")
    on.type("/call ad\r")
    on.wait_for("There is no tool named 'ad'. Did you mean 'add'?")
    on.type("/resources\r")
    on.wait_for("demo: file:///data/readme.txt")
    on.type("/read file:///data/readme.txt\r")
    on.wait_for("This is the demo server")
    on.type("/servers\r")
    on.wait_for("demo: ready, stdio, 2026-07-28")
    on.type("/prompts\r")
    on.wait_for("demo: code_review(code, [focus])")
    on.type("/hepl\r")
    on.wait_for("There is no command /hepl. Did you mean /help?")
    on.type("/help\r")
    on.wait_for("Ctrl-C stops what runs")
    on.type("/exit\r")
    assert on.wait_for_exit() == 0


def test_a_prompt_of_a_server_becomes_a_turn_and_asks_for_what_is_missing(chat: Open) -> None:
    on = chat("-m", "mock/demo", rows=60)
    on.type('/prompt code_review {"code":"x = 1"}\r')
    on.wait_for("x = 1")
    on.wait_for("(mock)")
    on.type("/demo:code_review\r")
    on.wait_for("The prompt demo/code_review needs:")
    on.type("y = 2\r")
    on.wait_for("Enter send")
    on.type("\r")
    on.wait_for("y = 2")
    on.wait_until(lambda: on.text.count("(mock)") >= 2, "a second answer")


def test_tab_completes_commands_and_what_they_are_about(chat: Open) -> None:
    on = chat("-m", "mock/demo")
    on.type("/serv\t")
    on.wait_for("› /servers")
    on.type("\x15/call ech\t")
    on.wait_for("› /call echo")
    on.type("\x15/demo:\t")
    on.wait_for("› /demo:code_review")


def test_a_line_that_waits_for_a_slow_server_can_be_seen_and_ctrl_c_skips_the_wait_then_stops_the_turn(
    chat: Open,
) -> None:
    silent = f"slow={sys.executable} -c 'import time; time.sleep(60)'"
    on = chat("-m", "mock/demo", "-y", "-s", silent, "-s", "demo=bundled:demo", ready="1 of 2 servers ready")
    on.type("run long_task for 60 seconds\r")
    on.wait_above_status("› run long_task for 60 seconds", "waiting for slow (Ctrl-C skips)", "›")
    assert on.rows[-1] == "  mock/demo · 1 of 2 servers ready, slow starting · waiting, Ctrl-C skips"
    on.type("\x03")
    on.wait_for("◌ demo/long_task(seconds=60)")
    assert on.rows[-1] == "  mock/demo · 1 of 2 servers ready, slow starting · working, Ctrl-C stops"
    assert on.text.count("› run long_task for 60 seconds") == 1
    on.type("\x03")
    on.wait_above_status("■ Stopped. What was said so far is kept.", "›")
    on.type("\x04")
    assert on.wait_for_exit() == 0


def test_a_line_stopped_in_the_same_instant_goes_back_into_the_draft(chat: Open) -> None:
    on = chat("-m", "mock/demo", "-y")
    on.type("echo too early\r\x03")
    on.wait_above_status("Type a request; /help shows the commands, Ctrl-D leaves.", "› echo too early")


def test_what_is_typed_before_there_is_a_prompt_is_sent_as_far_as_it_was_entered(tmp_path: Path) -> None:
    on = Terminal(["-m", "mock/demo", "-y"], tmp_path)
    try:
        on.type("echo early\rhalf")
        on.wait_for("(mock) echo said: early")
        on.wait_above_status("(mock) echo said: early", "› half")
    finally:
        on.close()


def test_what_is_typed_before_a_first_question_is_no_answer_to_it(tmp_path: Path) -> None:
    (tmp_path / "mcp-chat.toml").write_text('[servers.local]\nbundled = "demo"\n')
    on = Terminal(["-m", "mock/demo", "-y"], tmp_path)
    try:
        on.type("echo yes\rn")
        on.wait_for("Agree?")
        on.type("y")
        on.wait_for("(mock) echo said: yes")
        on.wait_above_status("(mock) echo said: yes", "› n")
    finally:
        on.close()


def test_without_a_data_folder_there_is_a_chat_and_one_notice(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    (tmp_path / "mcp-chat.toml").write_text('[servers.local]\nbundled = "demo"\n')
    on = Terminal(["-m", "mock/demo", "-y"], tmp_path, columns=200)
    try:
        on.wait_for("Agree?")
        on.type("y")
        on.wait_for("This holds for now; it cannot be remembered: File exists: ")
        on.wait_for("This chat goes without history: ")
        on.wait_for("1 of 1 server ready")
        on.type("echo hi\r")
        on.wait_for("(mock) echo said: hi")
        on.type("\x1b[A")
        on.wait_for("› echo hi")
        assert on.text.count("goes without history") == 1
    finally:
        on.close()


def test_a_server_that_cannot_start_is_told_and_the_chat_goes_on(chat: Open) -> None:
    on = chat("-m", "mock/demo", "-s", "gone=/nonexistent/program", "--no-servers", ready="gone failed")
    assert [row for row in on.rows if row.startswith("✗ gone failed: ")] != []
    on.type("hello\r")
    on.wait_for("(mock) Hello!")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["TERM", "HUP"])
def test_a_signal_ends_the_chat_in_good_order(chat: Open, number: signal.Signals, code: int) -> None:
    on = chat("-m", "mock/demo")
    on.kill(number)
    assert on.wait_for_exit() == code
    assert b"Traceback" not in on.raw


def test_leaving_in_the_middle_of_a_call_is_as_quick_as_leaving(chat: Open) -> None:
    on = chat("-m", "mock/demo", "-y")
    on.type("run long_task for 60 seconds with 1200 steps\r")
    on.wait_for("step 1")
    began = time.monotonic()
    on.type("\x04")
    assert on.wait_for_exit() == 0
    assert time.monotonic() - began < 4


def test_a_narrower_window_is_drawn_anew(chat: Open) -> None:
    on = chat("-m", "mock/demo")
    on.type("日本語 and more words than fit into forty cells of it")
    on.wait_for("of it")
    on.resize(20, 40)
    on.type("!")
    on.wait_above_status("› 日本語 and more words than fit into fo", "  rty cells of it!")


def test_a_projects_servers_start_only_after_the_person_has_agreed(chat: Open, tmp_path: Path) -> None:
    (tmp_path / "mcp-chat.toml").write_text('[servers.local]\nbundled = "demo"\n')
    first = chat("-m", "mock/demo", ready="Agree?")
    assert "servers.demo" in first.text
    first.type("n")
    first.wait_for("no servers")
    first.type("\x04")
    assert first.wait_for_exit() == 0
    second = chat("-m", "mock/demo", ready="Agree?")
    second.type("y")
    second.wait_for("1 of 1 server ready")
    second.type("\x04")
    assert second.wait_for_exit() == 0
    third = chat("-m", "mock/demo")
    assert "Agree?" not in third.text


def test_a_failing_model_is_one_sentence_and_the_chat_goes_on(chat: Open, tmp_path: Path) -> None:
    turns = '[[turn]]\nfail = "auth"\n[[turn]]\ntext = "better now"\n'
    on = chat(*script(tmp_path, turns), ready="no servers")
    on.type("first\r")
    on.wait_for("■ ")
    on.type("second\r")
    on.wait_for("better now")
