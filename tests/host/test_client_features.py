"""What servers ask of us, from a real server's tool to the answer that it gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from agent.chat.events import Noticed, QuestionSettled, SampleFinished, TextArrived
from agent.chat.questions import Answer, ApproveSampling, FillForm, Question, ReviewSample
from agent.host.config import Config
from agent.host.model_choice import provider_configs
from agent.host.patience import Patience
from agent.mcp import Context, Server
from tests.host.scene import Scene, configure, scene

pytestmark = pytest.mark.anyio


@dataclass
class Seat:
    place: Literal["window", "aisle"]
    meal: bool = False


asking = Server("asking")


@asking.tool
async def offered(ctx: Context) -> str:
    return ", ".join(sorted(ctx.client_capabilities))


@asking.tool
async def sample(ctx: Context, text: str, max_tokens: int = 100, hint: str = "") -> str:
    preferences = {"hints": [{"name": hint}]} if hint else None
    answer = await ctx.sample(text, max_tokens=max_tokens, model_preferences=preferences)
    return f"{answer.model} {answer.stop_reason}: {answer.text}"


@asking.tool
async def sample_often(ctx: Context, times: int) -> str:
    for number in range(times):
        await ctx.sample(str(number))
    return "done"


@asking.tool
async def sample_with_tools(ctx: Context) -> str:
    def lookup(city: str) -> str:
        return f"sunny in {city}"

    return (await ctx.sample("What is the weather in Kyoto?", tools=[lookup])).text


@asking.tool
async def book(ctx: Context) -> str:
    answer = await ctx.elicit("Which seat?", Seat)
    return f"{answer.content}" if answer.action == "accept" else answer.action


@asking.tool
async def roots(ctx: Context) -> str:
    return ", ".join(f"{root.name}={root.uri}" for root in await ctx.roots())


def config(table: Mapping[str, Any] | None = None, **sections: Mapping[str, Any]) -> Config:
    return configure({"asking": table or {}}, **sections)


async def call(view: Scene, tool: str, **arguments: Any) -> str:
    result = await view.host.call_tool(tool, arguments)
    return "\n".join(block.text for block in result.content)  # type: ignore[union-attr]


def person(**answers: Answer) -> Callable[[Question], Answer]:
    return lambda question: answers.get(type(question).__name__, Answer("accept"))


# What is declared


@pytest.mark.parametrize(
    ("table", "interactive", "declared"),
    [
        ({}, True, "elicitation, sampling"),
        ({}, False, ""),
        ({"sampling": "allow", "elicitation": "defaults"}, False, "elicitation, sampling"),
        ({"sampling": "deny", "elicitation": "decline"}, True, "elicitation"),
        ({"sampling": "manual"}, False, ""),
        ({"roots": ["/srv"]}, False, "roots"),
    ],
)
async def test_only_what_can_be_answered_is_declared(table: dict[str, Any], interactive: bool, declared: str) -> None:
    async with scene(config(table), {"asking": asking}, person=person() if interactive else None) as view:
        assert await call(view, "offered") == declared


# Sampling


async def test_a_sample_is_approved_streamed_reviewed_and_answered_in_the_middle_of_the_call() -> None:
    async with scene(config(), {"asking": asking}, person=person()) as view:
        assert await call(view, "sample", text="sum") == "mock/demo endTurn: [mock] sum"
    assert [type(event.question) for event in view.events(QuestionSettled)] == [ApproveSampling, ReviewSample]
    assert "".join(event.text for event in view.events(TextArrived)) == "[mock] sum"
    assert {event.origin for event in view.events(TextArrived)} == {"asking"}
    [finished] = view.events(SampleFinished)
    assert (finished.server, finished.model, finished.verdict) == ("asking", "mock/demo", "accept")
    assert finished.usage.output_tokens > 0


async def test_the_person_sees_the_whole_request_and_may_put_other_words_in_the_reply() -> None:
    asked: list[Question] = []

    def edit(question: Question) -> Answer:
        asked.append(question)
        return Answer("accept", {"text": "mine"} if isinstance(question, ReviewSample) else None)

    async with scene(config(), {"asking": asking}, person=edit) as view:
        assert await call(view, "sample", text="sum", max_tokens=9_999) == "mock/demo endTurn: mine"
    approval = asked[0]
    assert isinstance(approval, ApproveSampling)
    assert (approval.model, approval.request.max_tokens, approval.request.effort) == ("mock/demo", 4096, "lowest")


@pytest.mark.parametrize("question", ["ApproveSampling", "ReviewSample"])
async def test_a_refusal_reaches_the_server_as_a_rejection(question: str) -> None:
    async with scene(config(), {"asking": asking}, person=person(**{question: Answer("decline")})) as view:
        result = await view.host.call_tool("sample", {"text": "x"})
    assert result.is_error
    assert "User rejected sampling request" in str(result.content)
    assert [event.verdict for event in view.events(SampleFinished)] == ["decline"]


async def test_what_is_allowed_is_not_asked() -> None:
    async with scene(config({"sampling": "allow"}), {"asking": asking}) as view:
        assert await call(view, "sample", text="x") == "mock/demo endTurn: [mock] x"
    assert view.events(QuestionSettled) == []


async def test_a_hint_chooses_a_model_of_the_configuration(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text('[[turn]]\ntext = "scripted"\n')
    sampling = {"approve": "allow", "models": {"haiku": "small"}}
    chosen = config(sampling=sampling, models={"small": "mock/script"})
    mock = replace(provider_configs({}, {})["mock"], script=script)  # type: ignore[arg-type]
    async with scene(replace(chosen, providers={**chosen.providers, "mock": mock}), {"asking": asking}) as view:
        assert await call(view, "sample", text="x", hint="claude-haiku-9") == "mock/script endTurn: scripted"
        assert await call(view, "sample", text="x", hint="opus") == "mock/demo endTurn: [mock] x"


async def test_a_model_that_fails_is_told_in_a_sentence() -> None:
    chosen = configure({"asking": {"sampling": "allow"}}, model="mock/script")
    async with scene(chosen, {"asking": asking}) as view:
        result = await view.host.call_tool("sample", {"text": "x"})
    assert result.is_error
    assert "mock/script has no script: set `script` under [providers.mock], or use mock/demo." in str(result.content)
    assert [event.verdict for event in view.events(SampleFinished)] == ["error"]


async def test_the_server_s_own_tools_are_run_by_the_server() -> None:
    async with scene(config({"sampling": "allow"}), {"asking": asking}) as view:
        assert "sunny in" in await call(view, "sample_with_tools")


async def test_one_turn_has_only_so_many_samples_and_the_next_begins_anew() -> None:
    chosen = config(sampling={"approve": "allow", "max_requests_per_turn": 2})
    async with scene(chosen, {"asking": asking}) as view:
        assert await call(view, "sample_often", times=2) == "done"
        result = await view.host.call_tool("sample_often", {"times": 3})
        assert result.is_error
        assert await call(view, "sample_often", times=2) == "done"
    [settled] = view.events(QuestionSettled)
    assert settled.why == "sampling.max_requests_per_turn allows 2 requests in one turn."


async def test_a_person_may_answer_in_the_model_s_place() -> None:
    asked: list[Question] = []

    def write(question: Question) -> Answer:
        asked.append(question)
        return Answer("accept", {"text": "by hand"})

    async with scene(config({"sampling": "manual"}), {"asking": asking}, person=write) as view:
        assert await call(view, "sample", text="Who are you?") == "human endTurn: by hand"
    [form] = asked
    assert isinstance(form, FillForm)
    assert (form.server, form.message) == ("asking", "Who are you?")


# Forms


async def test_a_form_is_answered_by_the_person() -> None:
    answer = Answer("accept", {"place": "aisle", "meal": True})
    async with scene(config(), {"asking": asking}, person=person(FillForm=answer)) as view:
        assert await call(view, "book") == "Seat(place='aisle', meal=True)"


@pytest.mark.parametrize("verdict", ["decline", "cancel"])
async def test_a_form_may_be_refused(verdict: Any) -> None:
    async with scene(config(), {"asking": asking}, person=person(FillForm=Answer(verdict))) as view:
        assert await call(view, "book") == verdict


async def test_an_answer_that_does_not_fit_the_form_is_not_sent() -> None:
    answer = Answer("accept", {"place": "roof"})
    async with scene(config(), {"asking": asking}, person=person(FillForm=answer)) as view:
        assert await call(view, "book") == "cancel"
    assert [event.level for event in view.events(Noticed)] == ["warning"]


async def test_the_configuration_answers_before_the_person_is_asked() -> None:
    asked: list[Question] = []
    chosen = replace(config({"elicitation": "/a"}), answers={"/a": {"asking": {"place": "window"}}})
    async with scene(chosen, {"asking": asking}, person=lambda q: asked.append(q) or Answer("cancel")) as view:
        assert await call(view, "book") == "Seat(place='window', meal=False)"
    assert asked == []
    [settled] = view.events(QuestionSettled)
    assert (settled.verdict, settled.by) == ("accept", "policy")


async def test_roots_are_the_folders_of_the_configuration() -> None:
    async with scene(config({"roots": ["/srv/data", "/"]}), {"asking": asking}) as view:
        assert await call(view, "roots") == "data=file:///srv/data, /=file:///"


# Time and withdrawal


async def test_the_call_s_time_stands_still_while_its_question_is_open() -> None:
    async with scene(config(), {"asking": asking}, person=lambda question: None) as view:
        patience = Patience(120)
        connection = view.host.connections["asking"]
        answers: list[Any] = []

        async def book() -> None:
            answers.append(await connection.request("it", lambda client: client.call_tool("book"), patience))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(book)
            await view.until(lambda: view.open)
            assert patience.scope.deadline == float("inf")
            view.open[0].reply(Answer("decline"))
        assert patience.scope.deadline < float("inf")
        assert [answer.content[0].text for answer in answers] == ["decline"]


async def test_a_call_that_begins_while_a_question_is_open_waits_too() -> None:
    async with (
        scene(config(), {"asking": asking}, person=lambda question: None) as view,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(call, view, "book")
        await view.until(lambda: view.open)
        patience = Patience(120)
        await view.host.connections["asking"].request("it", lambda client: client.ping(), patience)
        assert patience.scope.deadline == float("inf")
        view.open[0].reply(Answer("decline"))


async def test_a_cancelled_call_withdraws_its_question() -> None:
    async with scene(config(), {"asking": asking}, person=lambda question: None) as view:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, view, "book")
            await view.until(lambda: view.open)
            tasks.cancel_scope.cancel()
        await view.until(lambda: view.events(QuestionSettled))
    [settled] = view.events(QuestionSettled)
    assert (settled.verdict, settled.by, view.open[0].open) == ("cancel", "withdrawn", False)
