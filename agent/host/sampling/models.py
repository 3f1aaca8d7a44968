"""Chooses the model for a sampling request: by its hints first, then by its priorities.

Only models in the configuration are used, and the known models of the chat's own provider, so that a server's text is
never sent to a company that the person has not chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.host.config.config import Config
from agent.host.config.errors import ConfigError
from agent.host.model_choice import resolve_label
from agent.providers.registry import ProviderConfig


@dataclass(frozen=True, slots=True)
class Preferences:
    """A server's preferences (section "Sampling, Model Preferences"). Priorities are from 0 to 1."""

    hints: tuple[str, ...] = ()
    cost: float = 0.0
    speed: float = 0.0
    intelligence: float = 0.0


@dataclass(frozen=True, slots=True)
class Rating:
    """How cheap, fast and intelligent a model is, relative to others: from 0 to 1, estimated."""

    cost: float
    speed: float
    intelligence: float


RATINGS: Mapping[str, Mapping[str, Rating]] = {
    "openai": {
        "gpt-6-astra": Rating(0.1, 0.3, 1.0),
        "gpt-6.1-sol": Rating(0.5, 0.5, 0.85),
        "gpt-6.1-terra": Rating(0.65, 0.7, 0.75),
        "gpt-6-luna": Rating(1.0, 1.0, 0.5),
    },
    "anthropic": {
        "claude-fable-5-2": Rating(0.15, 0.3, 1.0),
        "claude-opus-5-5": Rating(0.3, 0.4, 0.9),
        "claude-sonnet-5-5": Rating(0.5, 0.65, 0.8),
        "claude-haiku-5-5": Rating(1.0, 1.0, 0.55),
    },
}

_MAKERS = frozenset({"anthropic", "claude", "google", "latest", "meta", "mistral", "model", "openai", "preview"})
"""Words that occur in the names of many models."""


def choose_model(preferences: Preferences, config: Config, current: str) -> tuple[str, str]:
    """PROVIDER/MODEL, and why it was chosen. `current` is the chat's own.

    Raises:
        ConfigError: `[sampling.models]` names a model that cannot be used.
    """
    candidates = list(dict.fromkeys([current, *_configured(config), *_siblings(config, current)]))
    for hint in preferences.hints:
        if mapped := _mapped(hint, config.settings.sampling.models):
            return resolve_label(mapped, config.settings.models, config.providers), _because(hint)
        if found := _hinted(hint, candidates):
            return found, _because(hint)
    best = _preferred(preferences, config, candidates)
    if best is None or best == current:
        return current, "the chat's own model"
    return best, f"it wants {_wishes(preferences)}"


def _because(hint: str) -> str:
    return f"it hints at {hint[:40]!r}"


def _mapped(hint: str, models: Mapping[str, str]) -> str | None:
    return next((label for part, label in models.items() if part.lower() in hint.lower()), None)


def _hinted(hint: str, candidates: list[str]) -> str | None:
    """The first whose name contains the hint; else one that shares a distinctive word: "haiku", "opus"."""
    exact = (label for label in candidates if hint.lower() in label.partition("/")[2].lower())
    words = {word for word in _words(hint) if len(word) > 3} - _MAKERS
    alike = (label for label in candidates if words & set(_words(label.partition("/")[2])))
    return next(exact, None) or next(alike, None)


def _words(name: str) -> list[str]:
    return re.findall("[a-z]+", name.lower())


def _preferred(preferences: Preferences, config: Config, candidates: list[str]) -> str | None:
    """The best match, if the chat's own model has a rating; of equals the first."""
    rated = {label: rating for label in candidates if (rating := _rating(label, config))}
    if candidates[0] not in rated or not (preferences.cost or preferences.speed or preferences.intelligence):
        return None
    return max(rated, key=lambda label: _score(rated[label], preferences))


def _score(rating: Rating, wanted: Preferences) -> float:
    return rating.cost * wanted.cost + rating.speed * wanted.speed + rating.intelligence * wanted.intelligence


def _rating(label: str, config: Config) -> Rating | None:
    """By the words of its name, so that other releases of a known model, and models behind a gateway, are rated too."""
    name, _, model = label.partition("/")
    provider = config.providers.get(name)
    if not isinstance(provider, ProviderConfig) or provider.kind == "mock":
        return None
    makers = [RATINGS[provider.kind]] if provider.is_official else RATINGS.values()
    known = {part: rating for models in makers for part, rating in models.items()}
    said = set(_words(model))
    exact = next((known[part] for part in known if model.rpartition("/")[2].startswith(part)), None)
    return exact or next((rating for part, rating in known.items() if said.issuperset(_words(part))), None)


def _known(name: str, config: Config) -> Mapping[str, Rating]:
    """The rated models that the provider of this name is sure to have."""
    provider = config.providers.get(name)
    if not isinstance(provider, ProviderConfig) or provider.kind not in RATINGS or not provider.is_official:
        return {}
    return RATINGS[provider.kind]


def _configured(config: Config) -> Iterator[str]:
    for label in (*config.settings.models, *config.settings.sampling.models.values()):
        try:
            yield resolve_label(label, config.settings.models, config.providers)
        except ConfigError:
            continue


def _siblings(config: Config, current: str) -> Iterator[str]:
    name = current.partition("/")[0]
    yield from (f"{name}/{model}" for model in _known(name, config))


def _wishes(preferences: Preferences) -> str:
    ranked = {
        "a cheap model": preferences.cost,
        "a fast model": preferences.speed,
        "an intelligent model": preferences.intelligence,
    }
    highest = max(ranked.values())
    return " and ".join(wish for wish, priority in ranked.items() if priority == highest)
