"""What every provider promises to the chat, the mock included: one table of conversations, four ways to answer."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import respx

from agent.chat.messages import Stop
from agent.chat.provider import Finished, ProviderItem, Request, TextDelta, ThinkingDelta
from agent.providers.mock.mock import MockProvider
from tests.providers.conversations import CONVERSATIONS
from tests.providers.wire import APIS, SSE, Api, Reply, heard

pytestmark = pytest.mark.anyio

REPLIES = {
    "text": Reply(("Half of it, ", "and the rest.")),
    "thoughts": Reply(("So.",), thinking=("hm ", "so")),
    "calls": Reply(("Let me see.",), (("c1", "calc__add", ('{"a": 1}',)), ("c1", "now", ("",))), "tool_use"),
    "cut": Reply(("Half of",), stop="max_tokens"),
    "nothing": Reply(),
}
SCRIPT = """
[[turn]]
text = "From the script."
"""


def check(items: list[ProviderItem], request: Request) -> Finished:
    """The contract of `Provider.stream`."""
    *streamed, end = items
    assert isinstance(end, Finished)
    assert all(isinstance(item, TextDelta | ThinkingDelta) and item.text for item in streamed)
    message = end.message
    assert "".join(item.text for item in streamed if isinstance(item, TextDelta)) == message.text
    ids = [call.id for call in message.tool_calls]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id) for id in ids)
    assert (message.stop is Stop.TOOL_USE) == bool(ids)
    if message.stop is Stop.MAX_TOKENS:
        assert message.native is None
    assert end.model
    return end


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
@pytest.mark.parametrize("title", CONVERSATIONS)
async def test_an_adapter_keeps_the_contract(router: respx.MockRouter, title: str, api: Api) -> None:
    """Each conversation meets one kind of reply, and each kind several conversations."""
    kind = list(REPLIES)[list(CONVERSATIONS).index(title) % len(REPLIES)]
    router.post(api.url).respond(200, headers=SSE, content=api.encode(REPLIES[kind]))
    provider = api.open()
    check(await heard(provider, CONVERSATIONS[title]), CONVERSATIONS[title])
    assert provider.name == f"{api.config.name}/{api.model}"
    await provider.aclose()


@pytest.mark.parametrize("max_tokens", [None, 1])
@pytest.mark.parametrize("title", CONVERSATIONS)
async def test_the_mock_keeps_the_contract(title: str, max_tokens: int | None) -> None:
    request = replace(CONVERSATIONS[title], max_tokens=max_tokens)
    check(await heard(MockProvider("demo"), request), request)


@pytest.mark.parametrize("title", CONVERSATIONS)
async def test_a_script_keeps_the_contract(title: str, tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    end = check(await heard(MockProvider("script", script), CONVERSATIONS[title]), CONVERSATIONS[title])
    assert end.message.text == "From the script."
