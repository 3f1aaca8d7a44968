from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent.chat.messages import AssistantMessage, Message, Stop, Text, ToolCall, ToolMessage, ToolResult, user
from agent.chat.provider import ErrorKind, ProviderError, Request
from agent.providers.mock.mock import MockProvider
from agent.providers.mock.script import Script
from tests.providers.mock_requests import DEMO, STRING, ran, stream, tool

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[3] / "examples" / "demo.toml"

TRIP = (tool("weather", city=STRING), tool("sights", city=STRING))


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def script(text: str) -> MockProvider:
        path = tmp_path / "play.toml"
        path.write_text(text, encoding="utf-8")
        return MockProvider("script", path)

    return script


async def play(provider: MockProvider, *messages: Message, **settings: Any) -> AssistantMessage:
    _, end = await stream(Request(messages or (user("go"),), **({"tools": DEMO} | settings)), provider)
    return end.message


def said(text: str) -> AssistantMessage:
    return AssistantMessage((Text(text),))


async def test_turns_are_played_in_order_once_each(write: Any) -> None:
    provider = write('[[turn]]\ntext = "one"\n[[turn]]\ntext = "two"\n')
    assert [await play(provider), await play(provider)] == [said("one"), said("two")]
    with pytest.raises(ProviderError, match=r"play\.toml has no turn left for this: add a \[\[turn\]\]\.$"):
        await play(provider)


async def test_a_matching_turn_comes_first_and_the_script_goes_on_after_it(write: Any) -> None:
    provider = write(
        """
        turn = [
            {text = "first"},
            {match = "^sum", calls = [{tool = "add", arguments = {a = 1, b = 2}}]},
            {text = "It is {{result}}."},
            {match = "sum", text = "again"},
            {text = "last"},
        ]
        """
    )
    call = ToolCall("mock_1", "demo__add", {"a": 1, "b": 2}, '{"a":1,"b":2}')
    assert await play(provider, user("sum it up")) == AssistantMessage((call,), Stop.TOOL_USE)
    result = ToolMessage((ToolResult("mock_1", (Text("3"),)),))
    history = (user("sum it up"), AssistantMessage((call,), Stop.TOOL_USE), result)
    assert await play(provider, *history) == said("It is 3.")
    assert await play(provider, user("hello")) == said("last")
    assert await play(provider, user("a sum")) == said("again")
    assert await play(provider, user("hello")) == said("first")


async def test_what_a_server_asks_while_its_tool_runs_goes_to_the_turn_after_the_call(write: Any) -> None:
    provider = write(
        """
        turn = [
            {match = "tools", text = "not this"},
            {match = "sum", calls = [{tool = "summarize"}]},
            {text = "in short"},
        ]
        """
    )
    await play(provider, user("sum up"))
    assert await play(provider, user("Summarize: models call tools"), effort="lowest") == said("in short")
    assert await play(provider, user("Summarize: models call tools"), effort="lowest") == said("not this")


async def test_a_turn_for_other_words_is_not_played(write: Any) -> None:
    provider = write('[[turn]]\nmatch = "hello"\ntext = "hi"\n')
    for history in ([user("bye")], ran("demo__add", "8")):
        with pytest.raises(ProviderError, match="no turn left"):
            await play(provider, *history)
    assert await play(provider, user("well, hello")) == said("hi")


async def test_a_script_answers_an_empty_conversation_too(write: Any) -> None:
    _, end = await stream(Request(()), write('[[turn]]\ntext = "hi"\n'))
    assert end.message == said("hi")


async def test_a_turn_may_speak_and_call_several_tools_at_once(write: Any) -> None:
    provider = write(
        """
        [[turn]]
        text = "Both."
        calls = [
            {tool = "demo__echo", arguments = {message = "got {{result}}", deep = [{x = "{{result}}", n = 1}]}},
            {tool = "demo/long-task"},
            {tool = "add", arguments = "{not json: {{result}}"},
            {tool = "add", arguments = {when = 2026-01-02, far = inf}},
        ]
        """
    )
    written = '{"message":"got 8","deep":[{"x":"8","n":1}]}'
    dated = '{"when":"2026-01-02","far":null}'
    assert await play(provider, *ran("demo__add", "8")) == AssistantMessage(
        (
            Text("Both."),
            ToolCall("mock_2", "demo__echo", {"message": "got 8", "deep": [{"x": "8", "n": 1}]}, written),
            ToolCall("mock_3", "demo__long_task", {}, "{}"),
            ToolCall("mock_4", "demo__add", None, "{not json: 8"),
            ToolCall("mock_5", "demo__add", {"when": "2026-01-02", "far": None}, dated),
        ),
        Stop.TOOL_USE,
    )


RETRYABLE: list[ErrorKind] = ["rate_limit", "overloaded", "timeout", "connection", "server", "incomplete"]


@pytest.mark.parametrize("kind", [*RETRYABLE, "auth", "quota", "context", "bad_request"])
async def test_a_turn_may_fail_and_the_next_request_gets_the_next_turn(write: Any, kind: ErrorKind) -> None:
    provider = write(f'[[turn]]\nmatch = "go"\nfail = "{kind}"\n[[turn]]\ntext = "there"\n')
    with pytest.raises(ProviderError, match=r"^Turn 1 of .*play\.toml plays the error") as error:
        await play(provider)
    assert (error.value.kind, error.value.retryable) == (kind, kind in RETRYABLE)
    assert await play(provider) == said("there")


async def test_a_reply_that_fails_breaks_off_after_its_text(write: Any) -> None:
    provider = write('[[turn]]\ntext = "half"\nfail = "connection"\n')
    items = provider.stream(Request((user("go"),)))
    assert (await anext(items)).text == "half"
    with pytest.raises(ProviderError):
        await anext(items)


async def test_a_waiting_reply_can_be_cancelled(write: Any) -> None:
    provider = write('[[turn]]\ntext = "slow"\nwait = 3600\n')
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(play, provider)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()


async def test_a_short_wait_passes(write: Any) -> None:
    with anyio.fail_after(5):
        assert await play(write('[[turn]]\ntext = "then"\nwait = 0.01\n')) == said("then")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[turn]\n", "is no TOML: "),
        ("", "has a fault: turn: Field required."),
        ("turn = []", "has a fault: turn: List should have at least 1 item"),
        ('[[turn]]\ntext = "a"\n[[turn]]\ntxet = "b"\n', "has a fault: turn 2 has no key 'txet', did you mean 'text'?"),
        ("[[turns]]\n", "has a fault: it has no key 'turns', did you mean 'turn'?"),
        ("[[turn]]\n[other]\nquux = 1\n", "has a fault: it has no key 'other'."),
        ("[[turn]]\ncalls = [{tool = 'add', args = {}}]\n", "has a fault: turn 1 calls 1 has no key 'args'"),
        ("[[turn]]\ncalls = [{tool = 'add', arguments = 5}]\n", "has a fault: turn 1 calls 1 arguments: "),
        ("[[turn]]\nmatch = '('\n", "has a fault: turn 1 match: Input should be a valid regular expression."),
        ("[[turn]]\nfail = 'tired'\n", "has a fault: turn 1 fail: Input should be 'auth', "),
        ("[[turn]]\nwait = -1\n", "has a fault: turn 1 wait: "),
        ("[[turn]]\nwait = nan\n", "has a fault: turn 1 wait: "),
    ],
)
async def test_a_fault_names_file_and_key(write: Any, text: str, expected: str) -> None:
    with pytest.raises(ProviderError) as error:
        await play(write(text))
    assert error.value.kind == "bad_request"
    assert f"play.toml {expected}" in str(error.value)
    assert "\n" not in str(error.value)


async def test_a_script_in_another_encoding_is_no_toml(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes('[[turn]]\ntext = "für"\n'.encode("latin-1"))
    with pytest.raises(ProviderError, match="is no TOML"):
        Script.read(path)


async def test_a_script_may_begin_with_a_byte_order_mark(write: Any) -> None:
    assert await play(write('\ufeff[[turn]]\ntext = "hi"\n')) == said("hi")


async def test_a_missing_script_is_named(tmp_path: Path) -> None:
    for path, expected in [(tmp_path / "none.toml", "No such file"), (tmp_path, "Is a directory")]:
        with pytest.raises(ProviderError, match=f"^The script {path} cannot be read: {expected}") as error:
            await play(MockProvider("script", path))
        assert error.value.kind == "missing"
    with pytest.raises(ProviderError, match="set `script` under") as error:
        await play(MockProvider("script"))
    assert error.value.kind == "missing"


@pytest.mark.parametrize(
    ("name", "tools", "hint"),
    [
        ("ad", DEMO, "the nearest is demo__add"),
        ("zzz", DEMO, "6 others are there"),
        ("add", (), "no tools are connected"),
    ],
)
async def test_a_tool_that_is_not_there_is_named(write: Any, name: str, tools: Any, hint: str) -> None:
    provider = write(f'[[turn]]\ncalls = [{{tool = "{name}"}}]\n')
    with pytest.raises(ProviderError, match=f"^Turn 1 of .* calls '{name}', but there is no such tool; {hint}.$"):
        await stream(Request((user("go"),), tools=tools), provider)


@pytest.mark.parametrize(
    "turn", ['text = "{{result}}"', 'calls = [{tool = "echo", arguments = {message = "{{result}}"}}]']
)
async def test_a_result_must_have_been_there(write: Any, turn: str) -> None:
    with pytest.raises(ProviderError, match=r"uses \{\{result\}\}, but no tool has run"):
        await play(write(f"[[turn]]\n{turn}\n"))


async def test_a_script_keeps_to_the_limits_too(write: Any) -> None:
    provider = write('[[turn]]\ntext = "one two three"\ncalls = [{tool = "echo"}]\n')
    assert await play(provider, max_tokens=2) == AssistantMessage((Text("one two"),), Stop.MAX_TOKENS)


async def test_the_example_plays_over_the_demo_servers_tools() -> None:
    provider = MockProvider("script", EXAMPLE)

    async def ask(word: str, *samples: Sequence[Message]) -> AssistantMessage:
        """One turn; `samples` are what a server asks the model while its tool runs."""
        reply = await play(provider, user(word))
        if not reply.tool_calls:
            return reply
        for sample in samples:
            await play(provider, *sample, tools=TRIP, effort="lowest")
        results = tuple(ToolResult(call.id, (Text(f"{call.tool} ran"),)) for call in reply.tool_calls)
        return await play(provider, user(word), reply, ToolMessage(results))

    assert "mock/script" in (await ask("hello")).text
    assert await ask("show me the tools") == said("The last tool said: demo__echo ran")
    assert await ask("progress") == said("Done: demo__long_task ran")
    assert await ask("form") == said("Your booking: demo__book_seat ran")
    assert await ask("sampling", [user("Summarize this")]) == said("The server's summary: demo__summarize ran")
    assert await ask("trip", [user("Plan it")], ran("sights", "the Prater")) == said(
        "The server's plan: demo__plan_trip ran"
    )
    with pytest.raises(ProviderError, match="overloaded") as error:
        await ask("retry")
    assert error.value.retryable
    assert await ask("retry") == said("Here I am again.")
    with anyio.move_on_after(0.1) as scope:
        await ask("slow")
    assert scope.cancelled_caught
    with pytest.raises(ProviderError, match="no turn left"):
        await ask("hello")
