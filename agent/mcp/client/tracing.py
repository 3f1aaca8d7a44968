"""The trace context of whoever calls, passed on in `_meta` (sections "General fields" and W3C "Trace Context")."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

TraceContext = Callable[[], Mapping[str, str]]
"""Asked for each request: `traceparent`, `tracestate` and `baggage`, as far as there are any."""

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def passed_on(context: Mapping[str, str]) -> dict[str, str]:
    """What of it may be sent: without a valid parent there is no state of it either."""
    parent = context.get("traceparent", "")
    names = ("traceparent", "tracestate", "baggage") if _TRACEPARENT.fullmatch(parent) else ("baggage",)
    return {name: context[name] for name in names if context.get(name)}
