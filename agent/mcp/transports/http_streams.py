"""The messages of one event stream, over all the connections on which it is resumed, with no I/O."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from agent.mcp.envelope import Envelope, Garbled, garbled
from agent.mcp.exchange import answers, attributed
from agent.mcp.framing import read_line
from agent.mcp.jsonrpc import INVALID_REQUEST, RequestId
from agent.mcp.sse import Event, EventReader, Overlong

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0  # before connecting again, where the server does not say
LONGEST_RETRY_SECONDS = 30.0  # after many failures
LONGEST_POSTPONED_SECONDS = 300.0  # at most, where an unavailable server sends `Retry-After`


def is_temporary(status: int) -> bool:
    """Whether the same request may succeed later: timeout, too many requests, or a fault of the server's."""
    return status in (408, 429) or (status >= 500 and status != 501)


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """The seconds that `Retry-After` asks for, as a number or a date (RFC 9110, 10.2.3). `now` is a Unix time."""
    said = headers.get("retry-after", "").strip()
    try:
        seconds = float(said) if said.isdecimal() else parsedate_to_datetime(said).timestamp() - now
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, min(seconds, LONGEST_POSTPONED_SECONDS))


class Incoming:
    """The state of one stream. `about` is the request it belongs to; None for the standalone stream.

    `answered` says that the response has arrived, `last_id` is the event to resume after. `endpoint` is the URL to POST
    messages to, if a server of HTTP+SSE sent one.
    """

    def __init__(self, about: RequestId | None, limit: int) -> None:
        self.about, self.answered = about, False
        self.endpoint: str | None = None
        self._reader, self._limit = EventReader(limit), limit
        self._repeated: str | None = None
        self._came = False
        self._failures = 0
        self._postponed = 0.0

    @property
    def last_id(self) -> str | None:
        return self._reader.last_id

    def connected(self) -> None:
        """A new connection, on which the server may repeat the last event: it cannot know whether that arrived."""
        self._reader.reconnected()
        self._repeated = self.last_id
        self._came = False
        self._postponed = 0.0

    def postpone(self, seconds: float) -> None:
        """Do not connect again before that."""
        self._postponed = seconds

    def disconnected(self, *, failed: bool) -> int:
        """The number of connections in a row without an event; those after a `retry` may end without one."""
        in_vain = not self._came and (failed or self._reader.retry is None)
        self._failures = self._failures + 1 if in_vain else 0
        return self._failures

    @property
    def delay(self) -> float:
        """Seconds to wait before the next connection: exactly what the server asked for, longer if it fails."""
        asked = max(self._postponed, RETRY_SECONDS if self._reader.retry is None else self._reader.retry / 1_000)
        if self._failures <= 1:
            return asked
        return max(asked, min(RETRY_SECONDS * 2.0 ** min(self._failures - 1, 10), LONGEST_RETRY_SECONDS))

    def feed(self, chunk: bytes) -> list[Envelope | Garbled]:
        items = [item for event in self._reader.feed(chunk) for item in self._read(event)]
        if self.about is not None and not self.answered:
            self.answered = any(answers(item, self.about) for item in items)
        return items

    def _read(self, event: Event | Overlong) -> list[Envelope | Garbled]:
        self._came = True
        if isinstance(event, Event) and event.kind == "endpoint":
            self.endpoint = event.data.decode("utf-8", "replace")
        if isinstance(event, Overlong):
            reason = f"it is longer than {self._limit} bytes"
            found: list[Envelope | Garbled] = [garbled(INVALID_REQUEST, reason, event.head, event.tail, lost=True)]
        elif event.kind != "message" or (event.id is not None and event.id == self._repeated):
            return []
        else:
            found = read_line(event.data)
        return [attributed(item, self.about) for item in found if not _is_noise(item)]


def _is_noise(item: Envelope | Garbled) -> bool:
    """Whether it is not a message: some servers send keep-alives as events."""
    if isinstance(item, Envelope) or item.kind != "unknown" or item.lost:
        return False
    logger.debug("an event that is no message: %s", item.excerpt)
    return True
