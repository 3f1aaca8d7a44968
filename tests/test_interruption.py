"""A turn interrupted at every event: what is left can be sent to every API, as they would take it."""

from __future__ import annotations

import json

import pytest
import respx

from agent.chat.loop import Agent
from agent.chat.messages import ToolCall, user
from agent.chat.provider import ThinkingDelta
from agent.chat.questions import Answer
from tests.chat.scripted import Adder, InterruptingOutbox, ScriptedProvider, Tools
from tests.providers.conftest import router as router
from tests.providers.wire import APIS, SSE, Api, Reply, finished, heard

pytestmark = pytest.mark.anyio

ADD = ToolCall.parse("c1", "sums__add", '{"a": 1, "b": 2}')
BAD = ToolCall.parse("c2", "sums__add", '{"a": ')
ALSO = ToolCall.parse("c3", "sums__add", '{"a": 3}')


def turn(at: int) -> tuple[Agent, InterruptingOutbox]:
    outbox = InterruptingOutbox(at, Answer("accept"))
    provider = ScriptedProvider([ThinkingDelta("hm"), "first ", "look", ADD, BAD, ALSO], ["and ", ALSO], ["done"])
    return Agent(provider, Tools(Adder(harmless=False)), outbox), outbox


async def count_events() -> int:
    agent, outbox = turn(0)
    await agent.turn(user("go"))
    return len(outbox.emitted)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
async def test_after_an_interruption_anywhere_the_next_request_is_one_the_api_takes(
    router: respx.MockRouter, api: Api
) -> None:
    """The router lints every body and checks it against the SDK's types when the test ends."""
    router.post(api.url).respond(200, headers=SSE, content=api.encode(Reply(("welcome back",))))
    total = await count_events()
    for at in range(1, total + 1):
        agent, outbox = turn(at)
        with outbox.scope:
            await agent.turn(user("go"))
        agent.conversation.add(user("again"))
        finished(await heard(api.open(), agent.conversation.request()))
        assert "again" in json.dumps(json.loads(router.calls.last.request.content))
    assert len(router.calls) == total > 15
