"""Servers at a URL on the command line: listed, called, answered with, and their faults on stderr."""

from __future__ import annotations

import json
from pathlib import Path

from tests.ui.runs import start

GONE = "http://127.0.0.1:9/mcp?key=hush-hush"
SENTENCE = "far: The server at http://127.0.0.1:9/mcp?key=… refused the connection; is it running?\n"


def test_a_server_is_seen_and_called_at_its_url(tmp_path: Path, url: str) -> None:
    done = start(["-s", f"far={url}", "servers"], tmp_path)
    assert (done.code, done.out.partition(" ms")[0].rpartition(", ")[0]) == (0, "far: ready, http, 2026-07-28")
    done = start(["-s", url, "call", "add", "a=3", "b=5"], tmp_path)
    assert (done.code, done.out, done.err) == (0, "8\n", "")
    done = start(["-s", f"far={url}", "-m", "mock/demo", "-y", "-p", "add 3 and 5", "-o", "json"], tmp_path)
    assert [(call["server"], call["tool"]) for call in done.result["tool_calls"]] == [("far", "add")]


def test_one_revision_may_be_demanded_and_headers_may_hold_a_secret(tmp_path: Path, url: str) -> None:
    (tmp_path / "c.toml").write_text(
        f'[servers.far]\nurl = "{url}"\nprotocol = "2025-06-18"\nheaders = {{ Authorization = "Bearer ${{TOKEN}}" }}\n'
    )
    trace = tmp_path / "t.jsonl"
    done = start(
        ["-c", "c.toml", "--trace", "t.jsonl", "call", "echo", "message=tok-12345"], tmp_path, TOKEN="tok-12345"
    )
    assert (done.code, done.out) == (0, "tok-12345\n")
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert lines[0]["message"]["params"]["protocolVersion"] == "2025-06-18"
    assert lines[-1]["message"]["result"]["content"] == [{"type": "text", "text": "***"}]
    assert lines[-1]["latency"] > 0


def test_a_server_that_is_not_there_is_told_by_its_name_in_every_kind_of_run(tmp_path: Path) -> None:
    done = start(["-s", f"far={GONE}", "servers"], tmp_path)
    assert (done.code, done.err, done.out) == (1, "", f"far: failed, http\n  {SENTENCE.removeprefix('far: ')}")
    [view] = json.loads(start(["-s", f"far={GONE}", "servers", "--json"], tmp_path).out)
    assert (view["state"], view["transport"], f"far: {view['detail']}\n") == ("failed", "http", SENTENCE)
    done = start(["-s", f"far={GONE}", "-m", "mock/demo", "-p", "hello"], tmp_path)
    assert (done.code, done.err) == (0, SENTENCE)
    (tmp_path / "c.toml").write_text(f'[servers.far]\nurl = "{GONE}"\nrequired = true\n')
    done = start(["-c", "c.toml", "-m", "mock/demo", "-p", "hello"], tmp_path)
    assert (done.code, done.out) == (3, "")
    assert "The server far is required, but failed: " in done.err
    assert "hush" not in done.err


def test_a_trace_that_cannot_be_written_is_a_fault_of_the_command_line(tmp_path: Path) -> None:
    done = start(["--trace", "no/where.jsonl", "servers"], tmp_path)
    said = f"--trace {tmp_path / 'no/where.jsonl'}: the file cannot be written: No such file or directory.\n"
    assert (done.code, done.out, done.err) == (2, "", said)
