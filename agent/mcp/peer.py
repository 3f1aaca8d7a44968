"""One end of a JSON-RPC conversation, with no I/O, no clock and no tasks.

    message in  --receive()-->  event out
    intent      --call()/...->  message out

A Peer keeps two sets of ids: of our pending requests, and of the other side's requests that we have to answer. They are
separate id spaces: both sides may use id 1 at the same time for different requests. Ids are correlated here and nowhere
else. Client and server use the same class, since JSON-RPC is symmetrical.

A protocol violation by the other side is an event or is ignored, and never raises: it must not end our reader.
A violation by this side raises LocalProtocolError, since it is a bug of ours.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import count
from typing import Any

from agent.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NO_CODE,
    Failure,
    Message,
    Notification,
    Params,
    Request,
    RequestId,
    Result,
    as_request_id,
)

CANCELLED, PROGRESS = "notifications/cancelled", "notifications/progress"
OWED_AT_ONCE = 1_024  # concurrent requests of the other side
ABANDONED_KEPT = 1_024  # abandoned requests whose late response is dropped silently
OF_JSON_RPC = range(-32768, -31999)
"""The error codes that JSON-RPC reserves; those of applications lie outside."""
NEEDS_AN_ID = (METHOD_NOT_FOUND, INVALID_PARAMS)
"""Errors about a message whose id could be read: without an id, they are an invalid response to a notification."""


class LocalProtocolError(Exception):
    """This side tried to send what the protocol does not allow."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of the other side."""

    request: Request


@dataclass(frozen=True, slots=True)
class Told:
    """A notification of the other side."""

    notification: Notification


@dataclass(frozen=True, slots=True)
class Answered:
    """A response to our request `id`."""

    id: RequestId
    outcome: Result | Failure


@dataclass(frozen=True, slots=True)
class Progressed:
    """Progress of our request `id`."""

    id: RequestId
    params: Params


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The other side cancelled its request `id`, and may say why."""

    id: RequestId
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """An invalid message; `reply` is the error to answer with."""

    reply: Failure


@dataclass(frozen=True, slots=True)
class Stray:
    """A response that belongs to no pending request."""

    outcome: Result | Failure


Event = Asked | Told | Answered | Progressed | Withdrawn | Refused | Stray


class Peer:
    def __init__(self) -> None:
        self._ids = count(1)
        self._awaiting: set[RequestId] = set()
        self._owing: set[RequestId] = set()
        self._abandoned: deque[RequestId] = deque(maxlen=ABANDONED_KEPT)

    # Outgoing.

    def call(self, method: str, params: Params | None = None, *, progress: bool = False) -> Request:
        """A new request. With `progress`, its id is the progress token too (unique among those in flight)."""
        id = next(self._ids)
        if progress:
            params = {**(params or {}), "_meta": {**(params or {}).get("_meta", {}), "progressToken": id}}
        self._awaiting.add(id)
        return Request(id, method, params)

    def abandon(self, id: RequestId, reason: str) -> Notification | None:
        """Stop waiting for our own request. None if it was settled already."""
        if id not in self._awaiting:
            return None
        self._awaiting.discard(id)
        self._abandoned.append(id)
        return Notification(CANCELLED, {"requestId": id, "reason": reason})

    def answer(self, id: RequestId, value: Any) -> Result:
        self._settle(id)
        return Result(id, value)

    def fail(self, id: RequestId, code: int, message: str, data: Any = None) -> Failure:
        self._settle(id)
        return Failure(id, code, message, data)

    # Incoming.

    def receive(self, message: Message) -> Event | None:
        match message:
            case Request(id=id):
                if id in self._owing:
                    return Refused(Failure(id, INVALID_REQUEST, f"request id {id!r} is in use"))
                if len(self._owing) >= OWED_AT_ONCE:
                    return Refused(Failure(id, INTERNAL_ERROR, f"more than {OWED_AT_ONCE} requests at once"))
                self._owing.add(id)
                return Asked(message)
            case Result() | Failure():
                return self._settled(message)
            case Notification(method=method, params=params) if method == PROGRESS:
                token = as_request_id((params or {}).get("progressToken"))
                return Progressed(token, params or {}) if token in self._awaiting else Told(message)
            case Notification(method=method, params=params) if method == CANCELLED:
                unwanted = as_request_id((params or {}).get("requestId"))
                if unwanted is None or unwanted not in self._owing:
                    return Told(message)  # sent before our response arrived, or it ends a subscription
                self._owing.discard(unwanted)
                reason = (params or {}).get("reason")
                return Withdrawn(unwanted, reason if isinstance(reason, str) else "")
        return Told(message)

    def awaits(self, id: RequestId | None) -> bool:
        """True while our request `id` is pending."""
        return id in self._awaiting

    def _settled(self, outcome: Result | Failure) -> Event | None:
        id = self._request_of(outcome)
        if id is not None:
            self._awaiting.discard(id)
            return Answered(id, outcome)
        if outcome.id in self._abandoned:
            return None  # sent before our cancellation arrived
        return Stray(outcome)

    def _request_of(self, outcome: Result | Failure) -> RequestId | None:
        """The pending request that a response belongs to.

        Some servers return id 0 as "0", or refuse a request without its id: such a response counts only if exactly
        one request can be meant, and an error without an id only if its code is about the message as a whole.
        """
        if outcome.id in self._awaiting:
            return outcome.id
        if isinstance(outcome, Failure) and outcome.id is None:
            general = outcome.code in OF_JSON_RPC or outcome.code == NO_CODE
            about_message = general and outcome.code not in NEEDS_AN_ID
            candidates = list(self._awaiting) if about_message else []
        else:
            candidates = [id for id in self._awaiting if str(id) == str(outcome.id)]
        return candidates[0] if len(candidates) == 1 else None

    def _settle(self, id: RequestId) -> None:
        if id not in self._owing:
            raise LocalProtocolError(f"nobody is waiting for an answer to {id!r}")
        self._owing.discard(id)
