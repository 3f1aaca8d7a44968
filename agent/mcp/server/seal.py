"""What a client carries for its server between two requests, and gives back unaltered, in time, to its place.

A seal is no secrecy: the client can read what is under it.
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

STATE_SECONDS = 3_600.0  # a person may be slow to answer, but not for ever

_LABEL = b"mcp requestState\0"  # the same secret may seal other things elsewhere


class BrokenSeal(ValueError):
    """The text was not sealed here, was altered, is too old, or belongs to another place."""


class Seal:
    """`key` is the secret that all workers share; without one there is a random key, for this process alone.

    `clock` gives seconds since the epoch, by which workers on several machines agree.
    """

    def __init__(self, key: str | bytes | None = None, clock: Callable[[], float] = time.time) -> None:
        secret = secrets.token_bytes(32) if key is None else key.encode() if isinstance(key, str) else key
        self._key = hashlib.sha256(_LABEL + secret).digest()
        self._clock = clock

    def close(self, value: Any, place: str, seconds: float = STATE_SECONDS) -> str:
        """JSON under a seal that holds for `seconds`, and only where it is opened with the same `place`."""
        body = to_json({"until": self._clock() + seconds, "place": place, "value": value})
        return f"{_text(body)}.{_text(self._mark(body))}"

    def open(self, text: object, place: str) -> Any:
        """Raises BrokenSeal."""
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
    """A short name for a JSON value; equal values have the same one, whatever the order of their members."""
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
