"""Functions that ask a client which is not waited for: left, and run again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from agent.mcp import Context, McpError, Server
from tests.mcp.stateless_caller import EVERYTHING, Caller, accept, caller, sampled, text

pytestmark = pytest.mark.anyio

Body = Callable[[Context], Awaitable[Any]]


@dataclass
class Seat:
    place: str


FORM = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
WHICH = {"method": "elicitation/create", "params": {"message": "Which seat?", "requestedSchema": FORM}}


def serving(body: Body, **options: Any) -> Server:
    """A server with one tool `run`, which is `body`."""
    server = Server("here", **options)

    @server.tool
    async def run(ctx: Context) -> str:
        return str(await body(ctx))

    return server


async def seat(ctx: Context, key: str | None = None) -> str:
    answer = await ctx.elicit("Which seat?", Seat, key=key)
    return answer.content.place if answer.content else answer.action


async def rounds(client: Caller, *answers: dict[str, Any]) -> Any:
    """The result of `run` after these answers, one set for each round."""
    result = await client.call("run")
    for responses in answers:
        result = await client.answer(result, "run", **responses)
    return result


async def test_a_question_is_the_answer_and_the_next_call_goes_on() -> None:
    async with caller(serving(seat)) as client:
        asked = await client.call("run")
        assert asked == {
            "resultType": "input_required",
            "inputRequests": {"question-1": WHICH},
            "requestState": asked["requestState"],
        }
        assert await client.answer(asked, "run", **{"question-1": accept(place="aisle")}) == text("aisle")


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_person_may_say_no(action: str) -> None:
    async with caller(serving(seat)) as client:
        assert await rounds(client, {"question-1": {"action": action}}) == text(action)


async def test_effects_before_a_question_are_repeated_but_not_in_once() -> None:
    effects: list[str] = []

    async def reserve() -> dict[str, int]:
        effects.append("reserved")
        return {"number": len(effects)}

    async def body(ctx: Context) -> str:
        effects.append("entered")
        reserved = await ctx.once("reserve", reserve)
        first = await seat(ctx)
        paid = await ctx.once("pay", lambda: effects.append("paid"))
        summary = await ctx.sample(f"{first}?")
        second = await seat(ctx)
        return f"{reserved} {first} {paid} {summary.text} {second}"

    async with caller(serving(body)) as client:
        done = await rounds(
            client,
            {"question-1": accept(place="aisle")},
            {"question-2": sampled("Yes.")},
            {"question-3": accept(place="window")},
        )
    assert done == text("{'number': 2} aisle None Yes. window")
    assert effects == ["entered", "reserved", "entered", "paid", "entered", "entered"]


async def test_questions_asked_together_come_together() -> None:
    async def body(ctx: Context) -> str:
        said: dict[str, str] = {}

        async def person() -> None:
            said["person"] = await seat(ctx)

        async def model() -> None:
            await anyio.lowlevel.checkpoint()
            said["model"] = (await ctx.sample("Hm?")).text

        async def client() -> None:
            said["client"] = (await ctx.roots())[0].uri

        async with anyio.create_task_group() as tasks:
            for ask in (person, model, client):
                tasks.start_soon(ask)
        return " ".join(said[key] for key in sorted(said))

    async with caller(serving(body)) as client:
        asked = await client.call("run")
        methods = {name: request["method"] for name, request in asked["inputRequests"].items()}
        assert sorted(methods.values()) == ["elicitation/create", "roots/list", "sampling/createMessage"]
        answers = {
            "elicitation/create": accept(place="aisle"),
            "roots/list": {"roots": [{"uri": "file:///home"}]},
            "sampling/createMessage": sampled("Hm."),
        }
        partly = {name: answers[method] for name, method in methods.items() if method != "roots/list"}
        again = await client.answer(asked, "run", **partly)
        (missing,) = again["inputRequests"]
        assert again["inputRequests"] == {missing: {"method": "roots/list"}}
        assert await client.answer(again, "run", **{missing: answers["roots/list"]}) == text("file:///home Hm. aisle")


async def test_an_effect_beside_a_question_comes_to_its_end_before_the_function_is_left() -> None:
    effects: list[str] = []

    async def body(ctx: Context) -> str:
        async def slowly() -> str:
            effects.append("begun")
            for _ in range(50):
                await anyio.lowlevel.checkpoint()
            effects.append("ended")
            return "done"

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ctx.once, "slowly", slowly)
            return await seat(ctx)

    async with caller(serving(body)) as client:
        assert await rounds(client, {"question-1": accept(place="aisle")}) == text("aisle")
    assert effects == ["begun", "ended"]


async def test_a_question_may_stand_in_once() -> None:
    async with caller(serving(lambda ctx: ctx.once("seat", lambda: seat(ctx)))) as client:
        assert await rounds(client, {"question-1": accept(place="aisle")}) == text("aisle")


async def test_questions_may_stand_in_once_together() -> None:
    async def both(ctx: Context) -> str:
        said: dict[str, str] = {}

        async def ask(key: str) -> None:
            said[key] = await seat(ctx, key)

        async with anyio.create_task_group() as tasks:
            for key in ("a", "b"):
                tasks.start_soon(ask, key)
        return f"{said['a']} {said['b']}"

    async with caller(serving(lambda ctx: ctx.once("both", lambda: both(ctx)))) as client:
        assert await rounds(client, {"a": accept(place="1"), "b": accept(place="2")}) == text("1 2")


async def test_a_key_names_a_question_and_answers_need_no_order() -> None:
    flip = iter([True, False])

    async def body(ctx: Context) -> str:
        keys = ["a", "b"] if next(flip, True) else ["b", "a"]
        return " ".join([await seat(ctx, key) for key in keys])

    async with caller(serving(body)) as client:
        asked = await client.call("run")
        assert list(asked["inputRequests"]) == ["a"]
        done = await client.answer(asked, "run", a=accept(place="1"), b=accept(place="2"), c="ignored")
        assert done == text("2 1")


async def test_a_key_used_twice_names_two_questions() -> None:
    async def body(ctx: Context) -> str:
        return " ".join([await seat(ctx, "seat"), await seat(ctx, "seat")])

    async with caller(serving(body)) as client:
        assert await rounds(client, {"seat": accept(place="1")}, {"seat-2": accept(place="2")}) == text("1 2")


async def test_a_changed_question_is_an_error() -> None:
    times = iter(range(10))

    async def body(ctx: Context) -> str:
        answer = await ctx.elicit(f"It is {next(times)} o'clock. Which seat?", Seat)
        return str(answer)

    async with caller(serving(body)) as client:
        failed = await rounds(client, {"question-1": accept(place="aisle")})
    assert failed["isError"] is True
    assert "'question-1' is another one than when it was asked" in failed["content"][0]["text"]


async def test_no_handler_of_failures_keeps_a_function_from_being_left() -> None:
    async def body(ctx: Context) -> str:
        try:
            return await seat(ctx)
        except Exception:
            return "failed"

    async with caller(serving(body)) as client:
        assert await rounds(client, {"question-1": accept(place="aisle")}) == text("aisle")


async def test_a_sibling_that_fails_beside_a_question_waits_for_the_answer() -> None:
    async def body(ctx: Context) -> str:
        async def fail() -> None:
            await anyio.lowlevel.checkpoint()
            raise OSError("broken")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(seat, ctx)
            tasks.start_soon(fail)
        return "never"

    async with caller(serving(body)) as client:
        assert "inputRequests" in await client.call("run")
        failed = await rounds(client, {"question-1": accept(place="aisle")})
    assert failed == text("broken") | {"isError": True}


async def test_a_function_in_a_thread_asks_too() -> None:
    server = Server("here")
    unwound: list[str] = []

    @server.tool
    def run(ctx: Context) -> str:
        try:
            return anyio.from_thread.run(seat, ctx)
        finally:
            unwound.append("unwound")

    async with caller(server) as client:
        assert await rounds(client, {"question-1": accept(place="aisle")}) == text("aisle")
    assert unwound == ["unwound", "unwound"]


async def test_tools_given_to_the_model_run_once() -> None:
    runs: list[str] = []

    def weather(city: str) -> str:
        """The weather in a city."""
        runs.append(city)
        return f"{city}: {len(runs)}"

    async def body(ctx: Context) -> str:
        plan = await ctx.sample("Plan.", tools=[weather])
        return f"{plan.text} {await seat(ctx)}"

    use = {"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Oslo"}}
    wanting = {"role": "assistant", "content": [use], "model": "m", "stopReason": "toolUse"}
    async with caller(serving(body)) as client:
        asked = await rounds(client, {"question-1": wanting})
        (request,) = asked["inputRequests"].values()
        assert request["params"]["messages"][-1]["content"][0]["content"] == [{"type": "text", "text": "Oslo: 1"}]
        asked = await client.answer(asked, "run", **{"question-2": sampled("Go.")})
        assert await client.answer(asked, "run", **{"question-3": accept(place="aisle")}) == text("Go. aisle")
    assert runs == ["Oslo"]


# What clients may do wrong.


async def test_another_process_with_the_same_key_goes_on() -> None:
    async with caller(serving(seat, state_key="shared")) as one, caller(serving(seat, state_key=b"shared")) as other:
        asked = await one.call("run")
        assert await other.answer(asked, "run", **{"question-1": accept(place="aisle")}) == text("aisle")


async def test_state_that_is_not_ours_is_refused() -> None:
    server, stranger = serving(seat), serving(seat)

    @server.tool
    async def other(ctx: Context) -> str:
        return await seat(ctx)

    async with caller(server) as client, caller(stranger) as elsewhere:
        state = (await client.call("run"))["requestState"]
        foreign = (await elsewhere.call("run"))["requestState"]
        for tool, bad in [("run", state + "-TAMPERED"), ("run", foreign), ("run", 7), ("run", ""), ("other", state)]:
            refused = await client.refusal("tools/call", name=tool, requestState=bad, inputResponses={})
            assert (refused.code, refused.data) == (-32602, {"reason": "invalid_request_state"})


async def test_other_arguments_are_another_call() -> None:
    server = Server("here")

    @server.tool
    async def pay(ctx: Context, amount: int) -> str:
        return f"{amount}: {await seat(ctx)}"

    async with caller(server) as client:
        asked = await client.call("pay", arguments={"amount": 1})
        answers = {"question-1": accept(place="x")}
        more = {"requestState": asked["requestState"], "inputResponses": answers}
        refused = await client.refusal("tools/call", name="pay", arguments={"amount": 1_000}, **more)
        assert refused.data == {"reason": "invalid_request_state"}
        assert await client.call("pay", arguments={"amount": 1}, **more) == text("1: x")


@pytest.mark.parametrize("answers", [None, {}, {"else": accept(place="x")}])
async def test_an_answer_that_is_missing_is_asked_for_again(answers: Any) -> None:
    async with caller(serving(seat)) as client:
        asked = await client.call("run")
        again = await client.call("run", requestState=asked["requestState"], inputResponses=answers)
        assert again["inputRequests"] == {"question-1": WHICH}


async def test_answers_that_come_unasked_are_taken_and_others_ignored() -> None:
    async with caller(serving(lambda ctx: seat(ctx, "seat"))) as client:
        answers = {"seat": accept(place="aisle"), "unknown": 7}
        assert await client.call("run", inputResponses=answers) == text("aisle")


@pytest.mark.parametrize("answer", [12345, None, [], "x", {}, {"action": "maybe"}, {"action": None}])
async def test_an_answer_that_is_none_is_refused(answer: Any) -> None:
    async with caller(serving(seat)) as client:
        asked = await client.call("run")
        more = {"requestState": asked["requestState"], "inputResponses": {"question-1": answer}}
        refused = await client.refusal("tools/call", name="run", **more)
    assert (refused.code, refused.message) == (-32602, "inputResponses.question-1 is no answer to elicitation/create")


@pytest.mark.parametrize("responses", [[], "x", 7, True])
async def test_answers_that_are_no_object_are_refused(responses: Any) -> None:
    async with caller(serving(seat)) as client:
        assert (await client.refusal("tools/call", name="run", inputResponses=responses)).code == -32602


async def test_an_answer_that_does_not_fit_the_form_is_the_tools_failure() -> None:
    async with caller(serving(seat)) as client:
        failed = await rounds(client, {"question-1": accept(place=7)})
    assert failed["isError"] is True


async def test_an_answer_that_was_given_stays() -> None:
    async def body(ctx: Context) -> str:
        return f"{await seat(ctx, 'a')} {await seat(ctx, 'b')}"

    async with caller(serving(body)) as client:
        done = await rounds(client, {"a": accept(place="1")}, {"a": accept(place="other"), "b": accept(place="2")})
    assert done == text("1 2")


@pytest.mark.parametrize(
    ("body", "declared", "needed"),
    [
        (seat, {}, {"elicitation": {}}),
        (seat, {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        (lambda ctx: ctx.sample("x"), {"elicitation": {}}, {"sampling": {}}),
        (lambda ctx: ctx.sample("x", tools=[seat]), {"sampling": {}}, {"sampling": {"tools": {}}}),
        (lambda ctx: ctx.roots(), {}, {"roots": {}}),
        (lambda ctx: ctx.visit("x", "https://x"), {}, {"elicitation": {"url": {}}}),
    ],
)
async def test_what_a_client_did_not_declare_it_is_not_asked(body: Body, declared: Any, needed: Any) -> None:
    async with caller(serving(body), declared) as client:
        refused = await client.refusal("tools/call", name="run")
    assert (refused.code, refused.data) == (-32021, {"requiredCapabilities": needed})


async def test_nothing_is_inferred_from_the_request_before() -> None:
    async with caller(serving(seat)) as client:
        await client.call("run")
        client.meta["io.modelcontextprotocol/clientCapabilities"] = {}
        assert (await client.refusal("tools/call", name="run")).code == -32021


# Prompts, resources, and where there are no questions.


async def test_prompts_and_resources_ask_as_tools_do() -> None:
    server = Server("here")

    @server.prompt
    async def review(ctx: Context) -> str:
        return await seat(ctx)

    @server.resource("seat://mine")
    async def mine(ctx: Context) -> str:
        return await seat(ctx)

    async with caller(server) as client:
        for method, params in (("prompts/get", {"name": "review"}), ("resources/read", {"uri": "seat://mine"})):
            asked = await client.ask(method, **params)
            assert asked["inputRequests"] == {"question-1": WHICH}
            assert "ttlMs" not in asked
            more = {"requestState": asked["requestState"], "inputResponses": {"question-1": accept(place="aisle")}}
            assert "aisle" in str(await client.ask(method, **params, **more))


async def test_a_completion_cannot_ask() -> None:
    server = Server("here")

    @server.prompt
    async def review(focus: str) -> str:
        return focus

    @server.completion("review", "focus")
    async def focuses(value: str, ctx: Context) -> list[str]:
        return [await seat(ctx)]

    async with caller(server) as client:
        ref = {"type": "ref/prompt", "name": "review"}
        refused = await client.refusal("completion/complete", ref=ref, argument={"name": "focus", "value": ""})
    assert (refused.code, refused.message) == (-32603, "completion/complete cannot ask the client anything.")


async def test_an_error_of_a_functions_own_stays_what_it_is() -> None:
    async def body(ctx: Context) -> str:
        await seat(ctx)
        raise McpError(-1, "no", {"x": 1})

    async with caller(serving(body), EVERYTHING) as client:
        asked = await client.call("run")
        more = {"requestState": asked["requestState"], "inputResponses": {"question-1": accept(place="aisle")}}
        refused = await client.refusal("tools/call", name="run", **more)
    assert (refused.code, refused.message, refused.data) == (-1, "no", {"x": 1})
