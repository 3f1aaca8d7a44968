from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ui.runs import start


def test_a_tool_is_called_by_hand_with_json_or_words(tmp_path: Path, demo: list[str]) -> None:
    for arguments in (['{"a": 3, "b": 5}'], ["a=3", "b=5"]):
        done = start([*demo, "call", "add", *arguments], tmp_path)
        assert (done.code, done.out, done.err) == (0, "8\n", "")
    done = start([*demo, "call", "demo/add", "a=3", "b=5", "--json"], tmp_path)
    assert json.loads(done.out) == {
        "content": [{"type": "text", "text": "8"}],
        "structuredContent": {"result": 8},
        "isError": False,
    }


def test_a_failing_tool_is_exit_code_1_and_its_result_is_still_printed(tmp_path: Path, demo: list[str]) -> None:
    done = start([*demo, "call", "add", "a=3", "--json"], tmp_path)
    assert (done.code, json.loads(done.out)["isError"]) == (1, True)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["call", "ad"], 1, "There is no tool named 'ad'. Did you mean 'add'?"),
        (["call", "add", "3"], 2, "'3' is neither a JSON object nor KEY=VALUE."),
        (["tools", "dmeo"], 1, "There is no server named 'dmeo'. Did you mean 'demo'?"),
        (["read", "file:///nothing"], 1, "demo: "),
        (["prompt", "code_review"], 1, "demo: "),
    ],
)
def test_what_cannot_be_had_is_a_sentence(
    tmp_path: Path, demo: list[str], argv: list[str], code: int, said: str
) -> None:
    done = start([*demo, *argv], tmp_path)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(said)
    assert "Traceback" not in done.err


GONE = ["-m", "mock/demo", "--no-servers", "-s", "gone=/nonexistent/program"]


def test_a_server_that_failed_is_told_once_in_the_list_of_servers(tmp_path: Path) -> None:
    done = start([*GONE, "servers"], tmp_path)
    assert (done.code, done.err, done.out.count("/nonexistent/program")) == (1, "", 1)


@pytest.mark.parametrize("what", ["tools", "resources", "prompts"])
def test_what_servers_offer_is_a_failure_where_none_of_them_could_say(tmp_path: Path, url: str, what: str) -> None:
    done = start([*GONE, what], tmp_path)
    assert (done.code, done.out, done.err.count("/nonexistent/program")) == (1, f"There are no {what}.\n", 1)
    assert start([*GONE, "-s", f"demo={url}", what], tmp_path).code == 0
    assert start([*GONE, "-s", f"demo={url}", what, "gone"], tmp_path).code == 1
    assert start(["-m", "mock/demo", "--no-servers", what], tmp_path).code == 0


def test_the_tools_are_listed_for_people_and_for_scripts(tmp_path: Path, demo: list[str]) -> None:
    assert "demo/add(a, b)\n  Add two numbers.\n" in start([*demo, "tools"], tmp_path).out
    (add,) = [
        tool for tool in json.loads(start([*demo, "tools", "demo", "--json"], tmp_path).out) if tool["name"] == "add"
    ]
    assert list(add) == [
        "server",
        "name",
        "shown_as",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
    ]
    assert (add["server"], add["shown_as"], add["description"]) == ("demo", "demo__add", "Add two numbers.")


def test_resources_and_prompts_are_listed_and_read(tmp_path: Path, demo: list[str]) -> None:
    listed = json.loads(start([*demo, "resources", "--json"], tmp_path).out)
    assert "file:///data/readme.txt" in [one.get("uri") for one in listed]
    assert "demo: file:///data/readme.txt" in start([*demo, "resources"], tmp_path).out
    assert "This is the demo server" in start([*demo, "read", "file:///data/readme.txt"], tmp_path).out
    (contents,) = json.loads(start([*demo, "read", "file:///data/readme.txt", "--json"], tmp_path).out)["contents"]
    assert contents["uri"] == "file:///data/readme.txt"
    assert "demo: code_review(code, [focus])" in start([*demo, "prompts"], tmp_path).out
    done = start([*demo, "prompt", "code_review", '{"code": "x = 1"}'], tmp_path)
    assert done.out.startswith("user: ")
    assert "x = 1" in done.out
    said = done.out.removeprefix("user: ").removesuffix("\n")
    done = start([*demo, "prompt", "code_review", '{"code": "x = 1"}', "--json"], tmp_path)
    (message,) = json.loads(done.out)["messages"]
    assert message == {"role": "user", "content": {"type": "text", "text": said}}


def test_the_servers_are_shown_with_what_is_wrong_with_them(tmp_path: Path) -> None:
    done = start(["-s", "demo=bundled:demo", "-s", "gone=/nonexistent/program", "servers"], tmp_path)
    assert done.code == 1
    assert done.out.startswith("demo: ready, stdio, 2026-07-28, ")
    assert "\ngone: failed, " in done.out
    views = json.loads(start(["-s", "demo=bundled:demo", "servers", "--json"], tmp_path).out)
    assert [(view["name"], view["state"], view["tools"] > 0) for view in views] == [("demo", "ready", True)]


def test_a_required_server_that_is_missing_is_exit_code_3(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[servers.gone]\ncommand = "/nonexistent/program"\nrequired = true\n')
    assert [start(["-c", "c.toml", command], tmp_path).code for command in ("servers", "tools")] == [3, 3]


def test_a_form_asked_during_a_call_is_answered_by_the_configuration(tmp_path: Path, demo: list[str]) -> None:
    done = start([*demo, "--elicit", "decline", "call", "book_seat", "train=ICE 5"], tmp_path)
    assert done.code == 0
    assert "demo: " in done.err
    (tmp_path / "answers.json").write_text(json.dumps({"demo": {"place": "window"}}))
    done = start([*demo, "--elicit", "answers.json", "call", "book_seat", "train=ICE 5"], tmp_path)
    assert done.out == "Booked on ICE 5: window, without a meal.\n"
