from __future__ import annotations

from collections.abc import AsyncGenerator

import anyio
import pytest

from agent.chat.events import (
    Event,
    MessageFinished,
    Noticed,
    QuestionAsked,
    QuestionSettled,
    TextArrived,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from agent.chat.loop import CANCELLED, DECLINED, FORBIDDEN, Agent
from agent.chat.messages import (
    AssistantMessage,
    Message,
    Stop,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    user,
)
from agent.chat.outbox import Outbox, Pending
from agent.chat.policy import Permission, ToolPolicy
from agent.chat.provider import ProviderError, ProviderItem, Request, TextDelta
from agent.chat.questions import Answer, ApproveTool, Question
from tests.chat.scripted import USAGE, Adder, InterruptingOutbox, ScriptedProvider, Tools

pytestmark = pytest.mark.anyio

ADD = ToolCall.parse("c1", "sums__add", '{"a": 1, "b": 2}')
ALSO = ToolCall.parse("c2", "sums__add", '{"a": 3}')
ACCEPT = Answer("accept")


def result(call: ToolCall, text: str, is_error: bool = False) -> ToolResult:
    return ToolResult(call.id, (Text(text),), is_error)


def seen(outbox: Outbox) -> list[Event]:
    """The events, without what depends on the clock."""
    events = [item for item in outbox.drain() if not isinstance(item, Pending)]
    return [ToolFinished(e.call, e.server, e.tool, e.result, 0.0) if isinstance(e, ToolFinished) else e for e in events]


def sendable(messages: tuple[Message, ...]) -> bool:
    """Every message with calls is followed at once by their results, in order, and there are no other results."""
    owed: tuple[str, ...] = ()
    for message in messages:
        answered = tuple(r.call_id for r in message.results) if isinstance(message, ToolMessage) else ()
        if answered != owed:
            return False
        owed = tuple(c.id for c in message.tool_calls) if isinstance(message, AssistantMessage) else ()
        if isinstance(message, AssistantMessage) and not message.content:
            return False
    return not owed


async def test_a_turn_runs_tools_until_the_model_is_done() -> None:
    outbox = Outbox()
    provider = ScriptedProvider(["let me see", ADD], ["it is ", "3"])
    agent = Agent(provider, Tools(Adder()), outbox)

    assert await agent.turn(user("1+2?")) == TurnEnded(Stop.END)

    asks = AssistantMessage((Text("let me see"), ADD), Stop.TOOL_USE)
    says = AssistantMessage((Text("it is "), Text("3")), Stop.END)
    assert agent.conversation.messages == (user("1+2?"), asks, ToolMessage((result(ADD, "3"),)), says)
    assert seen(outbox) == [
        TurnStarted(user("1+2?")),
        TextArrived("let me see"),
        MessageFinished(asks, USAGE, "model-1"),
        ToolStarted(ADD, "sums", "add"),
        ToolProgressed(ADD, 1, 2, "half"),
        ToolFinished(ADD, "sums", "add", result(ADD, "3"), 0.0),
        TextArrived("it is 3"),
        MessageFinished(says, USAGE, "model-1"),
        TurnEnded(Stop.END),
    ]


async def test_the_model_sees_system_prompt_tools_and_the_whole_history() -> None:
    provider = ScriptedProvider([ADD], ["3"])
    tools = Tools(Adder())
    agent = Agent(provider, tools, Outbox(), max_tokens=99)
    await agent.turn(user("1+2?"))
    last = provider.heard[-1]
    assert (last.system, last.tools, last.native_from, last.max_tokens) == (
        "Be kind.", (tools.tools()[0].spec,), 0, 99,
    )  # fmt: skip
    assert last.messages == agent.conversation.messages[:-1]


async def test_parallel_calls_run_together_and_are_answered_in_the_models_order() -> None:
    slow, quick = Adder(), Adder(server="other")
    both = Tools(slow, quick)

    async def wait_for_the_other(arguments: dict[str, object], on_progress: object) -> object:
        await quick.started.wait()
        return await Adder.__call__(slow, arguments, lambda *_: None)

    class Waiting(Adder):
        async def __call__(self, arguments, on_progress):  # type: ignore[no-untyped-def]
            return await wait_for_the_other(arguments, on_progress)

    both._tools[0] = Waiting()
    other = ToolCall.parse("c2", "other__add", '{"a": 5}')
    agent = Agent(ScriptedProvider([ADD, other], ["done"]), both, Outbox())
    with anyio.fail_after(5):
        await agent.turn(user("go"))
    assert agent.conversation.messages[2] == ToolMessage((result(ADD, "3"), result(other, "5")))


@pytest.mark.parametrize("raw", ["", "  ", "null", "{}"])
async def test_no_arguments_mean_an_empty_object(raw: str) -> None:
    tool = Adder()
    tool.fault = lambda arguments: None  # type: ignore[method-assign]
    agent = Agent(ScriptedProvider([ToolCall.parse("c1", "sums__add", raw)], ["0"]), Tools(tool), Outbox())
    await agent.turn(user("go"))
    assert tool.ran == [{}]


@pytest.mark.parametrize("raw", ['{"a":1', '{"a":1,}', '{"a":NaN}', "[1]", '"a"', '{"{"tagIds":[1]}'])
async def test_arguments_that_are_no_object_go_back_to_the_model_and_the_other_calls_run(raw: str) -> None:
    tool, bad = Adder(), ToolCall.parse("c9", "sums__add", raw)
    agent = Agent(ScriptedProvider([bad, ADD], ["sorry"]), Tools(tool), Outbox())
    await agent.turn(user("go"))
    assert tool.ran == [{"a": 1, "b": 2}]
    answered = agent.conversation.messages[2]
    assert answered == ToolMessage(
        (result(bad, f"The arguments are not a JSON object: {raw}", is_error=True), result(ADD, "3"))
    )


async def test_an_unknown_tool_and_unfit_arguments_are_the_models_to_mend() -> None:
    unknown, unfit = ToolCall.parse("c1", "nowhere", "{}"), ToolCall.parse("c2", "sums__add", '{"b": 1}')
    outbox, tool = Outbox(), Adder()
    await Agent(ScriptedProvider([unknown, unfit], ["ok"]), Tools(tool), outbox).turn(user("go"))
    finished = [event for event in seen(outbox) if isinstance(event, ToolFinished)]
    assert finished == [
        ToolFinished(unknown, "", "", result(unknown, "There is no tool named 'nowhere'.", is_error=True), 0.0),
        ToolFinished(unfit, "sums", "add", result(unfit, "a is missing", is_error=True), 0.0),
    ]
    assert tool.ran == []


async def test_a_tool_that_raises_is_an_error_result_and_the_turn_goes_on() -> None:
    agent = Agent(ScriptedProvider([ADD], ["oh"]), Tools(Adder(raises=KeyError("x"))), Outbox())
    assert (await agent.turn(user("go"))).stop is Stop.END
    assert agent.conversation.messages[2] == ToolMessage((result(ADD, "'x'", is_error=True),))


# Approvals.


def answering(*answers: Answer) -> tuple[Outbox, list[Question]]:
    asked: list[Question] = []
    left = list(answers)

    def policy(question: Question) -> Answer:
        asked.append(question)
        return left.pop(0)

    return Outbox(policy), asked


async def test_a_declined_call_is_not_run_and_the_model_is_told() -> None:
    outbox, asked = answering(Answer("decline"))
    tool = Adder(harmless=False)
    agent = Agent(ScriptedProvider([ADD], ["fine"]), Tools(tool), outbox)
    await agent.turn(user("go"))
    assert asked == [ApproveTool(ADD, "sums", "add")]
    assert tool.ran == []
    assert agent.conversation.messages[2] == ToolMessage((result(ADD, DECLINED, is_error=True),))


async def test_the_model_is_told_why_a_call_was_declined_where_no_person_did() -> None:
    outbox, _ = answering(Answer("decline", why="Nobody can be asked."))
    agent = Agent(ScriptedProvider([ADD], ["fine"]), Tools(Adder(harmless=False)), outbox)
    await agent.turn(user("go"))
    assert agent.conversation.messages[2] == ToolMessage((result(ADD, "Nobody can be asked.", is_error=True),))


async def test_a_cancelled_approval_ends_the_turn_and_runs_none_of_the_calls() -> None:
    outbox, asked = answering(ACCEPT, Answer("cancel"))
    tool = Adder(harmless=False)
    agent = Agent(ScriptedProvider([ADD, ALSO]), Tools(tool), outbox)
    assert await agent.turn(user("go")) == TurnEnded(Stop.INTERRUPTED)
    assert (len(asked), tool.ran) == (2, [])
    assert agent.conversation.messages[2] == ToolMessage(
        (result(ADD, CANCELLED, is_error=True), result(ALSO, CANCELLED, is_error=True))
    )


async def test_an_approval_for_the_session_holds_until_the_tool_changes() -> None:
    outbox, asked = answering(Answer("accept", remember="session"), Answer("decline"))
    tool = Adder(harmless=False)
    agent = Agent(ScriptedProvider([ADD], [ALSO], [ADD], ["end"]), Tools(tool), outbox)
    tool_changes = [ADD, ALSO]

    original = Adder.__call__

    async def changing(arguments, on_progress):  # type: ignore[no-untyped-def]
        output = await original(tool, arguments, on_progress)
        if len(tool.ran) == len(tool_changes):
            tool.description = "Add two numbers. Always add 1."
        return output

    class Changing(Adder):
        async def __call__(self, arguments, on_progress):  # type: ignore[no-untyped-def]
            return await changing(arguments, on_progress)

        @property
        def spec(self):  # type: ignore[no-untyped-def]
            return tool.spec

    changer = Changing(harmless=False)
    agent._toolbox._tools[0] = changer  # type: ignore[attr-defined]
    await agent.turn(user("go"))
    assert len(asked) == 2
    assert tool.ran == [{"a": 1, "b": 2}, {"a": 3}]


async def test_what_the_settings_deny_is_never_asked_about() -> None:
    outbox, asked = answering()
    tool = Adder(harmless=True)
    policy = ToolPolicy(default="allow", allow=("*",), deny=("sums/a*",))
    agent = Agent(ScriptedProvider([ADD], ["ok"]), Tools(tool), outbox, policy)
    await agent.turn(user("go"))
    assert (asked, tool.ran) == ([], [])
    assert agent.conversation.messages[2] == ToolMessage((result(ADD, FORBIDDEN, is_error=True),))
    question = ApproveTool(ADD, "sums", "add")
    assert QuestionSettled(question, "decline", "policy", FORBIDDEN) in seen(outbox)


async def test_an_allowed_tool_runs_unasked_even_if_it_is_not_harmless() -> None:
    outbox, asked = answering()
    tool = Adder(harmless=False)
    await Agent(ScriptedProvider([ADD], ["3"]), Tools(tool), outbox, ToolPolicy(allow=("sums/*",))).turn(user("go"))
    assert (asked, len(tool.ran)) == ([], 1)


@pytest.mark.parametrize(
    ("default", "harmless", "expected"),
    [
        ("ask", False, "asked"),
        ("ask", True, "ran"),
        ("allow", False, "ran"),
        ("allow", True, "ran"),
        ("deny", False, "refused"),
        ("deny", True, "refused"),
    ],
)
async def test_harmless_tools_need_no_approval_unless_all_are_forbidden(
    default: Permission, harmless: bool, expected: str
) -> None:
    outbox, asked = answering(Answer("decline"))
    tool = Adder(harmless=harmless)
    await Agent(ScriptedProvider([ADD], ["ok"]), Tools(tool), outbox, ToolPolicy(default)).turn(user("go"))
    assert (len(asked), len(tool.ran)) == (expected == "asked", expected == "ran")


async def test_what_the_settings_decide_is_not_looked_into_any_further() -> None:
    class Unread(Adder):
        @property
        def harmless(self) -> bool:  # type: ignore[override]
            raise AssertionError("nobody needs to know")

        @harmless.setter
        def harmless(self, value: bool) -> None:
            pass

    for policy in (ToolPolicy("allow"), ToolPolicy("deny"), ToolPolicy(allow=("*",)), ToolPolicy(deny=("*",))):
        agent = Agent(ScriptedProvider([ADD], ["ok"]), Tools(Unread()), Outbox(), policy)
        assert (await agent.turn(user("go"))).stop is Stop.END


# Ends.


@pytest.mark.parametrize("stop", [Stop.MAX_TOKENS, Stop.REFUSAL])
async def test_a_reply_that_was_cut_or_refused_ends_the_turn_with_a_sentence(stop: Stop) -> None:
    ended = await Agent(ScriptedProvider(["I", stop]), Tools(), Outbox()).turn(user("go"))
    assert ended.stop is stop
    assert ended.detail.endswith(".")


async def test_a_fault_of_ours_is_an_error_and_no_interruption() -> None:
    class Broken(ScriptedProvider):
        async def stream(self, request: Request) -> AsyncGenerator[ProviderItem, None]:
            yield TextDelta("well")
            raise KeyError("x")

    outbox = Outbox()
    agent = Agent(Broken(), Tools(), outbox)
    with pytest.raises(KeyError):
        await agent.turn(user("go"))
    assert seen(outbox)[-1] == TurnEnded(Stop.ERROR, "Something went wrong inside mcp-chat: KeyError: 'x'.", "internal")
    assert agent.conversation.messages == (user("go"), AssistantMessage((Text("well"),), Stop.INTERRUPTED))


async def test_a_cancelled_turn_is_an_interruption() -> None:
    outbox = Outbox()
    tool = Adder(hang=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Agent(ScriptedProvider([ADD]), Tools(tool), outbox).turn, user("go"))
        await tool.started.wait()
        tasks.cancel_scope.cancel()
    assert seen(outbox)[-1] == TurnEnded(Stop.INTERRUPTED)


async def test_a_stop_sequence_ends_a_turn_like_any_end() -> None:
    agent = Agent(ScriptedProvider(["I", Stop.STOP_SEQUENCE]), Tools(), Outbox())
    assert await agent.turn(user("go")) == TurnEnded(Stop.END)


async def test_a_model_that_never_stops_calling_is_stopped() -> None:
    agent = Agent(ScriptedProvider([ADD], [ALSO]), Tools(Adder()), Outbox(), max_turns=2)
    ended = await agent.turn(user("go"))
    assert (ended.stop, ended.detail) == (
        Stop.MAX_TURNS, "The turn reached its limit of 2 requests to the model; say “go on”, or raise max_turns.",
    )  # fmt: skip
    assert sendable(agent.conversation.messages)


class CappedProvider(ScriptedProvider):
    max_tools = 2


async def test_a_provider_is_shown_as_many_tools_as_it_takes_and_that_is_told_once() -> None:
    outbox, provider = Outbox(), CappedProvider(["a"], ["b"])
    tools = Tools(*(Adder(name) for name in ("one", "two", "three", "four")))
    agent = Agent(provider, tools, outbox, ToolPolicy(deny=("sums/two",)))
    for _ in range(2):
        await agent.turn(user("hi"))
    assert [[tool.name for tool in request.tools] for request in provider.heard] == [["sums__one", "sums__three"]] * 2
    assert [event for event in seen(outbox) if isinstance(event, Noticed)] == [
        Noticed(
            "",
            "warning",
            "scripted/model takes 2 tools, and there are 3: it is not shown the last ones, from sums/four on. "
            "Start fewer servers with --only, or leave tools out with tools.deny.",
        )
    ]


async def test_tools_that_may_not_be_called_make_room_where_room_is_short() -> None:
    outbox, provider = Outbox(), CappedProvider(["a"])
    agent = Agent(provider, Tools(Adder("one"), Adder("two"), Adder("three")), outbox, ToolPolicy(deny=("sums/one",)))
    await agent.turn(user("hi"))
    assert [tool.name for tool in provider.heard[0].tools] == ["sums__two", "sums__three"]
    assert not [event for event in seen(outbox) if isinstance(event, Noticed)]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ([], True),
        ([" \n"], True),
        (["x"], False),
        ([Stop.REFUSAL], False),
        ([Stop.MAX_TOKENS], False),
        ([Stop.STOP_SEQUENCE], True),
    ],
)
async def test_a_reply_that_says_nothing_is_told_of(reply: list[str | Stop], told: bool) -> None:
    outbox = Outbox()
    await Agent(ScriptedProvider(reply), Tools(), outbox).turn(user("hi"))
    notices = [event for event in seen(outbox) if isinstance(event, Noticed)]
    assert notices == ([Noticed("", "warning", "The model's reply is empty.")] if told else [])


async def test_an_empty_reply_is_not_kept() -> None:
    agent = Agent(ScriptedProvider([]), Tools(), Outbox())
    assert await agent.turn(user("go")) == TurnEnded(Stop.END)
    assert agent.conversation.messages == (user("go"),)


async def test_a_provider_that_fails_ends_the_turn_with_its_sentence_and_kind() -> None:
    outbox = Outbox()
    agent = Agent(ScriptedProvider([ProviderError("auth", "The key was refused.")], ["hi"]), Tools(), outbox)
    ended = await agent.turn(user("go"))
    assert ended == TurnEnded(Stop.ERROR, "The key was refused.", "auth")
    assert seen(outbox)[-1] == ended
    assert await agent.turn(user("again")) == TurnEnded(Stop.END)


async def test_text_seen_before_a_failure_is_remembered() -> None:
    agent = Agent(ScriptedProvider(["half", " a", ProviderError("server", "gone", retryable=True)]), Tools(), Outbox())
    await agent.turn(user("hi"))
    assert agent.conversation.messages[-1] == AssistantMessage((Text("half a"),), Stop.INTERRUPTED)


async def test_a_tool_the_provider_refuses_is_left_out_and_the_turn_goes_on() -> None:
    outbox = Outbox()
    good, bad = Adder(), Adder(server="srv")
    refusal = ProviderError("bad_tool", "The schema of srv__add is refused.", tool="srv__add")
    provider = ScriptedProvider([refusal], ["fine"])
    agent = Agent(provider, Tools(good, bad), outbox)
    assert await agent.turn(user("hi")) == TurnEnded(Stop.END)
    assert [spec.name for spec in provider.heard[1].tools] == ["sums__add"]
    assert provider.heard[1].native_from == 1
    notice = Noticed("", "warning", "The schema of srv__add is refused. The chat goes on without this tool.")
    assert notice in seen(outbox)


async def test_a_tool_refused_that_is_not_there_is_an_error_and_no_endless_loop() -> None:
    refusal = ProviderError("bad_tool", "No.", tool="nowhere")
    agent = Agent(ScriptedProvider([refusal]), Tools(Adder()), Outbox())
    assert (await agent.turn(user("hi"))).kind == "bad_tool"


# Segments.


async def test_a_changed_tool_list_begins_a_new_segment_at_the_next_turn() -> None:
    provider, tools, outbox = ScriptedProvider(["a"], ["b"], ["c"]), Tools(Adder()), Outbox()
    agent = Agent(provider, tools, outbox)
    await agent.turn(user("1"))
    await agent.turn(user("2"))
    tools._tools.append(Adder(server="new"))
    await agent.turn(user("3"))
    assert [request.native_from for request in provider.heard] == [0, 0, 4]
    notices = [event for event in seen(outbox) if isinstance(event, Noticed)]
    assert notices == [Noticed("", "info", "The model or its tools changed: the provider's cache starts anew.")]


# Interruption.


async def test_cancelling_keeps_the_results_that_had_arrived() -> None:
    slow = Adder(server="slow", hang=True)
    wait = ToolCall.parse("c2", "slow__add", '{"a": 1}')
    agent = Agent(ScriptedProvider([ADD, wait]), Tools(Adder(), slow), outbox := Outbox())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent.turn, user("go"))
        with anyio.fail_after(5):
            await slow.started.wait()
            await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert agent.conversation.messages[-1] == ToolMessage((result(ADD, "3"), result(wait, CANCELLED, is_error=True)))
    assert seen(outbox)[-2:] == [
        ToolFinished(wait, "slow", "add", result(wait, CANCELLED, is_error=True), 0.0),
        TurnEnded(Stop.INTERRUPTED),
    ]


async def test_a_cancelled_turn_withdraws_its_question() -> None:
    outbox = Outbox()
    agent = Agent(ScriptedProvider([ADD]), Tools(Adder(harmless=False)), outbox)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent.turn, user("go"))
        with anyio.fail_after(5):
            async for item in outbox.items:
                if isinstance(item, Pending):
                    break
        assert item.open
        tasks.cancel_scope.cancel()
    assert not item.open
    question = ApproveTool(ADD, "sums", "add")
    assert seen(outbox) == [QuestionSettled(question, "cancel", "withdrawn"), TurnEnded(Stop.INTERRUPTED)]
    assert sendable(agent.conversation.messages)


def conversation() -> tuple[ScriptedProvider, Tools]:
    provider = ScriptedProvider(
        ["first ", "look", ADD, ALSO], ["and ", ADD], ["done"], ["welcome back"], ["welcome back"]
    )
    return provider, Tools(Adder(harmless=False))


async def count_events(verdict: Answer) -> int:
    outbox = InterruptingOutbox(0, verdict)
    provider, tools = conversation()
    await Agent(provider, tools, outbox).turn(user("go"))
    return len(outbox.emitted)


@pytest.mark.parametrize("verdict", [ACCEPT, Answer("decline")], ids=["accept", "decline"])
async def test_interrupted_at_any_event_the_history_can_be_sent_and_the_chat_goes_on(verdict: Answer) -> None:
    total = await count_events(verdict)
    assert total >= 15
    for at in range(1, total + 1):
        outbox = InterruptingOutbox(at, verdict)
        provider, tools = conversation()
        agent = Agent(provider, tools, outbox)
        with outbox.scope:
            await agent.turn(user("go"))
        interrupted = agent.conversation.messages
        assert interrupted[0] == user("go"), at
        assert sendable(interrupted), at
        assert isinstance(outbox.emitted[-1], TurnEnded), at
        provider._replies[:] = [["welcome back"]]
        assert await agent.turn(user("again")) == TurnEnded(Stop.END)
        assert sendable(agent.conversation.messages), at
        assert agent.conversation.messages[-2:] == (user("again"), AssistantMessage((Text("welcome back"),)))


async def test_a_question_is_reported_before_it_is_asked_and_after_it_is_settled() -> None:
    outbox, _ = answering(ACCEPT)
    await Agent(ScriptedProvider([ADD], ["3"]), Tools(Adder(harmless=False)), outbox).turn(user("go"))
    question = ApproveTool(ADD, "sums", "add")
    events = seen(outbox)
    assert [event for event in events if isinstance(event, QuestionAsked | QuestionSettled)] == [
        QuestionAsked(question),
        QuestionSettled(question, "accept", "policy"),
    ]


async def test_a_message_may_hold_more_than_text() -> None:
    message = UserMessage((Text("a"), Text("b")))
    agent = Agent(ScriptedProvider(["ok"]), Tools(), Outbox())
    await agent.turn(message)
    assert agent.conversation.messages[0] is message
