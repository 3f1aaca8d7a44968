"""The whole road over every API in both eras: a turn, a server's tool in it, and the model that the tool asks twice."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest
import respx

from agent.chat.events import SampleFinished
from agent.chat.messages import Stop, user
from agent.host.config.config import Config
from agent.mcp import Context, Server
from agent.providers.registry import warm_up
from tests.host.asking import ERAS
from tests.host.scene import configure, scene
from tests.providers.conftest import api, router  # noqa: F401  # fixtures
from tests.providers.wire import SSE, Api, Reply

pytestmark = pytest.mark.anyio

weather = Server("weather")


@weather.tool
async def compare(ctx: Context) -> str:
    """Which of two cities is warmer?"""

    def temperature(city: str) -> str:
        """The temperature in a city."""
        return {"Paris": "21 °C", "Oslo": "9 °C"}[city]

    answer = await ctx.sample("Paris or Oslo?", tools=[temperature], max_tokens=300, system_prompt="Be brief.")
    return f"{answer.stop_reason}: {answer.text}"


@weather.tool
async def outline(ctx: Context) -> str:
    answer = await ctx.sample("In two tokens?", max_tokens=2)
    return f"{answer.stop_reason}: {answer.text}"


CALLS = (("t1", "temperature", ('{"city"', ':"Paris"}')), ("t2", "temperature", ('{"city":"Oslo"}',)))
REPLIES = (
    Reply((), (("c1", "weather__compare", ("{}",)),), "tool_use"),
    Reply(("Let me look.",), CALLS, "tool_use", thinking=("two calls",)),
    Reply(("Paris, by 12 °C.",)),
    Reply(("It is Paris.",)),
)


def configured(one: Api, era: str) -> Config:
    warm_up(one.config)  # an import may take longer than a test has
    label, table = f"{one.config.name}/{one.model}", {"protocol": era, "sampling": "allow"}
    chosen = configure({"weather": table}, model=label, permissions={"default": "allow"})
    return replace(chosen, providers={**chosen.providers, one.config.name: one.config})


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_asks_the_model_with_tools_of_its_own_in_two_rounds(
    router: respx.MockRouter,  # noqa: F811
    api: Api,  # noqa: F811
    era: str,
) -> None:
    streams = [httpx.Response(200, headers=SSE, content=api.encode(reply)) for reply in REPLIES]
    route = router.post(api.url).mock(side_effect=streams)
    async with scene(configured(api, era), {"weather": weather}) as view:
        ended = await view.host.agent.turn(user("Where is it warmer?"))
    assert ended.stop is Stop.END
    finished = [(one.model, one.verdict, one.usage.output_tokens) for one in view.events(SampleFinished)]
    assert finished == [(f"{api.config.name}/{api.model}", "accept", 5)] * 2
    bodies = [json.loads(request.content) for request, _ in route.calls]
    assert len(bodies) == 4
    first, second, last = (json.dumps(body, ensure_ascii=False) for body in bodies[1:])
    assert "Where is it warmer?" not in first + second  # the conversation is not the server's business
    assert "weather__compare" not in first + second
    assert all(said in second for said in ("Let me look.", "21 °C", "9 °C"))
    assert "endTurn: Paris, by 12 °C." in last
    if api.name != "chat":  # which has no place for it
        assert reasoning_of(bodies[2]) == [REASONING[api.name]]


@pytest.mark.parametrize("era", ERAS)
async def test_a_reply_that_an_api_makes_longer_than_the_server_asked_for_is_cut(
    router: respx.MockRouter,  # noqa: F811
    api: Api,  # noqa: F811
    era: str,
) -> None:
    stream = httpx.Response(200, headers=SSE, content=api.encode(Reply(("0123456789",))))
    router.post(api.url).mock(return_value=stream)
    async with scene(configured(api, era), {"weather": weather}) as view:
        result = await view.host.call_tool("outline")
    assert [block.text for block in result.content] == ["maxTokens: 012345"]  # type: ignore[union-attr]
    [finished] = view.events(SampleFinished)
    assert (finished.usage.output_tokens, finished.usage.reasoning_tokens) == (5, 2)


REASONING: dict[str, Any] = {
    "responses": {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "two calls"}],
        "encrypted_content": "c2VjcmV0",
    },
    "messages": {"type": "thinking", "thinking": "two calls", "signature": "c2lnbmVk"},
}


def reasoning_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The reasoning that stands in a request, as its model wrote it."""
    items = [*body.get("input", []), *body.get("messages", [])]
    blocks = [block for item in items if isinstance(item.get("content"), list) for block in item["content"]]
    return [one for one in (*items, *blocks) if one.get("type") in ("reasoning", "thinking")]
