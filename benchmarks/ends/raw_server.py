"""A minimal server as lower bound: one JSON line in, one JSON line out, with the standard library alone."""

from __future__ import annotations

import json
import sys


def main() -> None:
    for line in sys.stdin.buffer:
        request = json.loads(line)
        content = [{"type": "text", "text": request["params"]["arguments"]["message"]}]
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": {"content": content}}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
