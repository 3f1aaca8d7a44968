from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import anyio
import pytest
import respx

from agent.chat.messages import Usage
from agent.host.prices import Prices
from tests.host.scene import configure
from tests.providers.conftest import router as router
from tests.providers.wire import MESSAGES, SSE, Reply
from tests.ui.runs import script, start


def test_the_answer_goes_to_stdout_and_nothing_else_does(tmp_path: Path) -> None:
    done = start([*script(tmp_path, '[[turn]]\ntext = "It is 8."\n'), "-p", "3 + 5?"], tmp_path)
    assert (done.code, done.out, done.err) == (0, "It is 8.\n", "")


def test_the_answer_is_the_last_message_and_holds_no_terminal_control(tmp_path: Path) -> None:
    turns = '[[turn]]\ntext = "Let me see."\ncalls = [{tool = "add", arguments = {a = 3, b = 5}}]\n'
    turns += '[[turn]]\ntext = "\\u001b[31m{{result}}\\u0007"\n'
    done = start([*script(tmp_path, turns), "-s", "demo=bundled:demo", "-y", "-p", "go"], tmp_path)
    assert (done.code, done.out) == (0, "8␇\n")


def test_every_event_is_a_line_and_the_last_one_is_the_result(tmp_path: Path, demo: list[str]) -> None:
    done = start([*demo, "-y", "-o", "jsonl", "-p", "add 3 and 5"], tmp_path)
    assert done.code == 0
    assert [kind for kind, _ in groupby(line["type"] for line in done.lines)] == [
        "server_changed",
        "turn_started",
        "message_finished",
        "tool_started",
        "tool_finished",
        "text_arrived",
        "message_finished",
        "turn_ended",
        "server_changed",
        "result",
    ]
    result = done.result
    (call,) = result["tool_calls"]
    assert call.pop("seconds") >= 0
    assert call == {"server": "demo", "tool": "add", "arguments": {"a": 3, "b": 5}, "is_error": False}
    assert (result["text"], result["stop"], result["denied"]) == ("(mock) `add` said: 8", "end", [])


def test_what_nobody_can_be_asked_is_refused_and_said(tmp_path: Path, demo: list[str]) -> None:
    done = start([*demo, "-o", "json", "-p", "add 3 and 5"], tmp_path)
    (denied,) = done.result["denied"]
    assert (denied["kind"], denied["server"], denied["tool"]) == ("tool", "demo", "add")
    assert "--yes" in denied["why"]
    assert (done.code, done.out.count("\n")) == (0, 1)
    text = start([*demo, "-p", "add 3 and 5"], tmp_path)
    assert "--yes" in text.err


def test_policies_answer_sampling_and_forms(tmp_path: Path, demo: list[str]) -> None:
    done = start([*demo, "-y", "--sampling", "allow", "-o", "json", "-p", "summarize the fox"], tmp_path)
    (sample,) = done.result["samples"]
    assert (sample["server"], sample["model"], sample["verdict"]) == ("demo", "mock/demo", "accept")
    (tmp_path / "answers.json").write_text(json.dumps({"demo": {"place": "aisle", "meal": True}}))
    done = start([*demo, "-y", "--elicit", "answers.json", "-o", "json", "-p", "book a seat on ICE 5"], tmp_path)
    assert done.result["text"] == "(mock) `book_seat` said: Booked on ICE 5: aisle, with a meal."
    assert done.result["questions"] == [{"kind": "form", "server": "demo", "verdict": "accept"}]


@pytest.mark.parametrize(
    ("turns", "options", "code", "stop"),
    [
        ('[[turn]]\nfail = "auth"\n', [], 1, "error"),
        ('[[turn]]\ntext = "x"\nwait = 30\n', ["--timeout", "0.3"], 4, "timeout"),
        ('[[turn]]\ncalls = [{tool = "add", arguments = {a = 1, b = 2}}]\n', ["--max-turns", "1"], 4, "max_turns"),
    ],
)
def test_every_ending_has_its_exit_code_and_exactly_one_result(
    tmp_path: Path, url: str, turns: str, options: list[str], code: int, stop: str
) -> None:
    argv = [*script(tmp_path, turns), "-s", f"demo={url}", "-y", *options, "-p", "go"]
    done = start([*argv, "-o", "json"], tmp_path)
    assert (done.code, done.out.count("\n"), done.result["stop"]) == (code, 1, stop)
    text = start(argv, tmp_path)
    assert (text.code, text.out) == (code, "")
    assert text.err.count("\n") == 1


def test_a_fault_of_ours_is_an_error_in_the_events_and_in_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(request: object) -> None:
        raise LookupError("lost")

    monkeypatch.setattr("agent.providers.mock.mock.answer", broken)
    said = "Something went wrong inside mcp-chat: LookupError: lost"
    done = start(["-m", "mock/demo", "--no-servers", "-o", "jsonl", "-p", "hi"], tmp_path)
    (ended,) = [line for line in done.lines if line["type"] == "turn_ended"]
    assert (ended["stop"], ended["detail"], ended["kind"]) == ("error", f"{said}.", "internal")
    assert (done.code, done.err) == (1, f"{said} (-vv shows where).\n")
    assert (done.result["stop"], done.result["error"]["kind"]) == ("error", "internal")


def test_a_required_server_that_is_missing_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[servers.gone]\ncommand = "/nonexistent/program"\nrequired = true\n')
    done = start(["-c", "c.toml", "-m", "mock/demo", "-p", "hi", "-o", "json"], tmp_path)
    assert (done.code, done.result["stop"], done.result["error"]["kind"]) == (3, "error", "server")
    assert "gone" in done.result["error"]["message"]


def test_another_server_that_is_missing_does_not(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[servers.gone]\ncommand = "/nonexistent/program"\n')
    done = start(["-c", "c.toml", "-m", "mock/demo", "-p", "hi"], tmp_path)
    assert done.code == 0
    assert done.err.startswith("gone: ")


def test_a_model_without_a_key_is_explained(tmp_path: Path) -> None:
    done = start(["-m", "openai/some-model", "--no-servers", "-p", "hi", "-o", "json"], tmp_path)
    assert (done.code, done.result["stop"], done.out.count("\n")) == (1, "error", 1)
    assert "OPENAI_API_KEY" in done.result["error"]["message"]


def test_the_result_tells_what_the_run_cost(router: respx.MockRouter, tmp_path: Path) -> None:
    router.post(MESSAGES.url).respond(200, headers=SSE, content=MESSAGES.encode(Reply(("hi",))))
    argv = ["-m", f"anthropic/{MESSAGES.model}", "--no-servers", "-o", "json", "-p", "hello"]
    done = start(argv, tmp_path, ANTHROPIC_API_KEY="sk-secret")
    usage = done.result["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["cached_tokens"]) == (10, 5, 4)
    assert usage["cost"] == pytest.approx(anyio.run(price_of, MESSAGES.model, Usage(10, 5, 4)))
    assert usage["cost"] > 0
    assert start(["-m", "mock/demo", *argv[2:]], tmp_path).result["usage"]["cost"] is None


async def price_of(model: str, usage: Usage) -> float | None:
    return await Prices(configure()).cost(f"anthropic/{model}", usage)


def test_a_prompt_on_a_pipe_is_answered_and_joins_one_on_the_command_line(tmp_path: Path) -> None:
    argv = ["-m", "mock/demo", "--no-servers", "-o", "jsonl"]
    for given, stdin, asked in (
        ([], "hello\n/servers\n", "hello\n/servers\n"),
        (["-p", "-"], "hello", "hello"),
        (["-p", "explain"], "text\n", "explain\n\ntext\n"),
        (["-p", "explain"], "", "explain"),
    ):
        done = start([*argv, *given], tmp_path, stdin=stdin)
        (started,) = [line for line in done.lines if line["type"] == "turn_started"]
        assert (done.code, started["message"]["content"]) == (0, [{"type": "text", "text": asked}])
