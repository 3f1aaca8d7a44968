from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import click
import pytest

from agent import __version__
from agent.host.options import Options
from agent.ui.cli import Invocation, TextAskedError, parse, run
from agent.ui.command_table import COMMANDS
from agent.ui.environment import Environment
from tests.ui.runs import Terminal, start


@pytest.mark.parametrize(
    ("argv", "given"),
    [
        ([], {}),
        (["-c", "f.toml", "--mcp-config", "a.json", "--mcp-config", "b.json"],
         {"config": Path("f.toml"), "mcp_config": (Path("a.json"), Path("b.json"))}),
        (["-s", "x.py", "--server", "n=cmd a b", "--only", "a", "--no-servers"],
         {"servers": ("x.py", "n=cmd a b"), "only": ("a",), "no_servers": True}),
        (["-m", "openai/x", "--system", "@file", "-p", "hi", "-o", "jsonl"],
         {"model": "openai/x", "system": "@file", "prompt": "hi", "output": "jsonl"}),
        (["-y", "--allow", "a/*", "--deny", "b/c"], {"yes": True, "allow": ("a/*",), "deny": ("b/c",)}),
        (["--sampling", "allow", "--elicit", "answers.json"], {"sampling": "allow", "elicit": "answers.json"}),
        (["--max-turns", "3", "--timeout", "1.5", "--max-tokens", "9"],
         {"max_turns": 3, "timeout": 1.5, "max_tokens": 9}),
        (["--color", "never", "-vv"], {"color": "never", "verbose": 2}),
    ],
)  # fmt: skip
def test_every_option_is_understood_before_and_after_a_command(argv: list[str], given: dict[str, Any]) -> None:
    assert parse(argv) == Invocation(Options(**given))
    assert parse([*argv, "tools"]) == Invocation(Options(**given), "tools")
    assert parse(["tools", *argv]) == Invocation(Options(**given), "tools")


def test_what_stands_after_the_command_counts_and_what_may_be_repeated_adds_up() -> None:
    argv = ["-m", "a/b", "-s", "one.py", "call", "demo/add", '{"a": -3}', "-m", "c/d", "-s", "two.py", "--json"]
    options = Options(model="c/d", servers=("one.py", "two.py"))
    assert parse(argv) == Invocation(options, "call", ("demo/add", '{"a": -3}'), json=True)
    assert parse(["call", "add", "a=3", "b=5"]).arguments == ("add", "a=3", "b=5")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["tols"], "There is no command 'tols'. Did you mean 'tools'?"),
        (["zzz"], "There is no command 'zzz'. There are: demo, servers,"),
        (["--modle", "x"], "There is no option '--modle'. Did you mean '--model'?"),
        (["--zzzzzz"], "There is no option '--zzzzzz'."),
        (["-o", "xml"], "'xml' is not one of 'text', 'json', 'jsonl'."),
        (["--timeout", "0"], "0.0 is not in the range x>0."),
        (["--max-turns", "many"], "'many' is not a valid integer"),
        (["read"], "Missing argument 'URI'."),
        (["tools", "a", "b"], "Got unexpected extra argument (b)"),
    ],
)
def test_a_wrong_command_line_names_the_nearest_right_one(argv: list[str], said: str, tmp_path: Path) -> None:
    done = start(argv, tmp_path)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.endswith("Try 'mcp-chat --help'.\n")


def test_the_help_names_every_command_and_every_option(tmp_path: Path) -> None:
    done = start(["--help"], tmp_path)
    assert (done.code, done.err) == (0, "")
    for entry in COMMANDS:
        assert "\n  " + " ".join([entry.name, *entry.takes]) in done.out
    for option in ("-p, --prompt TEXT", "-s, --server [NAME=]SPEC", "-y, --yes", "--elicit ask|decline|cancel|"):
        assert option in done.out


def test_a_command_has_a_help_of_its_own(tmp_path: Path) -> None:
    done = start(["call", "--help"], tmp_path)
    assert done.out.startswith("Usage: mcp-chat call [OPTIONS] [SERVER/]TOOL [ARGUMENTS]…\n")
    assert (done.code, "--model" in done.out) == (0, False)


def test_the_version_is_told(tmp_path: Path) -> None:
    assert start(["--version"], tmp_path).out == f"mcp-chat {__version__}\n"
    with pytest.raises(TextAskedError):
        parse(["tools", "--version"])
    with pytest.raises(click.UsageError):
        parse(["--versoin"])


def test_a_chat_needs_a_terminal_and_a_prompt_must_not_be_empty(tmp_path: Path) -> None:
    done = start([], tmp_path, stdin="  \n")
    assert (done.code, done.err) == (2, "The prompt is empty. Give one with -p TEXT, or pipe it in.\n")


def test_a_fault_in_the_configuration_is_named_and_scripts_get_their_result(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[chat]\nmodle = "x"\n')
    done = start(["-c", "c.toml", "-p", "hi", "-o", "json"], tmp_path)
    assert done.code == 2
    assert "modle" in done.err
    assert (done.result["stop"], done.result["error"]["kind"]) == ("error", "config")


def test_a_fault_of_ours_is_a_sentence_a_result_and_with_vv_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ExceptionGroup("tasks", [LookupError("not there")])

    monkeypatch.setattr("agent.ui.start.configure", broken)
    done = start(["-p", "hi", "-o", "json"], tmp_path)
    assert (done.code, done.result["stop"]) == (1, "error")
    assert done.result["error"] == {
        "kind": "internal",
        "message": "Something went wrong inside mcp-chat: LookupError: not there (-vv shows where).",
    }
    with pytest.raises(LookupError):
        start(["-p", "hi", "-vv"], tmp_path)


def test_scripted_output_needs_a_prompt(tmp_path: Path) -> None:
    terminal, err = Terminal(), io.StringIO()
    assert run(["-o", "json"], Environment(terminal, terminal, err, {}, tmp_path)) == 2
    assert err.getvalue() == "-o json is for single answers: give a prompt with -p TEXT, or pipe one in.\n"


def test_a_chat_needs_a_terminal_at_both_ends(tmp_path: Path) -> None:
    err = io.StringIO()
    assert run([], Environment(Terminal(), io.StringIO(), err, {}, tmp_path)) == 2
    assert err.getvalue().startswith("A chat needs a terminal for input and output.")
