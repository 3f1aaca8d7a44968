"""A server borrows the model: from a real server's tool to the answer that it gets, in both eras."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent.chat.events import QuestionSettled, SampleFinished, TextArrived
from agent.chat.questions import Answer, ApproveSampling, Question, ReviewSample
from agent.host.config.config import Config
from agent.host.host import HostError
from agent.host.model_choice import provider_configs
from agent.mcp import Context, McpError, Server
from tests.host.asking import ERAS, asking, call, person
from tests.host.asking import config as configured
from tests.host.scene import scene

pytestmark = pytest.mark.anyio


@pytest.fixture(params=ERAS)
def config(request: pytest.FixtureRequest) -> Callable[..., Config]:
    return lambda table=None, **more: configured({"protocol": request.param, **(table or {})}, **more)


Configure = Callable[..., Config]


async def test_a_sample_is_approved_streamed_reviewed_and_answered_in_the_middle_of_the_call(config: Configure) -> None:
    async with scene(config(), {"asking": asking}, person=person()) as view:
        assert await call(view, "sample", text="sum") == "mock/demo endTurn: [mock] sum"
    assert [type(event.question) for event in view.events(QuestionSettled)] == [ApproveSampling, ReviewSample]
    assert "".join(event.text for event in view.events(TextArrived)) == "[mock] sum"
    assert {event.origin for event in view.events(TextArrived)} == {"asking"}
    [finished] = view.events(SampleFinished)
    assert (finished.server, finished.model, finished.verdict) == ("asking", "mock/demo", "accept")
    assert finished.usage.output_tokens > 0


async def test_the_person_sees_the_whole_request_and_what_it_comes_to(config: Configure) -> None:
    asked: list[Question] = []
    async with scene(config(), {"asking": asking}, person=lambda one: asked.append(one) or Answer("accept")) as view:
        await call(view, "sample", text="sum up" * 20, max_tokens=9_999)
    approval = asked[0]
    assert isinstance(approval, ApproveSampling)
    assert (approval.model, approval.why, approval.tokens, approval.cost) == (
        "mock/demo", "the chat's own model", 40, None,
    )  # fmt: skip
    assert (approval.request.max_tokens, approval.request.effort) == (4096, "lowest")


async def test_the_person_may_edit_what_goes_out_and_what_goes_back(config: Configure) -> None:
    def edit(question: Question) -> Answer:
        text = "other words" if isinstance(question, ApproveSampling) else "mine"
        return Answer("accept", {"text": text})

    async with scene(config(), {"asking": asking}, person=edit) as view:
        assert await call(view, "sample", text="sum") == "mock/demo endTurn: mine"
    assert "".join(event.text for event in view.events(TextArrived)) == "[mock] other words"


@pytest.mark.parametrize("question", ["ApproveSampling", "ReviewSample"])
@pytest.mark.parametrize("verdict", ["decline", "cancel"])
async def test_a_refusal_reaches_the_server_as_a_rejection(config: Configure, question: str, verdict: Any) -> None:
    async with scene(config(), {"asking": asking}, person=person(**{question: Answer(verdict)})) as view:
        said = await said_of(view, "sample", text="x")
    assert "User rejected sampling request" in said
    assert [event.verdict for event in view.events(SampleFinished)] == [verdict]


async def test_what_is_allowed_is_not_asked(config: Configure) -> None:
    async with scene(config({"sampling": "allow"}), {"asking": asking}) as view:
        assert await call(view, "sample", text="x") == "mock/demo endTurn: [mock] x"
    assert view.events(QuestionSettled) == []


async def test_what_was_allowed_for_the_session_is_not_asked_again_and_always_outlives_it(
    config: Configure, tmp_path: Path
) -> None:
    def once(question: Question) -> Answer:
        asked.append(type(question))
        return Answer("accept", remember="always" if isinstance(question, ReviewSample) else "session")

    asked: list[type[Any]] = []
    for _ in range(2):
        async with scene(config(data_folder=tmp_path), {"asking": asking}, person=once) as view:
            for _ in range(2):
                assert await call(view, "sample", text="x") == "mock/demo endTurn: [mock] x"
    assert asked == [ApproveSampling, ReviewSample, ApproveSampling]


def scripted(config: Config, script: Path, turns: str) -> Config:
    """`config` with a model mock/script that plays `turns`."""
    script.write_text(turns)
    mock = replace(provider_configs({}, {})["mock"], script=script)  # type: ignore[arg-type]
    return replace(config, providers={**config.providers, "mock": mock})


async def test_a_hint_chooses_a_model_of_the_configuration(config: Configure, tmp_path: Path) -> None:
    sampling = {"approve": "allow", "models": {"haiku": "small"}}
    chosen = config(sampling=sampling, models={"small": "mock/script"})
    chosen = scripted(chosen, tmp_path / "script.toml", '[[turn]]\ntext = "scripted"\n')
    async with scene(chosen, {"asking": asking}) as view:
        assert await call(view, "sample", text="x", hint="claude-haiku-9") == "mock/script endTurn: scripted"
        assert await call(view, "sample", text="x", hint="opus") == "mock/demo endTurn: [mock] x"


async def test_a_model_that_fails_is_told_in_a_sentence(config: Configure, tmp_path: Path) -> None:
    chosen = config({"sampling": "allow"}, model="mock/script")
    chosen = scripted(chosen, tmp_path / "script.toml", '[[turn]]\nfail = "auth"\n')
    async with scene(chosen, {"asking": asking}) as view:
        assert "plays the error 'auth'" in await said_of(view, "sample", text="x")
    assert [event.verdict for event in view.events(SampleFinished)] == ["error"]


async def test_the_server_s_own_tools_are_run_by_the_server(config: Configure) -> None:
    async with scene(config({"sampling": "allow"}), {"asking": asking}) as view:
        assert "sunny in" in await call(view, "sample_with_tools")


async def test_one_turn_has_only_so_many_samples_and_the_next_begins_anew(config: Configure) -> None:
    chosen = config(sampling={"approve": "allow", "max_requests_per_turn": 2})
    why = "sampling.max_requests_per_turn allows 2 requests in one turn."
    async with scene(chosen, {"asking": asking}) as view:
        assert await call(view, "sample_often", times=2) == "done"
        assert f"Sampling limit reached: {why}" in await said_of(view, "sample_often", times=3)
        assert await call(view, "sample_often", times=2) == "done"
    [settled] = view.events(QuestionSettled)
    assert (settled.verdict, settled.by, settled.why) == ("decline", "policy", why)
    assert [event.verdict for event in view.events(SampleFinished)] == [*["accept"] * 4, "limit", *["accept"] * 2]


async def test_a_limit_is_told_from_a_person_s_no_and_named_right_before_what_it_ended(config: Configure) -> None:
    chosen = config(sampling={"max_requests_per_turn": 0})
    async with scene(chosen, {"asking": asking}, person=person()) as view:
        await said_of(view, "sample", text="x")
    kinds = (QuestionSettled, SampleFinished)
    settled, finished = [event for event in view.seen if isinstance(event, kinds)]
    assert (settled.by, settled.why) == ("policy", "sampling.max_requests_per_turn allows 0 requests in one turn.")
    assert finished == SampleFinished("asking", "mock/demo", None, "limit", why=settled.why)


async def test_ten_requests_at_once_do_not_get_past_the_budget() -> None:
    eager = Server("eager")

    @eager.tool
    async def ten(ctx: Context) -> str:
        async def one() -> None:
            with suppress(McpError):
                await ctx.sample("x" * 300, max_tokens=100)

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(one)
        return "done"

    chosen = configured({"protocol": "2025-11-25"}, sampling={"max_tokens_per_turn": 1_000, "max_concurrent": 10})
    async with (
        scene(chosen, {"asking": eager}, person=lambda question: None) as view,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(call, view, "ten")
        await view.until(lambda: len(view.open) + len(view.events(SampleFinished)) == 10)
        assert (len(view.open), {event.verdict for event in view.events(SampleFinished)}) == (5, {"limit"})
        tasks.cancel_scope.cancel()


async def test_the_model_is_named_one_way_whatever_becomes_of_a_request(config: Configure, tmp_path: Path) -> None:
    asked: list[Question] = []

    def answer(question: Question) -> Answer:
        asked.append(question)
        return Answer("accept" if len(asked) < 3 else "decline")

    chosen = scripted(config(model="mock/script"), tmp_path / "script.toml", '[[turn]]\ntext = "hm"\n')
    async with scene(chosen, {"asking": asking}, person=answer) as view:
        for _ in range(2):
            await said_of(view, "sample", text="x")
    assert {one.model for one in asked if isinstance(one, ApproveSampling | ReviewSample)} == {"mock/script"}
    finished = [(event.model, event.verdict) for event in view.events(SampleFinished)]
    assert finished == [("mock/script", "accept"), ("mock/script", "decline")]


async def test_a_request_that_is_too_large_is_refused_before_anybody_sees_it(config: Configure) -> None:
    async with scene(config(), {"asking": asking}, person=person()) as view:
        said = await said_of(view, "sample", text="\u202e" * 1_000_000)
    why = "sampling.max_tokens_per_turn allows 200,000 tokens in one turn."
    assert f"Sampling limit reached: {why}" in said
    assert [event.by for event in view.events(QuestionSettled)] == ["policy"]


async def test_a_person_may_answer_in_the_model_s_place(config: Configure) -> None:
    asked: list[Question] = []

    def write(question: Question) -> Answer:
        asked.append(question)
        return Answer("accept", {"reply": "by hand"})

    async with scene(config({"sampling": "manual"}), {"asking": asking}, person=write) as view:
        assert await call(view, "sample", text="Who are you?") == "human endTurn: by hand"
    [question] = asked
    assert isinstance(question, ApproveSampling)
    assert question.by_hand
    [finished] = view.events(SampleFinished)
    assert (finished.model, finished.usage, finished.verdict) == ("human", None, "accept")


async def test_manual_without_a_reply_is_a_refusal_and_asks_no_model(config: Configure) -> None:
    async with scene(config({"sampling": "manual"}), {"asking": asking}, person=person()) as view:
        assert "User rejected sampling request" in await said_of(view, "sample", text="x")
    assert view.events(TextArrived) == []


async def said_of(view: Any, tool: str, **arguments: Any) -> str:
    """What came of a call, be it a result or, in the era in which the call is given up, an error."""
    try:
        return await call(view, tool, **arguments)
    except HostError as error:
        return str(error)


# Context


curious = Server("curious")


@curious.tool
async def peek(ctx: Context, scope: str) -> str:
    params = {
        "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}],
        "maxTokens": 10,
        "includeContext": scope,
    }
    await ctx._dialogue.ask("sampling/createMessage", params, None)  # nothing of ours asks for it
    return "peeked"


@pytest.mark.parametrize(
    ("table", "scope", "system"),
    [
        ({}, "allServers", ""),
        ({"context": True}, "none", ""),
        ({"context": True}, "allServers", "<context>\nuser: hello there\n</context>"),
        ({"context": True}, "thisServer", ""),
    ],
)
async def test_the_chat_is_shown_to_servers_that_the_person_chose_and_that_ask(
    config: Configure, table: dict[str, Any], scope: str, system: str
) -> None:
    asked: list[Question] = []
    async with scene(
        config(table), {"asking": curious}, person=lambda one: asked.append(one) or Answer("decline")
    ) as view:
        from agent.chat.messages import user

        view.host.agent.conversation.add(user("hello there"))
        await said_of(view, "peek", scope=scope)
    [approval] = asked
    assert isinstance(approval, ApproveSampling)
    assert approval.request.system == system


# Several at once


async def test_of_one_server_only_so_many_are_answered_at_a_time() -> None:
    busy = Server("busy")

    @busy.tool
    async def three(ctx: Context) -> str:
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(ctx.sample, str(number))
        return "done"

    chosen = configured({"protocol": "2025-11-25"}, sampling={"max_concurrent": 2})
    async with (
        scene(chosen, {"asking": busy}, person=lambda question: None) as view,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(call, view, "three")
        await view.until(lambda: len(view.open) == 2)
        await view.host.connections["asking"].request("it", lambda client: client.ping())
        assert len(view.open) == 2
        view.open[0].reply(Answer("decline"))
        await view.until(lambda: len(view.open) == 3)
        tasks.cancel_scope.cancel()
