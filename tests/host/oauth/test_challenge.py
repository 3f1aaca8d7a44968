"""What a server's `WWW-Authenticate` asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host.oauth.challenge import Challenge, read_challenge

METADATA = "https://mcp.example/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("status", "header", "challenge"),
    [
        (401, "Bearer", Challenge()),
        (401, "bearer realm=x", Challenge()),
        (401, f'Bearer resource_metadata="{METADATA}"', Challenge(401, "", None, METADATA)),
        (401, 'Bearer error="invalid_token", scope="a b"', Challenge(401, "invalid_token", "a b")),
        (401, 'Bearer scope = "a\\"b" , error=invalid_token', Challenge(401, "invalid_token", 'a"b')),
        (401, 'Basic realm="scope=nothing, Bearer", Bearer scope="a"', Challenge(401, "", "a")),
        (401, 'Negotiate dG9rZW4=, Bearer scope=a, Digest scope="b"', Challenge(401, "", "a")),
        (401, 'Bearer xscope="b", scope="a"', Challenge(401, "", "a")),
        (401, 'Bearer scope="a", scope="b"', Challenge(401, "", "a")),
        (401, 'Bearer scope="", resource_metadata=""', Challenge()),
        (403, 'Bearer error="insufficient_scope", scope="w"', Challenge(403, "insufficient_scope", "w")),
        (403, "Bearer", None),
        (403, 'Bearer error="invalid_token"', None),
        (401, 'Basic realm="Bearer"', None),
        (401, "", None),
        (200, 'Bearer scope="a"', None),
        (401, ',, Bearer ,,scope="a",', Challenge(401, "", "a")),
        (401, 'Bearer scope="never closed', Challenge()),
    ],
)
def test_it_is_read_as_it_is_meant(status: int, header: str, challenge: Challenge | None) -> None:
    assert read_challenge(status, header) == challenge


def test_the_plainest_form_says_the_same() -> None:
    challenge = Challenge(403, "insufficient_scope", "a b", METADATA)
    said = f'Bearer error="insufficient_scope", scope="a b", resource_metadata="{METADATA}"'
    assert challenge.header.decode() == said
    assert read_challenge(403, said) == challenge
    assert read_challenge(401, Challenge().header.decode()) == Challenge()


@given(st.text(alphabet='Bearer scop=", \\\t;x', max_size=60))
def test_whatever_it_is_it_does_no_harm(header: str) -> None:
    read_challenge(401, header)
