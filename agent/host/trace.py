"""Every message exchanged with every server: JSON lines in a file for programs, short lines for people."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pydantic_core import from_json, to_json

from agent.chat.events import Noticed
from agent.chat.outbox import Outbox
from agent.host.config.errors import ConfigError
from agent.mcp.envelope import Closed, ConnectionLost, Envelope, Garbled
from agent.mcp.jsonrpc import Failure, Message, Notification, Request, RequestId, Result, encode
from agent.providers.registry import SHORTEST_SECRET

Direction = Literal["sent", "received"]
Tap = Callable[[Direction, object], None]
"""Called with each item of one connection: an Envelope, a Closed, a Garbled or a ConnectionLost."""

KEPT = 200  # most recent messages, kept for display
UNANSWERED = 1_000  # requests of one connection whose start time is kept
LETTERS, ITEMS, DEPTH = 120, 8, 5  # of a value, in a line for people
LINE = 600  # maximum characters of all values in a line
OTHER: Mapping[Direction, Direction] = {"sent": "received", "received": "sent"}


class Trace:
    """`shown`: whether each message is also shown to the person at once. The file is written line by line.

    Raises:
        ConfigError: the file cannot be written.
    """

    def __init__(self, outbox: Outbox, secrets: Iterable[str], path: Path | None = None) -> None:
        self.shown = False
        self._outbox = outbox
        self._secrets = _as_written(secrets)
        self._last: deque[str] = deque(maxlen=KEPT)
        self._file = _open(path) if path else None

    def tap(self, server: str) -> Tap:
        """The callback for one connection of `server`, to be used from its beginning to its end."""
        asked: dict[tuple[Direction, RequestId], float] = {}

        def passed(direction: Direction, item: object) -> None:
            if isinstance(item, Envelope):
                for message in item.messages:
                    self._message(server, direction, message, _latency(asked, direction, message))
            elif isinstance(item, Garbled | Closed | ConnectionLost):
                self._oddity(server, item)

        return passed

    def last(self, count: int) -> list[str]:
        """The last messages, as lines for people."""
        return list(self._last)[-count:] if count else []

    def hide(self, secrets: Iterable[str]) -> None:
        """Mask these secrets, too, from now on."""
        self._secrets = sorted({*self._secrets, *_as_written(secrets)}, key=len, reverse=True)

    def close(self) -> None:
        file, self._file = self._file, None
        if file:
            with suppress(OSError):  # writing has failed before
                file.close()

    def _message(self, server: str, direction: Direction, message: Message, latency: float | None) -> None:
        if self._file:
            tail = b"" if latency is None else b',"latency":%.6f' % latency
            self._write(_head(server, direction) + b',"message":' + encode(message) + tail + b"}")
        took = "" if latency is None else f" {latency * 1000:.1f} ms"
        self._tell(server, f"{'→' if direction == 'sent' else '←'} {_line(message)}{took}")

    def _oddity(self, server: str, item: Garbled | Closed | ConnectionLost) -> None:
        """Record an item that is not a message, but explains why none arrived."""
        match item:
            case Garbled(reason=reason, excerpt=excerpt):
                seen: dict[str, Any] = {"garbled": excerpt, "reason": reason}
            case Closed(about, error):
                seen = {"closed": about, "reason": str(error) if error else None}
            case _:
                seen = {"lost": str(item)}
        if self._file:
            self._write(_head(server, "received") + b"," + _written(seen).encode("utf-8", "replace")[1:])
        self._tell(server, f"← {_written(brief(seen))}")

    def _tell(self, server: str, line: str) -> None:
        line = self._mask(line)
        self._last.append(f"{server}: {line}")
        if self.shown:
            self._outbox.emit(Noticed(server, "notice", line))

    def _write(self, line: bytes) -> None:
        if any(secret.encode() in line for secret in self._secrets):
            line = to_json(self._masked(from_json(line)))  # only within strings, so that the result is valid JSON
        assert self._file
        try:
            self._file.write(line + b"\n")
            self._file.flush()
        except OSError as error:
            self.close()
            self._outbox.emit(Noticed("", "warning", f"The trace ends here: it cannot be written ({error.strerror})."))

    def _mask(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _masked(self, value: Any) -> Any:
        match value:
            case str():
                return self._mask(value)
            case dict():
                return {self._mask(key): self._masked(item) for key, item in value.items()}
            case list():
                return [self._masked(item) for item in value]
        return value


def brief(value: Any, depth: int = DEPTH) -> Any:
    """A JSON value shortened for display; of a large value only a small part is processed."""
    if isinstance(value, str):
        return value if len(value) <= LETTERS else f"{value[:LETTERS]}… ({len(value):,} characters)"
    if isinstance(value, dict):
        shown = {key: brief(value[key], depth - 1) for key in list(value)[:ITEMS]} if depth else {}
        return shown | ({"…": f"{len(value) - len(shown)} more"} if len(value) > len(shown) else {})
    if isinstance(value, list | tuple):
        items = [brief(item, depth - 1) for item in value[:ITEMS]] if depth else []
        return items + ([f"… {len(value) - len(items)} more"] if len(value) > len(items) else [])
    return value


def _line(message: Message) -> str:
    match message:
        case Request(id, method, params):
            return f"{method} ({id}){_told(params)}"
        case Notification(method, params):
            return f"{method}{_told(params)}"
        case Result(id, value):
            return f"result ({id}){_told(value)}"
        case Failure(id, code, text, data):
            return f"error ({id}) {code} {brief(text)}{_told(data)}"


def _told(value: Any) -> str:
    if value is None:
        return ""
    line = _written(brief(_without_envelope(value)))
    return f" {line}" if len(line) <= LINE else f" {line[:LINE]}…"


def _without_envelope(value: Any) -> Any:
    """The params without what newer revisions repeat in every message."""
    meta = value.get("_meta") if isinstance(value, dict) else None
    if not isinstance(meta, dict):
        return value
    kept = {key: item for key, item in meta.items() if not key.startswith("io.modelcontextprotocol/")}
    rest = {key: item for key, item in value.items() if key != "_meta"}
    return rest | {"_meta": kept} if kept else rest


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _latency(asked: dict[tuple[Direction, RequestId], float], direction: Direction, message: Message) -> float | None:
    """Seconds from the request, sent in the other direction, to this response."""
    if isinstance(message, Request):
        while len(asked) >= UNANSWERED:
            del asked[next(iter(asked))]
        asked[direction, message.id] = time.monotonic()
    elif isinstance(message, Result | Failure) and message.id is not None:
        began = asked.pop((OTHER[direction], message.id), None)
        return None if began is None else time.monotonic() - began
    return None


def _head(server: str, direction: Direction) -> bytes:
    return to_json({"time": round(time.time(), 6), "direction": direction, "server": server})[:-1]


def _as_written(secrets: Iterable[str]) -> list[str]:
    """Each secret as it is and in JSON encoding; the longest first, as one may be a part of another."""
    long = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
    return sorted({*long, *(_written(secret)[1:-1] for secret in long)}, key=len, reverse=True)


def _open(path: Path) -> BinaryIO:
    """Create or open the file, readable for its owner only."""
    try:
        return open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))
    except OSError as error:
        raise ConfigError(f"--trace {path}: the file cannot be written: {error.strerror}.") from error
