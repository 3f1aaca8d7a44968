"""A minimal client as lower bound: the orders of `orders`, sequential ones only. `raw_client ERA COMMAND…`"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import IO


def main() -> None:
    server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin
    assert server.stdout
    echo = partial(_echo, server.stdin, server.stdout, count(1))
    for line in sys.stdin:
        seconds = [echo() for _ in range(json.loads(line)["times"])]
        sys.stdout.write(json.dumps(seconds) + "\n")
        sys.stdout.flush()
    server.stdin.close()
    server.wait()


def _echo(to_server: IO[bytes], from_server: IO[bytes], ids: Iterator[int]) -> float:
    started = time.perf_counter()
    params = {"name": "echo", "arguments": {"message": "hello"}}
    request = {"jsonrpc": "2.0", "id": next(ids), "method": "tools/call", "params": params}
    to_server.write(json.dumps(request).encode() + b"\n")
    to_server.flush()
    answer = json.loads(from_server.readline())
    assert answer["result"]["content"][0]["text"] == "hello"
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
