"""What a request comes to."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from agent.chat.events import Event, MessageFinished, SampleFinished
from agent.chat.messages import (
    AssistantMessage,
    Text,
    Usage,
)
from agent.chat.questions import Verdict
from agent.chat.report import Report
from agent.host import prices
from agent.host.prices import Prices
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


def said(usage: Usage | None) -> MessageFinished:
    return MessageFinished(AssistantMessage((Text("hi"),)), usage, "the one that answered")


def sampled(usage: Usage | None, verdict: Verdict, cost: float | None = None) -> SampleFinished:
    return SampleFinished("notes", "whichever", usage, verdict, cost)


@pytest.mark.parametrize(
    ("label", "events", "replies", "samples"),
    [
        ("anthropic/claude-sonnet-5-5", (said(SPENT), said(SPENT)), 2, 0.0),
        ("anthropic/claude-sonnet-5-5", (said(SPENT), sampled(SPENT, "accept", 0.25)), 1, 0.25),
        ("anthropic/claude-sonnet-5-5", (said(SPENT), sampled(None, "decline"), sampled(None, "accept", 0.5)), 1, 0.5),
        ("anthropic/claude-sonnet-5-5", (said(SPENT), said(None)), None, 0.0),
        ("anthropic/claude-sonnet-5-5", (said(SPENT), sampled(SPENT, "accept")), None, 0.0),
        ("anthropic/claude-sonnet-5-5", (), None, 0.0),
        ("mock/demo", (said(SPENT), sampled(SPENT, "accept", 0.25)), None, 0.0),
        ("mock/demo", (sampled(SPENT, "accept", 0.25),), 0, 0.25),
    ],
)
async def test_a_run_costs_the_sum_of_its_requests_if_all_of_them_are_known(
    label: str, events: tuple[Event, ...], replies: int | None, samples: float
) -> None:
    """`replies` is how many there are at the one known price; None means that nobody can know the sum."""
    priced, report = known(), Report()
    for event in events:
        report.add(event)
    one = await priced.cost("anthropic/claude-sonnet-5-5", SPENT)
    assert one
    expected = None if replies is None else pytest.approx(replies * one + samples)
    assert await priced.total(label, report) == expected


def test_the_table_is_loaded_by_the_first_question_only() -> None:
    program = "import sys, agent.host.sampling.sampling; print('genai_prices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout == "False\n"
