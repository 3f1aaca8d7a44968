"""The same in the revision of 2025-11-25, whose tasks were another thing. Standard library only."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

TASK = {"taskId": "t1", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 60000}
WORKING = TASK | {"status": "working", "statusMessage": "on the way", "pollInterval": 50}
WALK = {"name": "walk", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}
CAPABILITIES = {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            info = {"name": "guide", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": info}
        case "tools/list":
            return {"tools": [WALK]}
        case "tools/call":
            return {"task": WORKING} if "task" in params else None
        case "tasks/get":
            return WORKING
        case "tasks/cancel":
            Path(os.environ["LOG"]).write_text("cancelled")
            return TASK | {"status": "cancelled"}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        outcome = {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)
