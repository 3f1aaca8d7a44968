"""Servers as short programs of the standard library, each with one bad habit."""

from __future__ import annotations

import sys
import textwrap

GOOD = """
import json, os, signal, sys, time
def say(message):
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0"} | message, ensure_ascii=False).encode() + b"\\n")
    sys.stdout.buffer.flush()
def serve(call):
    for line in sys.stdin.buffer:
        m = json.loads(line)
        if m.get("method") == "initialize":
            say({"id": m["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "program", "version": "0"}}})
        elif m.get("method") == "ping":
            say({"id": m["id"], "result": {}})
        elif m.get("method") == "tools/call":
            call(m["id"], m["params"]["arguments"])
        elif "id" in m:
            say({"id": m["id"], "error": {"code": -32601, "message": "unknown method"}})
def echo(id, arguments):
    say({"id": id, "result": {"content": [{"type": "text", "text": arguments.get("text", "")}]}})
"""


def program(code: str) -> list[str]:
    """A command that runs `code`, in which `say`, `serve(call)` and `echo(id, arguments)` are defined."""
    return [sys.executable, "-c", GOOD + textwrap.dedent(code)]
