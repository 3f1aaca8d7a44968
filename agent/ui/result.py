"""The result object that a scripted run always ends with."""

from __future__ import annotations

from typing import Any

from agent.chat.messages import Stop, Usage
from agent.chat.report import Report, SampleRecord
from agent.ui.jsonl import record


def result_object(report: Report, seconds: float, cost: float | None = None) -> dict[str, Any]:
    """Every key is always present. A run without an end of its turn counts as interrupted.

    `cost` is the total in US dollars, if known. `data` is an answer that was validated against a
    schema, `session` the name of a saved conversation: each null for a run without it.
    """
    return {
        "type": "result",
        "text": report.text,
        "data": None,
        "stop": report.stop or Stop.INTERRUPTED,
        "error": _error(report),
        "model": report.model,
        "usage": _usage(report.usage, cost),
        "tool_calls": [_plain(call) for call in report.tool_calls],
        "samples": [_sample(sample) for sample in report.samples],
        "questions": [_plain(question) for question in report.questions],
        "denied": [_plain(denial) for denial in report.denied],
        "session": None,
        "seconds": round(seconds, 3),
    }


def _error(report: Report) -> dict[str, str] | None:
    if report.error is None:
        return None
    return {"kind": report.error_kind or "error", "message": report.error}


def _sample(sample: SampleRecord) -> dict[str, Any]:
    return {
        "server": sample.server,
        "model": sample.model,
        "usage": _usage(sample.usage, sample.cost),
        "verdict": sample.verdict,
    }


def _usage(usage: Usage | None, cost: float | None) -> dict[str, float | None] | None:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost": cost,
    }


def _plain(item: Any) -> dict[str, Any]:
    """Values without their `type`: each of these lists has items of one type only, which the key tells."""
    return {key: value for key, value in record(item).items() if key != "type"}
