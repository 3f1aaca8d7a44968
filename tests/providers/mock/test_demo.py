from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.chat.messages import (
    AssistantMessage,
    Content,
    Image,
    Message,
    Stop,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    user,
)
from agent.chat.provider import Request, ToolSpec
from agent.providers.mock.demo import answer, example
from tests.providers.mock_requests import ALL, DEMO, FOREIGN, INTEGER, NUMBER, STRING, foreign, ran, tool


def calls(text: str, tools: Sequence[ToolSpec] = DEMO, **settings: Any) -> list[tuple[str, dict[str, Any] | None]]:
    reply = answer(Request((user(text),), tools=tuple(tools), **settings))
    assert not (reply.calls and reply.text)
    return [(call.tool, call.arguments) for call in reply.calls]


def says(*messages: Message, tools: Sequence[ToolSpec] = DEMO, **settings: Any) -> str:
    reply = answer(Request(messages, tools=tuple(tools), **settings))
    assert reply.calls == ()
    return reply.text


@pytest.mark.parametrize("tools", [DEMO, ALL], ids=["alone", "among foreign tools"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add 3 and 5", [("demo__add", {"a": 3, "b": 5})]),
        ("What is 3 + 5?", [("demo__add", {"a": 3, "b": 5})]),
        ("what's 3 plus -5", [("demo__add", {"a": 3, "b": -5})]),
        ("demo__add 1 2", [("demo__add", {"a": 1, "b": 2})]),
        ("echo hello", [("demo__echo", {"message": "hello"})]),
        ("echo to be or not to be!", [("demo__echo", {"message": "to be or not to be!"})]),
        ('echo "hello world"', [("demo__echo", {"message": "hello world"})]),
        ('echo say "hi"', [("demo__echo", {"message": 'say "hi"'})]),
        ("summarize The cat sat. It slept.", [("demo__summarize", {"text": "The cat sat. It slept."})]),
        ("summarize this text: a, b and then c", [("demo__summarize", {"text": "a, b and then c"})]),
        ("book a seat", [("demo__book_seat", {"train": "any train"})]),
        ("please book me a seat on the ICE 123.", [("demo__book_seat", {"train": "ICE 123"})]),
        ("plan a trip to Paris", [("demo__plan_trip", {"city": "Paris"})]),
        ("plan a trip to ulm", [("demo__plan_trip", {"city": "ulm"})]),
        ("run a long task for 3.5 seconds in 5 steps", [("demo__long_task", {"seconds": 3.5, "steps": 5})]),
        ("long_task with steps=4 and seconds: 2", [("demo__long_task", {"seconds": 2, "steps": 4})]),
        ("long task", [("demo__long_task", {"seconds": 1, "steps": 1})]),
        ("add 1 and 2 and also echo hi", [("demo__add", {"a": 1, "b": 2}), ("demo__echo", {"message": "hi"})]),
        ("echo hi and add 1 and 2", [("demo__echo", {"message": "hi"}), ("demo__add", {"a": 1, "b": 2})]),
        ('echo "x, add 1"; add 3, 4', [("demo__echo", {"message": "x, add 1"}), ("demo__add", {"a": 3, "b": 4})]),
        ("echo one and also two", [("demo__echo", {"message": "one and also two"})]),
        ('call add {"a": 1, "b": 2}', [("demo__add", {"a": 1, "b": 2})]),
        ('call demo/add {"a": 1, "b": 2}', [("demo__add", {"a": 1, "b": 2})]),
        ('call the tool long-task with {"x": [1]} now', [("demo__long_task", {"x": [1]})]),
        ('call echo {"x": "y"} then add 1, 2', [("demo__echo", {"x": "y"}), ("demo__add", {"a": 1, "b": 2})]),
        ("call add {oops", [("demo__add", None)]),
        ("call nobody {}", [("nobody", {})]),
        ("hello", []),
        ("what can you do?", []),
        ("what is git", []),
        ("", []),
    ],
)  # fmt: skip
def test_plain_requests_become_calls(text: str, expected: list[tuple[str, Any]], tools: Sequence[ToolSpec]) -> None:
    assert calls(text, tools) == expected


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("what time is it in Berlin?", "get_current_time", {"timezone": "Europe/Berlin"}),
        ("what's the time in Asia/Tokyo please", "get_current_time", {"timezone": "Asia/Tokyo"}),
        ("what time is it now?", "get_current_time", {"timezone": "UTC"}),
        ("time in Atlantis", "get_current_time", {"timezone": "Atlantis"}),
        (
            "convert 14:30 from Berlin to new york",
            "convert_time",
            {"source_timezone": "Europe/Berlin", "time": "14:30", "target_timezone": "America/New_York"},
        ),
        ("git status of /tmp/x", "git_status", {"repo_path": "/tmp/x"}),
        ("git status of projects/foo", "git_status", {"repo_path": "projects/foo"}),
        ("what is the status of the repository ~/x?", "git_status", {"repo_path": "~/x"}),
        ("show me the git log of . max_count=3", "git_log", {"repo_path": ".", "max_count": 3}),
        ("git diff staged in /tmp/x", "git_diff_staged", {"repo_path": "/tmp/x"}),
        ("git show HEAD in /tmp/x", "git_show", {"repo_path": "/tmp/x", "revision": "HEAD"}),
        ("git add a.txt and b.txt in /tmp/x", "git_add", {"repo_path": "/tmp/x", "files": ["a.txt", "b.txt"]}),
        ("git commit 'fix it' in /tmp/x", "git_commit", {"repo_path": "/tmp/x", "message": "fix it"}),
        (
            'git commit in "/tmp/my work" with message "fix it"',
            "git_commit",
            {"repo_path": "/tmp/my work", "message": "fix it"},
        ),
        ("list the directory /tmp", "list_directory", {"path": "/tmp"}),
        ("list files in /tmp", "list_directory", {"path": "/tmp"}),
        (
            "list the directory with sizes of /tmp by size",
            "list_directory_with_sizes",
            {"path": "/tmp", "sortBy": "size"},
        ),
        ("which directories are allowed?", "list_allowed_directories", {}),
        ("read the file /tmp/a2.txt.", "read_file", {"path": "/tmp/a2.txt"}),
        ("search for files named *.py in /tmp", "search_files", {"path": "/tmp", "pattern": "*.py"}),
        ("write hello to /tmp/x.txt", "write_file", {"path": "/tmp/x.txt", "content": "hello"}),
        ("move /tmp/a to /tmp/b", "move_file", {"source": "/tmp/a", "destination": "/tmp/b"}),
        ("edit file /tmp/x with dry run", "edit_file", {"path": "/tmp/x", "edits": [], "dryRun": True}),
        ("what is the sum of 3 and 5", "get-sum", {"a": 3, "b": 5}),
        ("add 3 and 5", "get-sum", {"a": 3, "b": 5}),
        (
            "run a long running operation of 3 seconds with 2 steps",
            "trigger-long-running-operation",
            {"duration": 3, "steps": 2},
        ),
        ("structured content for new york", "get-structured-content", {"location": "New York"}),
        (
            "an annotated message of type debug without include image",
            "get-annotated-message",
            {"messageType": "debug", "includeImage": False},
        ),
        ("research quantum computing", "simulate-research-query", {"topic": "quantum computing"}),
    ],
)
def test_it_works_on_servers_that_are_not_ours(text: str, name: str, arguments: dict[str, Any]) -> None:
    server = next(server for server, tools in FOREIGN.items() if name in [t["name"] for t in tools])
    assert calls(text, foreign(server)) == [(f"{server}__{name}", arguments)]


@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)
def test_an_example_calls_its_own_tool_with_valid_arguments(spec: ToolSpec) -> None:
    others = [other for other in ALL if other.name.split("__")[0] == spec.name.split("__")[0]]
    [(name, arguments)] = calls(example(spec), others)
    assert name == spec.name
    jsonschema.validate(arguments, spec.schema)


@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)
def test_a_tool_that_is_only_named_gets_valid_arguments(spec: ToolSpec) -> None:
    [(name, arguments)] = calls(f"please use {spec.name}", [spec])
    assert name == spec.name
    jsonschema.validate(arguments, spec.schema)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WORDS = ["type", "properties", "required", "items", "enum", "default", "minItems", "minimum", "$ref", "anyOf", "format"]
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])
SCHEMAS = st.recursive(
    JSON | st.fixed_dictionaries({"type": TYPES}),
    lambda inner: st.dictionaries(
        st.sampled_from(WORDS), inner | st.dictionaries(st.text(max_size=6), inner), max_size=5
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(WORDS), SCHEMAS), st.text() | st.sampled_from(["use x", "add 1 and 2, x=3"]))
def test_no_schema_and_no_text_is_too_strange(schema: dict[str, Any], text: str) -> None:
    odd = ToolSpec("server__x", "Anything", schema)
    for said in (text, f"x {text}", f"call x {{{text}"):
        reply = answer(Request((user(said),), tools=(odd, *DEMO)))
        assert bool(reply.text) != bool(reply.calls)
    assert example(odd).startswith("x")


def test_a_broken_byte_of_stdin_does_not_spoil_a_call() -> None:
    assert calls("echo a\udcffb") == [("demo__echo", {"message": "a?b"})]


def test_a_long_text_goes_to_the_tool_it_begins_with_as_it_is() -> None:
    text = "One line, and then add 1 and 2;\n\n" * 6_000
    assert calls(f"summarize: {text}") == [("demo__summarize", {"text": text.strip()})]


def test_with_nothing_to_call_it_says_what_it_is_and_can() -> None:
    assert says(user("hello"), tools=(DEMO[0], *foreign("time"), DEMO[1])) == (
        "(mock) Hello! I am a mock, not a language model: I answer offline, and only by the words you use.\n\n"
        "I can call a tool that your words name; 4 are connected. For instance:\n\n"
        "- `echo hello`\n"
        "- `get current time UTC`\n"
        "- `convert time UTC 12:00 UTC`\n"
        "- `add 3 and 5`\n"
        "- `call echo {…}` with its arguments as JSON\n\n"
        "For a real model set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` and start again."
    )
    assert "No tools are connected" in says(user("hello"), tools=())
    assert "No tools are connected" in says(user("hello"), tools=(tool("read_result", "", id=STRING),))
    assert "No tools are connected" in says(tools=())


@pytest.mark.parametrize(
    ("name", "schema", "said"),
    [
        ("demo__long_task", {"properties": {"steps": INTEGER, "seconds": NUMBER}}, "run long task for 2 seconds"),
        ("a__b__long_task_fe7e6d92", {"properties": {"seconds": NUMBER}}, "run b long task for 2 seconds"),
        ("demo__list_all", {"properties": {"limit": INTEGER}}, "list all"),
        ("demo__echo_fe7e6d92", {"properties": {"message": STRING}, "required": ["message"]}, "echo hello"),
    ],
)
def test_an_example_is_what_a_person_would_say(name: str, schema: dict[str, Any], said: str) -> None:
    assert example(ToolSpec(name, "", schema)) == said


def test_the_hosts_own_tools_are_none_that_are_connected() -> None:
    own = tool("read_resource", "", server=STRING, uri=STRING)
    assert "name; one is connected. For instance:\n\n- `echo hello`\n- `call" in says(user("?"), tools=(own, DEMO[0]))


@pytest.mark.parametrize(
    ("content", "is_error", "expected"),
    [
        (["8"], False, "(mock) `add` said: 8"),
        ([], False, "(mock) `add` said: nothing"),
        (["no such number"], True, "(mock) `add` failed: no such number"),
        (["a\n```\nb\n"], False, "(mock) `add` said:\n\n````\na\n```\nb\n````"),
        (["x" * 2_100], False, "(mock) `add` said: " + "x" * 2_000 + " … (100 characters more)"),
        (["see", Image("aGk=", "image/png")], False, "(mock) `add` said:\n\n```\nsee\n[image/png]\n```"),
    ],
)
def test_results_are_quoted(content: list[Content | str], is_error: bool, expected: str) -> None:
    assert says(*ran("demo__add", *content, is_error=is_error)) == expected


def test_several_results_are_quoted_in_order() -> None:
    wanted = (ToolCall.parse("1", "demo__add", "{}"), ToolCall.parse("2", "echo", "{}"))
    results = tuple(ToolResult(call_id, (Text(text),)) for call_id, text in [("1", "8"), ("2", "hi"), ("3", "?")])
    history = (user("both"), AssistantMessage(wanted, Stop.TOOL_USE), ToolMessage(results))
    assert says(*history) == "(mock) `add` said: 8\n\n`echo` said: hi\n\n`a tool` said: ?"


def test_after_a_result_the_next_request_is_heard_and_its_id_is_new() -> None:
    request = Request((*ran("demo__add", "8"), AssistantMessage((Text("8"),)), user("add 1 and 2, echo x")), tools=DEMO)
    assert [(call.id, call.tool) for call in answer(request).calls] == [
        ("mock_2", "demo__add"),
        ("mock_3", "demo__echo"),
    ]


class TestSampling:
    def test_without_tools_is_echoed(self) -> None:
        assert says(user("Say it in one line"), tools=(), effort="lowest") == "[mock] Say it in one line"

    def test_with_tools_gets_one_call_and_then_an_end(self) -> None:
        weather = tool("weather", "The weather in a city.", city=STRING)
        trains = tool("trains", "Trains to a city.", city=STRING)
        text = "Plan a trip to Rome: use weather and also trains"
        assert calls(text, [weather, trains], effort="lowest") == [("weather", {"city": "Rome"})]
        assert says(*ran("weather", "sunny"), tools=[weather], effort="lowest") == "[mock] `weather` said: sunny"
        followed = (*ran("weather", "sunny"), AssistantMessage((Text("so?"),)), user("use weather again"))
        assert says(*followed, tools=[weather], effort="lowest") == "[mock] `weather` said: sunny"

    def test_calls_a_tool_even_if_no_words_fit(self) -> None:
        assert calls("Go ahead", [tool("look_up", topic=STRING)], effort="lowest") == [
            ("look_up", {"topic": "Go ahead"})
        ]

    def test_may_forbid_its_tools(self) -> None:
        assert says(user("echo hi"), effort="lowest", tool_choice="none") == "[mock] echo hi"


def test_a_chat_may_require_or_forbid_tools() -> None:
    assert calls("hello", tool_choice="required") == [("demo__echo", {"message": "hello"})]
    assert says(user("add 1 and 2"), tool_choice="none").startswith("(mock) Hello!")


def test_a_user_message_without_text_is_named_by_its_kind() -> None:
    request = Request((UserMessage((Image("aGk=", "image/png"),)),), effort="lowest")
    assert answer(request).text == "[mock] [image/png]"
