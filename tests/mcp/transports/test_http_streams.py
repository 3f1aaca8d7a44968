"""When a stream that broke off is resumed."""

from __future__ import annotations

import pytest

from agent.mcp.transports.http_streams import LONGEST_POSTPONED_SECONDS, Incoming, is_temporary, retry_after

NOW = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    ("status", "temporary"),
    [
        *((status, True) for status in (408, 429, 500, 502, 503, 504)),
        *((status, False) for status in (200, 400, 401, 403, 404, 405, 410, 501)),
    ],
)
def test_some_errors_may_be_over_soon(status: int, temporary: bool) -> None:
    assert is_temporary(status) is temporary


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("99999999999999999999", LONGEST_POSTPONED_SECONDS),
        ("Sun, 06 Nov 1994 08:49:47 GMT", 10.0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0.0),
        ("Sun, 06 Nov 9999 08:00:00 GMT", LONGEST_POSTPONED_SECONDS),
        *((said, 0.0) for said in ("", "-1", "soon", "²", "Sun, 99 Nov 1994 08:49:37 GMT")),
    ],
)
def test_how_long_a_server_will_be_away(said: str, seconds: float) -> None:
    assert retry_after({"retry-after": said}, NOW) == seconds
    assert retry_after({}, NOW) == 0


def test_a_stream_is_postponed_until_it_is_connected_again() -> None:
    incoming = Incoming(None, 1_000)
    usual = incoming.delay
    incoming.postpone(100)
    assert incoming.delay == 100
    incoming.postpone(0)
    assert incoming.delay == usual
    incoming.postpone(100)
    incoming.connected()
    assert incoming.delay == usual
