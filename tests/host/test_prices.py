"""What a request comes to."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from agent.chat.messages import (
    AssistantMessage,
    Image,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
    user,
)
from agent.chat.provider import Request, ToolSpec
from agent.host import prices
from agent.host.prices import Prices, request_tokens
from agent.providers.registry import ProviderConfig
from tests.host.scene import configure

pytestmark = pytest.mark.anyio

SPENT = Usage(input_tokens=1_000, output_tokens=100, cached_tokens=500)


def known(*providers: ProviderConfig) -> Prices:
    config = configure()
    return Prices(replace(config, providers={**config.providers, **{one.name: one for one in providers}}))


async def test_a_known_model_has_a_price_and_what_was_cached_costs_less() -> None:
    priced = known()
    cost = await priced.cost("anthropic/claude-sonnet-5-5", SPENT)
    full = await priced.cost("anthropic/claude-sonnet-5-5", replace(SPENT, cached_tokens=0))
    assert cost is not None
    assert full is not None
    assert 0 < cost < full


@pytest.mark.parametrize("label", ["openai/nobody-knows-it", "mock/demo", "local/qwen3", "gone/model"])
async def test_an_unknown_one_has_none(label: str) -> None:
    assert await known(ProviderConfig("local", "openai", base_url="http://127.0.0.1:1/v1")).cost(label, SPENT) is None


async def test_without_the_extra_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "_table", lambda: None)
    assert await known().cost("anthropic/claude-sonnet-5-5", SPENT) is None


def test_the_table_is_loaded_by_the_first_question_only() -> None:
    program = "import sys, agent.host.sampling; print('genai_prices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout == "False\n"


def test_the_size_of_a_request_counts_all_that_is_in_it() -> None:
    messages: tuple[Any, ...] = (
        UserMessage((Text("x" * 400), Image("AAAA", "image/png"))),
        AssistantMessage((Text("y" * 40), ToolCall("c", "t", {}, "z" * 40))),
        ToolMessage((ToolResult("c", (Text("r" * 40),)),)),
    )
    assert request_tokens(Request(messages, system="s" * 80)) == 1_500 + 600 // 4
    assert request_tokens(Request((user(""),), tools=(ToolSpec("name", "what it does", {"type": "object"}),))) > 5
