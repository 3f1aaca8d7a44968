"""Converts a server's log message to a notice (specification, server/utilities/logging)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent.chat.events import Noticed


def logged(server: str, params: Mapping[str, Any]) -> Noticed:
    """The notice for one `notifications/message`, whatever its params contain."""
    data, logger, level = params.get("data"), params.get("logger"), params.get("level")
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    said = f"{logger}: {text}" if isinstance(logger, str) and logger else text
    return Noticed(server, level if isinstance(level, str) else "info", said)
