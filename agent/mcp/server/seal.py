"""Authenticated state that a client carries between two requests: HMAC, expiry, and binding to its request.

It is not encrypted: the client can read it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import Any

from pydantic_core import from_json, to_json

STATE_SECONDS = 3_600.0  # for a person to answer

_LABEL = b"mcp requestState\0"  # separates the key from other uses of the same secret


class BrokenSeal(ValueError):
    """The state was altered, was sealed with another key, has expired, or belongs to another request."""


class Seal:
    """Seals state with a key. `key` is shared by all workers; without one it is random, and valid in this process only.

    `clock` returns seconds since the epoch.
    """

    def __init__(self, key: str | bytes | None = None, clock: Callable[[], float] = time.time) -> None:
        secret = secrets.token_bytes(32) if key is None else key.encode() if isinstance(key, str) else key
        self._key = hashlib.sha256(_LABEL + secret).digest()
        self._clock = clock

    def close(self, value: Any, place: str, seconds: float = STATE_SECONDS) -> str:
        """Seal a JSON value for `seconds`; it can be opened with the same `place` only."""
        body = to_json({"until": self._clock() + seconds, "place": place, "value": value})
        return f"{_text(body)}.{_text(self._mark(body))}"

    def open(self, text: object, place: str) -> Any:
        """The sealed value. Raises BrokenSeal."""
        body, _, mark = str(text).partition(".")
        try:
            written = _bytes(body)
            genuine = hmac.compare_digest(_bytes(mark), self._mark(written))
        except (binascii.Error, ValueError):
            genuine = False
        if not genuine:
            raise BrokenSeal("it was not sealed here, or was altered")
        found = from_json(written)
        if found["until"] < self._clock():
            raise BrokenSeal("it is too old")
        if found["place"] != place:
            raise BrokenSeal("it belongs to another request")
        return found["value"]

    def _mark(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, "sha256")


def digest(value: Any) -> str:
    """A hash of a JSON value that does not depend on the order of members."""
    return _text(hashlib.sha256(_canonical(value)).digest())


def _canonical(value: Any) -> bytes:
    return to_json(_ordered(value))


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list | tuple) else value


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _bytes(text: str) -> bytes:
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
    if _text(data) != text:
        raise ValueError("no base64 as an encoder writes it")
    return data
