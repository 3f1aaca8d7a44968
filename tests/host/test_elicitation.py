"""Forms and pages: from a real server's tool to the answer that it gets, in both eras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from agent.chat.events import Noticed, QuestionSettled
from agent.chat.questions import Answer, AwaitPage, OpenUrl, Question
from agent.host.config.config import Config
from agent.host.elicitation import MOST_QUESTIONS
from agent.host.host import HostError
from agent.mcp import Context, McpError, Server
from tests.host.asking import ERAS, Browser, asking, call, person
from tests.host.asking import config as configured
from tests.host.scene import Scene, scene

pytestmark = pytest.mark.anyio

Configure = Callable[..., Config]
URL = "https://example.com/auth?x=1"
OPEN = OpenUrl("asking", "Sign in", URL, "example.com")
WAIT = AwaitPage("asking", "Sign in", URL, "example.com")


@pytest.fixture(params=ERAS)
def config(request: pytest.FixtureRequest) -> Configure:
    return lambda table=None, **more: configured({"protocol": request.param, **(table or {})}, **more)


def handshake(**table: Any) -> Config:
    return configured({"protocol": "2025-11-25", **table})


def stateless(**table: Any) -> Config:
    return configured({"protocol": "2026-07-28", **table})


async def said_of(view: Scene, tool: str, **arguments: Any) -> str:
    try:
        return await call(view, tool, **arguments)
    except HostError as error:
        return str(error)


def warnings(view: Scene) -> list[str]:
    return [event.text for event in view.events(Noticed) if event.level == "warning" and "deprecates" not in event.text]


# Forms


async def test_a_form_is_answered_by_the_person(config: Configure) -> None:
    answer = Answer("accept", {"place": "aisle", "meal": True})
    async with scene(config(), {"asking": asking}, person=person(FillForm=answer)) as view:
        assert await call(view, "book") == "Seat(place='aisle', meal=True)"


@pytest.mark.parametrize("verdict", ["decline", "cancel"])
async def test_a_form_may_be_refused(config: Configure, verdict: Any) -> None:
    async with scene(config(), {"asking": asking}, person=person(FillForm=Answer(verdict))) as view:
        assert await call(view, "book") == verdict


async def test_an_answer_that_does_not_fit_the_form_is_not_sent(config: Configure) -> None:
    answer = Answer("accept", {"place": "roof"})
    async with scene(config(), {"asking": asking}, person=person(FillForm=answer)) as view:
        assert await call(view, "book") == "cancel"
    [warning] = warnings(view)
    assert warning.startswith("The answer does not fit the form and was not sent: place: 'roof' is not one of")


async def test_the_configuration_answers_before_the_person_is_asked(config: Configure) -> None:
    asked: list[Question] = []
    chosen = replace(config({"elicitation": "/a"}), answers={"/a": {"asking": {"place": "window"}}})
    async with scene(chosen, {"asking": asking}, person=lambda q: asked.append(q) or Answer("cancel")) as view:
        assert await call(view, "book") == "Seat(place='window', meal=False)"
    assert asked == []
    [settled] = view.events(QuestionSettled)
    assert (settled.verdict, settled.by) == ("accept", "policy")


TEXT = {"type": "string"}
MANY = {f"f{number}": TEXT for number in range(10_000)}


@pytest.mark.parametrize(
    ("properties", "message", "fault"),
    [
        ({"password": TEXT}, "Please", "the form asks for a secret, 'password', which a form must not;"),
        (MANY, "Please", "the form has 10,000 fields; 100 are allowed"),
        ({}, "x" * 1_000_000, "the form has a message of 1,000,000 characters; 20,000 are allowed"),
    ],
)
async def test_a_form_that_must_not_be_asked_is_refused_and_both_sides_hear_why(
    config: Configure, properties: dict[str, Any], message: str, fault: str
) -> None:
    schema = {"type": "object", "properties": properties}
    async with scene(config(), {"asking": asking}, person=person()) as view:
        assert f"Refused by the host: {fault}" in await said_of(view, "ask", schema=schema, message=message)
    [warning] = warnings(view)
    assert warning.startswith(f"It asked for something and was refused: {fault}")
    assert view.events(QuestionSettled) == []


async def test_a_server_that_never_stops_asking_is_not_listened_to_any_more() -> None:
    endless = Server("endless")

    @endless.tool
    async def ask(ctx: Context) -> str:
        while True:
            await ctx.elicit("Again?", {"type": "object", "properties": {}})

    async with scene(handshake(), {"asking": endless}, person=person()) as view:
        assert f"{MOST_QUESTIONS} questions were asked in one turn already" in await said_of(view, "ask")
        assert len(view.events(QuestionSettled)) == MOST_QUESTIONS
    assert warnings(view) == [
        f"It is not listened to any more: {MOST_QUESTIONS} questions were asked in one turn already."
    ]


# Pages


async def test_a_page_is_opened_after_the_person_agreed_and_not_before(config: Configure) -> None:
    browser, asked = Browser(), list[Question]()

    def look(question: Question) -> Answer:
        assert (browser.opened == []) == isinstance(question, OpenUrl)
        asked.append(question)
        return Answer("accept")

    chosen = config()
    async with scene(chosen, {"asking": asking}, person=look, browser=browser) as view:
        assert await call(view, "visit") == "accept"
    assert (asked[0], browser.opened) == (OPEN, [URL])


async def test_while_the_call_is_not_made_again_the_person_is_waited_for_in_the_stateless_era() -> None:
    browser, asked = Browser(), list[Question]()

    def look(question: Question) -> Answer:
        asked.append(question)
        return Answer("accept")

    async with scene(stateless(), {"asking": asking}, person=look, browser=browser) as view:
        assert await call(view, "visit") == "accept"
    assert (asked, view.events(Noticed)) == ([OPEN, WAIT], [])


async def test_giving_up_a_page_is_a_refusal() -> None:
    chosen = person(AwaitPage=Answer("decline"))
    async with scene(stateless(), {"asking": asking}, person=chosen, browser=Browser()) as view:
        assert await call(view, "visit") == "decline"


async def test_where_the_call_goes_on_a_line_says_where_and_what_it_waits_for() -> None:
    async with scene(handshake(), {"asking": asking}, person=person(), browser=Browser()) as view:
        assert await call(view, "visit") == "accept"
    said = f"As long as the call goes on, it waits until you are done on example.com: {URL}"
    assert [event.text for event in view.events(Noticed) if event.level == "notice"] == [said]


@pytest.mark.parametrize("verdict", ["decline", "cancel"])
async def test_a_page_that_is_refused_stays_closed(config: Configure, verdict: Any) -> None:
    async with scene(config(), {"asking": asking}, person=person(OpenUrl=Answer(verdict))) as view:
        assert await call(view, "visit") == verdict


async def test_the_person_may_open_it_themselves(config: Configure) -> None:
    async with scene(config(), {"asking": asking}, person=person(OpenUrl=Answer("accept", {"open": False}))) as view:
        assert await call(view, "visit") == "accept"


async def test_without_a_browser_the_address_is_given_to_the_person(config: Configure) -> None:
    async with scene(config(), {"asking": asking}, person=person(), browser=Browser(works=False)) as view:
        assert await call(view, "visit") == "accept"
    assert warnings(view) == [f"There is no browser to open it in; open it yourself: {URL}"]


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "https://\x1b[2J"])
async def test_what_is_no_web_page_is_never_even_asked_about(config: Configure, url: str) -> None:
    async with scene(config(), {"asking": asking}, person=person()) as view:
        assert "Refused by the host: the address " in await said_of(view, "visit", url=url)
    assert view.events(QuestionSettled) == []


async def test_what_may_deceive_goes_along_with_the_question(config: Configure) -> None:
    asked: list[Question] = []
    async with scene(config(), {"asking": asking}, person=lambda one: asked.append(one) or Answer("decline")) as view:
        await call(view, "visit", url="https://xn--pypal-4ve.com")
    [question] = asked
    assert isinstance(question, OpenUrl)
    assert (question.host, len(question.warnings)) == ("xn--pypal-4ve.com", 3)


async def test_a_refusal_by_configuration_holds_for_pages_too(config: Configure) -> None:
    async with scene(config({"elicitation": "decline"}), {"asking": asking}) as view:
        assert await call(view, "visit") == "decline"


async def test_the_server_says_when_the_person_is_done() -> None:
    linking = Server("linking")

    @linking.tool
    async def link(ctx: Context) -> str:
        visit = await ctx.visit("Sign in", URL)
        for _ in range(2):
            await ctx.finished(visit)
        return visit.action

    async with scene(handshake(), {"asking": linking}, person=person(), browser=Browser()) as view:
        assert await call(view, "link") == "accept"
        await view.until(lambda: len(view.events(Noticed)) == 2)
    assert view.events(Noticed)[1].text == "The page on example.com is finished."


async def test_of_pages_that_were_never_opened_a_server_may_say_what_it_likes() -> None:
    lying = Server("lying")

    @lying.tool
    async def lie(ctx: Context) -> str:
        await ctx._dialogue.tell("notifications/elicitation/complete", {"elicitationId": "unknown"})
        return "told"

    async with scene(handshake(), {"asking": lying}, person=person()) as view:
        assert await call(view, "lie") == "told"
    assert view.events(Noticed) == []


# A server that cannot go on before the person was there


def needing(pages: int) -> tuple[Server, list[str]]:
    """A server of the handshake era whose tool is refused until its pages were visited; it keeps count of calls."""
    server, calls = Server("needing"), list[str]()

    @server.tool
    async def use(ctx: Context) -> str:
        calls.append("call")
        if len(calls) > 1:
            return "used"
        listed = [
            {"mode": "url", "elicitationId": f"e{n}", "url": f"{URL}&n={n}", "message": "Sign in"} for n in range(pages)
        ]
        raise McpError(-32042, f"need auth at {URL}", {"elicitations": listed})

    return server, calls


async def test_every_page_is_opened_and_waited_for_before_the_call_is_made_again() -> None:
    server, calls = needing(pages=2)
    browser, asked = Browser(), list[Question]()

    def look(question: Question) -> Answer:
        asked.append(question)
        assert calls == ["call"]
        return Answer("accept")

    async with scene(handshake(), {"asking": server}, person=look, browser=browser) as view:
        assert await call(view, "use") == "used"
    assert calls == ["call", "call"]
    assert sorted(browser.opened) == [f"{URL}&n=0", f"{URL}&n=1"]
    assert sorted(type(one).__name__ for one in asked) == ["AwaitPage", "AwaitPage", "OpenUrl", "OpenUrl"]


async def test_a_page_that_is_not_opened_fails_the_call_without_telling_the_model_where_it_was() -> None:
    server, calls = needing(pages=2)
    async with scene(handshake(), {"asking": server}, person=person(OpenUrl=Answer("decline"))) as view:
        said = await said_of(view, "use")
    assert said == "asking: The server wants a page opened in the browser first, and the person has not done that."
    assert calls == ["call"]


async def test_giving_up_while_waiting_fails_the_call() -> None:
    server, calls = needing(pages=1)
    chosen = person(AwaitPage=Answer("cancel"))
    async with scene(handshake(), {"asking": server}, person=chosen, browser=Browser()) as view:
        assert "the person has not done that" in await said_of(view, "use")
    assert calls == ["call"]


async def test_the_call_goes_on_by_itself_when_the_server_says_that_the_page_is_finished() -> None:
    server, calls = needing(pages=1)

    @server.tool
    async def finish(ctx: Context) -> str:
        await ctx._dialogue.tell("notifications/elicitation/complete", {"elicitationId": "e0"})
        return "told"

    def leave_open(question: Question) -> Answer | None:
        return None if isinstance(question, AwaitPage) else Answer("accept")

    said: list[str] = []
    async with scene(handshake(), {"asking": server}, person=leave_open, browser=Browser()) as view:

        async def use() -> None:
            said.append(await call(view, "use"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(use)
            await view.until(lambda: view.open)
            await call(view, "finish")
        assert not view.open[0].open
    assert (said, calls) == (["used"], ["call", "call"])


async def test_a_server_that_asks_again_has_the_person_say_that_they_are_done() -> None:
    """In the stateless era nobody waits: the server asks for the same page until the person was there."""
    browser, asked = Browser(), list[Question]()

    def look(question: Question) -> Answer:
        asked.append(question)
        reopens = isinstance(question, AwaitPage) and len(asked) == 3
        return Answer("accept", {"open": True} if reopens else None)

    async with scene(stateless(), {"asking": asking}, person=look, browser=browser) as view:
        answer = view.host.connections["asking"]._features.answer("asking")
        params = {"mode": "url", "message": "Sign in", "url": URL}
        assert [await answer("elicitation/create", params) for _ in range(2)] == [{"action": "accept"}] * 2
    assert asked == [OPEN, WAIT, WAIT, WAIT]
    assert browser.opened == [URL, URL]


@pytest.mark.parametrize(
    ("params", "fault"),
    [
        ({}, "an elicitation needs a message"),
        ({"message": 3}, "an elicitation needs a message"),
        ({"message": "?"}, "a form needs a requestedSchema"),
        ({"message": "?", "mode": "url"}, "a page needs a url"),
        ({"message": "?", "mode": "voice"}, "there is no elicitation mode 'voice'"),
        ({"message": "?", "requestedSchema": {"properties": {"a": {"type": "object"}}}},
         "Refused by the host: the form has a field that is a form in itself, 'a'; forms are flat"),
        ({"message": "x" * 20_001, "mode": "url", "url": URL},
         "Refused by the host: a message may have 20,000 characters, and this has 20,001"),
    ],
)  # fmt: skip
async def test_a_question_that_is_none_is_an_error(params: dict[str, Any], fault: str) -> None:
    async with scene(stateless(), {"asking": asking}, person=person()) as view:
        answer = view.host.connections["asking"]._features.answer("asking")
        with pytest.raises(McpError) as refused:
            await answer("elicitation/create", params)
    assert (refused.value.code, refused.value.message) == (-32602, fault)


async def test_what_a_request_says_of_itself_goes_back_with_the_answer() -> None:
    task = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
    async with scene(stateless(), {"asking": asking}, person=person(FillForm=Answer("decline"))) as view:
        answer = view.host.connections["asking"]._features.answer("asking")
        params = {"message": "?", "requestedSchema": {}, "_meta": {**task, "progressToken": 1, "x/y": 2}}
        assert await answer("elicitation/create", params) == {"action": "decline", "_meta": {**task, "x/y": 2}}
