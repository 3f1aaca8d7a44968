"""The trace context of the caller, passed on in `_meta` (section "General fields"; W3C "Trace Context")."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

TraceContext = Callable[[], Mapping[str, str]]
"""Called for each request; gives `traceparent`, `tracestate` and `baggage`, where present."""

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def passed_on(context: Mapping[str, str]) -> dict[str, str]:
    """The members that may be sent: `tracestate` only with a valid `traceparent`."""
    parent = context.get("traceparent", "")
    names = ("traceparent", "tracestate", "baggage") if _TRACEPARENT.fullmatch(parent) else ("baggage",)
    return {name: context[name] for name in names if context.get(name)}
