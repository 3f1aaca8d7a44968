"""A server of a few lines that misbehaves as its argument says. Standard library only."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

HOW = sys.argv[1] if len(sys.argv) > 1 else "well"


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def initialize(request: dict[str, Any]) -> None:
    if HOW == "refuse":
        send(id=request["id"], error={"code": -32000, "message": "not today"})
        return
    if HOW == "garbage":
        print("hello to you too", flush=True)
        return
    if HOW == "nonsense":
        send(id=request["id"], result={"protocolVersion": "1999-01-01"})
        return
    capabilities: dict[str, Any] = {"tools": {}}
    if HOW == "boast":
        capabilities |= {"prompts": {}, "resources": {}}
    info = {"name": "fragile", "version": "1"}
    send(id=request["id"], result={"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info})


def call(request: dict[str, Any]) -> None:
    arguments = request["params"].get("arguments") or {}
    match request["params"]["name"]:
        case "exit":
            print("boom", file=sys.stderr, flush=True)
            sys.exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            return
        case "error":
            send(id=request["id"], error={"code": -32000, "message": "Tool failed", "data": {"why": "upstream"}})
        case name:
            send(id=request["id"], result={"content": [{"type": "text", "text": f"{name} {json.dumps(arguments)}"}]})


def begin() -> None:
    match HOW:
        case "die":
            print("cannot find my config", file=sys.stderr)
            sys.exit(2)
        case "noise":
            print("Welcome to fragile 1.0!", flush=True)
        case "program":
            print("usage: program FILE", flush=True)
            sys.exit(1)
        case "flood":
            sys.stderr.write("x" * 1_000_000)
        case "silent":
            print("I am still thinking", file=sys.stderr, flush=True)
            time.sleep(60)


def main() -> None:
    begin()
    for line in sys.stdin:
        request = json.loads(line)
        match request["method"]:
            case "server/discover" if HOW == "no probe":
                sys.exit(5)
            case "initialize":
                initialize(request)
            case "notifications/initialized" if HOW == "die later":
                sys.exit(4)
            case "tools/list" if HOW == "no list":
                send(id=request["id"], error={"code": -32603, "message": "database is locked"})
            case "tools/list":
                tools = [{"name": name, "inputSchema": {}} for name in ("echo", "exit", "kill", "hang", "error")]
                if HOW == "odd names":
                    tools = [{"name": "größe: a/b.c 🎉", "inputSchema": {}}, {"name": "", "inputSchema": {}}]
                if HOW == "bad tool":
                    tools.insert(1, {"name": 3})
                send(id=request["id"], result={"tools": tools})
            case "tools/call":
                call(request)
            case method if "id" in request:
                send(id=request["id"], error={"code": -32601, "message": f"no {method}"})


main()
