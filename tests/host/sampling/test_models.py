"""Which model a server gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.host.config.config import Config, ConfigError
from agent.host.sampling.models import RATINGS, Preferences, choose_model
from agent.providers.registry import ProviderConfig
from tests.host.scene import configure

CLAUDE = "anthropic/claude-sonnet-5-5"
LOCAL = ProviderConfig("local", "openai", base_url="http://127.0.0.1:1/v1")
OWN = "the chat's own model"


def having(**sampling: str) -> Config:
    models = {"small": "local/qwen3", "broken": "nowhere/x"}
    config = configure(sampling={"models": sampling}, models=models)
    return replace(config, providers={**config.providers, "local": LOCAL})


def hinted(*hints: str, current: str = CLAUDE, **sampling: str) -> tuple[str, str]:
    return choose_model(Preferences(hints), having(**sampling), current)


@pytest.mark.parametrize(
    ("hints", "model"),
    [
        (("haiku",), "anthropic/claude-haiku-5-5"),
        (("claude-opus",), "anthropic/claude-opus-5-5"),
        (("CLAUDE-Haiku-5",), "anthropic/claude-haiku-5-5"),
        (("claude-3-5-haiku-latest",), "anthropic/claude-haiku-5-5"),
        (("claude",), CLAUDE),
        (("qwen",), "local/qwen3"),
        (("gemini", "opus"), "anthropic/claude-opus-5-5"),
    ],
)
def test_the_first_hint_that_fits_a_model_decides(hints: tuple[str, ...], model: str) -> None:
    assert hinted(*hints)[0] == model


def test_the_person_s_own_table_comes_before_any_name() -> None:
    assert hinted("Claude-Haiku-9", haiku="small") == ("local/qwen3", "it hints at 'Claude-Haiku-9'")
    assert hinted("gpt-6-luna", **{"gpt": "openai/gpt-6-luna"})[0] == "openai/gpt-6-luna"


def test_no_hint_leads_to_a_company_that_the_person_has_not_chosen() -> None:
    assert hinted("gpt-6-luna") == (CLAUDE, OWN)
    assert hinted("haiku", current="local/qwen3") == ("local/qwen3", OWN)
    assert hinted("haiku", current="mock/demo") == ("mock/demo", OWN)


def test_a_model_of_the_table_that_cannot_be_used_is_said() -> None:
    with pytest.raises(ConfigError, match="there is no provider 'nowhere'"):
        hinted("haiku", haiku="broken")


@pytest.mark.parametrize(
    ("preferences", "model", "why"),
    [
        (Preferences(cost=0.9), "anthropic/claude-haiku-5-5", "it wants a cheap model"),
        (Preferences(speed=1.0, cost=1.0), "anthropic/claude-haiku-5-5", "it wants a cheap model and a fast model"),
        (Preferences(intelligence=0.8), "anthropic/claude-fable-5-2", "it wants an intelligent model"),
        (Preferences(), CLAUDE, OWN),
        (Preferences(("no-such",), intelligence=1.0), "anthropic/claude-fable-5-2", "it wants an intelligent model"),
        (Preferences(("haiku",), intelligence=1.0), "anthropic/claude-haiku-5-5", "it hints at 'haiku'"),
    ],
)
def test_priorities_decide_where_no_hint_does(preferences: Preferences, model: str, why: str) -> None:
    assert choose_model(preferences, having(), CLAUDE) == (model, why)


def test_a_model_that_nobody_rated_is_not_left_for_one_that_is() -> None:
    assert choose_model(Preferences(intelligence=1.0), having(), "local/qwen3") == ("local/qwen3", OWN)


@pytest.mark.parametrize(
    ("model", "preferences", "chosen"),
    [
        ("gate/claude-sonnet-4-5", Preferences(cost=1.0), "gate/claude-haiku-4-5"),
        ("gate/claude-sonnet-4-5", Preferences(intelligence=1.0), "gate/anthropic/claude-opus-5-5"),
        ("gate/anthropic/claude-opus-5-5", Preferences(speed=1.0), "gate/claude-haiku-4-5"),
        ("gate/qwen3", Preferences(cost=1.0), "gate/qwen3"),
    ],
)
def test_models_behind_a_gateway_are_rated_by_their_names(model: str, preferences: Preferences, chosen: str) -> None:
    models = {"a": "gate/claude-haiku-4-5", "b": "gate/claude-sonnet-4-5", "c": "gate/anthropic/claude-opus-5-5"}
    config = configure(models=models)
    gate = ProviderConfig("gate", "openai", base_url="https://gateway.example/v1")
    config = replace(config, providers={**config.providers, "gate": gate})
    assert choose_model(preferences, config, model)[0] == chosen


def test_no_model_behind_a_gateway_is_taken_that_nobody_configured() -> None:
    config = configure()
    gate = ProviderConfig("gate", "anthropic", base_url="https://gateway.example")
    config = replace(config, providers={**config.providers, "gate": gate})
    current = "gate/claude-sonnet-5-5"
    assert choose_model(Preferences(("haiku",), cost=1.0), config, current) == (current, OWN)


def test_every_rating_is_between_nothing_and_one() -> None:
    ratings = [rating for models in RATINGS.values() for rating in models.values()]
    assert all(0 <= value <= 1 for one in ratings for value in (one.cost, one.speed, one.intelligence))


def test_a_long_hint_is_told_in_part() -> None:
    hint = "haiku " + "x" * 1_000
    assert hinted(hint) == ("anthropic/claude-haiku-5-5", f"it hints at {hint[:40]!r}")
