"""Runs the official conformance suite against our server and our client: `make conformance`, or

    python -m tests.conformance.run [server | client | auth | host]

It needs npm. Node 24 and the versions of the suite are installed once, into a cache folder that
MCP_CONFORMANCE_HOME may name. The exit status is 0 if every run had checks and none of them failed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from platformdirs import user_cache_path

from tests.conformance.scenarios import CLIENT, HOST, SERVER, SIGNING_IN

COMPLAINTS = ("FAILURE", "WARNING")
NODE = "node@24"
SUITE = "@modelcontextprotocol/conformance"
RUN_SECONDS, SCENARIO_SECONDS, INSTALL_SECONDS = 300, 90, 300
EXAMINED = {"client": CLIENT, "auth": SIGNING_IN, "host": HOST}


@dataclass(frozen=True)
class Outcome:
    """What came of one run: its checks by status, in words those that did not succeed, and the suite's exit status."""

    name: str
    statuses: Counter[str]
    complaints: list[str]
    exit_status: int

    @property
    def passed(self) -> bool:
        return self.exit_status == 0 and not self.statuses["FAILURE"] and self.statuses["SUCCESS"] > 0

    def shown(self) -> str:
        counts = "  ".join(f"{self.statuses[name]:>4} {name.lower()}" for name in ("SUCCESS", *COMPLAINTS, "SKIPPED"))
        line = f"{'passed' if self.passed else 'FAILED':8}{self.name:72}{counts}"
        return "\n        ".join([line, *self.complaints])


class Suite:
    """One version of the suite, installed."""

    def __init__(self, version: str) -> None:
        home = Path(os.environ.get("MCP_CONFORMANCE_HOME") or user_cache_path("mcp-conformance"))
        node, suite = home / NODE, home / version
        install(node, NODE)
        install(suite, f"{SUITE}@{version}")
        self.version = version
        self._command = [str(node / "node_modules/.bin/node"), str(suite / "node_modules" / SUITE / "dist/index.js")]

    def run(self, name: str, arguments: Sequence[str], seconds: float) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            command = [*self._command, *arguments, "-o", folder]
            try:
                done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
                status = done.returncode
            except subprocess.TimeoutExpired:
                status = -1
            checks = [check for path in sorted(Path(folder).rglob("checks.json")) for check in read(path)]
        complaints = [described(check) for check in checks if check["status"] in COMPLAINTS]
        return Outcome(f"{self.version} {name}", Counter(check["status"] for check in checks), complaints, status)


def install(folder: Path, package: str) -> None:
    """Raises SystemExit where there is no npm, or it fails."""
    if (folder / "node_modules").is_dir():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("The conformance suite needs npm, which comes with Node.js; install it and run this again.")
    print(f"Installing {package} into {folder} (once)…", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), package]
    if subprocess.run(command, timeout=INSTALL_SECONDS, check=False).returncode:
        shutil.rmtree(folder / "node_modules", ignore_errors=True)
        raise SystemExit(f"npm could not install {package}; see above.")


def read(path: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    return [{"scenario": path.parent.name, **check} for check in found]


def described(check: dict[str, str]) -> str:
    words = check.get("errorMessage") or check.get("description") or ""
    return f"{check['status'].lower()} in {check['scenario']}: {check['id']}: {words[:200]}"


@contextmanager
def serving() -> Iterator[str]:
    """Our server as a process of its own; gives its URL."""
    command = [sys.executable, "-m", "tests.conformance.server", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().strip()
        finally:
            process.terminate()


def server_runs() -> Iterator[Outcome]:
    for version, arguments in SERVER:
        with serving() as url:
            name = " ".join(["server", *arguments])
            yield Suite(version).run(name, ["server", "--url", url, *arguments], RUN_SECONDS)


def client_runs(part: str) -> Iterator[Outcome]:
    module = "tests.conformance.host_client" if part == "host" else "tests.conformance.client"
    for version, names in EXAMINED[part].items():
        suite = Suite(version)
        for name in names:
            arguments = ["client", "--command", f"{sys.executable} -m {module}", "--scenario", name]
            yield suite.run(f"{part} {name}", arguments, SCENARIO_SECONDS)


def main(arguments: Sequence[str]) -> int:
    parts = {"server": server_runs, **{part: partial(client_runs, part) for part in EXAMINED}}
    wanted = list(arguments) or list(parts)
    if not parts.keys() >= set(wanted):
        print(__doc__, file=sys.stderr)
        return 2
    failed = 0
    for part in wanted:
        for outcome in parts[part]():
            print(outcome.shown(), flush=True)
            failed += not outcome.passed
    print(f"{failed} of the runs failed." if failed else "All runs passed.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
