"""A log of the servers' sampling requests: one line each with time, server, model, the step it ended at and how."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from agent.chat.events import Event, QuestionSettled, SampleFinished
from agent.chat.questions import ApproveSampling, ReviewSample
from agent.host.sampling.edits import BY_HAND
from agent.ui.lines import dollars

_STEPS: dict[type[Any], str] = {ApproveSampling: "request", ReviewSample: "reply"}
_REFUSED: dict[Any, str] = {"decline": "you refused the", "cancel": "you cancelled the"}


@dataclass(frozen=True, slots=True)
class Sampled:
    """`at`: seconds since the epoch. `stopped_by`: the limit or policy that stopped it. `step`: what was refused."""

    event: SampleFinished
    at: float
    step: str = ""
    stopped_by: str = ""

    @property
    def line(self) -> str:
        event, clock = self.event, time.strftime("%H:%M:%S", time.localtime(self.at))
        spent = f"{event.usage.input_tokens:,} + {event.usage.output_tokens:,} tokens" if event.usage else "no tokens"
        cost = "–" if event.cost is None else dollars(event.cost)
        asked = "you" if event.model == BY_HAND else event.model
        return f"◇ {clock} {event.server} asked {asked}: {self._outcome}, {spent}, {cost}"

    @property
    def _outcome(self) -> str:
        if self.stopped_by:
            return f"stopped at the request ({self.stopped_by.rstrip('.')})"
        if self.event.verdict == "accept":
            return "answered"
        return f"{_REFUSED[self.event.verdict]} {self.step}" if self.event.verdict in _REFUSED else "failed"


def sample_lines(samples: list[Sampled]) -> list[str]:
    """A line for each request; consecutive requests stopped by the same limit share one."""
    lines = []
    for _, group in groupby(enumerate(samples), key=_alike):
        (_, first), *more = group
        lines.append(first.line + (f" (and {len(more)} more like it)" if more else ""))
    return lines


def _alike(numbered: tuple[int, Sampled]) -> object:
    number, one = numbered
    return (one.event.server, one.event.model, one.stopped_by) if one.stopped_by else number


def sampled(event: SampleFinished, before: Event | None, at: float) -> Sampled:
    """`before` is the event right before: a settled question that was not accepted is why the request ended."""
    if event.verdict == "limit":
        return Sampled(event, at, "request", event.why)
    if not isinstance(before, QuestionSettled) or type(before.question) not in _STEPS or event.verdict == "accept":
        return Sampled(event, at, "request")
    if before.by == "policy" and before.verdict != "accept":
        return Sampled(event, at, "request", before.why)
    return Sampled(event, at, _STEPS[type(before.question)])
