"""Signing in where things are not as they should be: what is refused, what is put up with, and what is said."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from starlette.responses import JSONResponse, Response

from agent.host.errors import HostError
from agent.host.oauth.access import Access
from agent.host.oauth.browser import Redirect
from agent.host.oauth.errors import SignInFailed
from agent.host.oauth.party import Party
from agent.host.oauth.store import open_store
from tests.authorization_server import App, World, world
from tests.host.scene import Scene
from tests.host.signing_in import Person, hosted, location

pytestmark = pytest.mark.anyio


async def add(view: Scene) -> Any:
    return (await view.host.call_tool("add", {"a": 3, "b": 5})).structured_content


def far(there: World, **oauth: Any) -> dict[str, Any]:
    return {"url": there.url, "auth": "oauth", "oauth": oauth}


async def refusal(folder: Path, there: World, person: Person | None = None, **oauth: Any) -> str:
    """Why there is no connection."""
    async with hosted(folder, person or Person(), far=far(there, **oauth)) as view:
        [server] = view.host.servers()
        assert server.state == "failed"
        return server.detail.removeprefix("Signing in to far failed: ")


# Discovery


def hushed(*hidden: str, challenge: str = "Bearer") -> Any:
    """In front of a server: some paths are not there, and another challenge than its own is made."""

    def wrap(app: App) -> App:
        async def front(scope: Any, receive: Any, send: Any) -> None:
            async def tell(message: Any) -> None:
                lines = dict(message.get("headers", ()))
                if b"www-authenticate" in lines:
                    message |= {"headers": (lines | {b"www-authenticate": challenge.encode("latin-1")}).items()}
                await send(message)

            if scope["type"] == "http" and scope["path"] in hidden:
                await send({"type": "http.response.start", "status": 404, "headers": []})
                await send({"type": "http.response.body", "body": b""})
            else:
                await app(scope, receive, tell)

        return front

    return wrap


def replaced(app: App, path: str, document: Callable[[], Any]) -> App:
    """A server that says something else at a path, and below it."""

    async def front(scope: Any, receive: Any, send: Any) -> None:
        ours = JSONResponse(document()) if scope.get("path", "").startswith(path) else app
        await ours(scope, receive, send)

    return front


ROOT = "/.well-known/oauth-protected-resource"


@pytest.mark.parametrize("hidden", [(), (f"{ROOT}/mcp",), (ROOT,)])
async def test_a_server_that_does_not_say_where_it_is_described_is_found_out(
    tmp_path: Path, hidden: tuple[str, ...]
) -> None:
    async with world(hushed(*hidden)) as there, hosted(tmp_path, Person(), far=far(there)) as view:
        assert await add(view) == {"result": 8}


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ("https://h:x/", "an answer of the authorization server is not what it should be."),
        ("file:///etc/passwd", "file:///etc/passwd is not asked: it has no https."),
        ("http://mcp.example/it", "http://mcp.example/it is not asked: it has no https."),
    ],
)
async def test_a_description_that_stands_nowhere_is_told(tmp_path: Path, metadata: str, said: str) -> None:
    async with world(hushed(challenge=f'Bearer resource_metadata="{metadata}"')) as there:
        assert await refusal(tmp_path, there) == said


async def test_metadata_of_another_issuer_is_refused_and_both_are_named(tmp_path: Path) -> None:
    async with world() as there:
        there.authority.metadata = {"issuer": "https://evil.example/login"}
        said = await refusal(tmp_path, there)
        assert "https://evil.example/login" in said
        assert there.authority.issuer in said
        assert there.authority.counted == {}


@pytest.mark.parametrize("spelled", ["{}/", "{}/./", "HTTP{}"])
async def test_an_issuer_that_is_spelled_in_another_way_is_another(tmp_path: Path, spelled: str) -> None:
    async with world() as there:
        issuer = there.authority.issuer
        named = spelled.format(issuer if "{}/" in spelled else issuer.removeprefix("http"))
        there.authority.metadata = {"issuer": named}
        said = await refusal(tmp_path, there, person := Person())
        assert issuer in said
        assert (person.asked, there.authority.counted) == ([], {})


async def test_an_issuer_that_the_sdk_would_spell_in_another_way_is_itself(tmp_path: Path) -> None:
    def wrap(app: App) -> App:
        return replaced(app, ROOT, lambda: {"resource": there.url, "authorization_servers": [shouted]})

    async with world(wrap) as there:
        shouted = there.authority.issuer.replace("http", "HTTP")
        there.authority.metadata, there.authority.redirect = {"issuer": shouted}, {"iss": shouted}
        async with hosted(tmp_path, Person(), far=far(there)) as view:
            assert await add(view) == {"result": 8}


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"authorization_endpoint": "javascript:alert(1)"}, "authorization_endpoint: URL scheme should be 'http' or "),
        ({"authorization_endpoint": "file:///etc/passwd"}, "authorization_endpoint: URL scheme should be 'http' or "),
        ({"authorization_endpoint": None}, "authorization_endpoint: Field required ("),
        ({"token_endpoint": 7}, "token_endpoint: URL input should be a string or URL ("),
        ({"registration_endpoint": "http://[::1"}, "registration_endpoint: Input should be a valid URL, "),
        ({"scopes_supported": "all"}, "scopes_supported: Input should be a valid list ("),
        ({"issuer": ["a"]}, "issuer: URL input should be a string or URL ("),
    ],
)
async def test_a_description_that_cannot_be_used_is_told(tmp_path: Path, metadata: dict[str, Any], said: str) -> None:
    async with world() as there:
        there.authority.metadata = metadata
        assert (await refusal(tmp_path, there, person := Person())).startswith(said)
        assert (person.asked, there.authority.counted) == ([], {})


async def test_so_is_what_a_server_says_of_itself(tmp_path: Path) -> None:
    def wrap(app: App) -> App:
        return replaced(app, ROOT, lambda: {"resource": there.url, "authorization_servers": []})

    async with world(wrap) as there:
        there.authority.metadata = {"issuer": "nobody"}
        said = await refusal(tmp_path, there)
        assert said.startswith("authorization_servers: List should have at least 1 item")


@pytest.mark.parametrize(
    ("status", "said"), [(404, "there is no description of {issuer}."), (503, "{url} answered with 503.")]
)
async def test_an_authorization_server_that_does_not_say_what_it_is_is_asked_for_nothing(
    tmp_path: Path, status: int, said: str
) -> None:
    async with world() as there:
        there.authority.replies["/.well-known/oauth-authorization-server"] = Response("", status)
        url, issuer = f"{there.authority.issuer}/.well-known/oauth-authorization-server", there.authority.issuer
        assert await refusal(tmp_path, there) == said.format(issuer=issuer, url=url)
        assert there.authority.counted == {}


async def test_where_no_program_can_register_it_is_told_what_to_do(tmp_path: Path) -> None:
    async with world() as there:
        there.authority.metadata = {"registration_endpoint": None}
        assert await refusal(tmp_path, there, person := Person()) == (
            f"{there.authority.issuer} registers no clients by itself. "
            "Register one there by hand, and put its client_id into [servers.far.oauth]."
        )
        assert person.asked == []


@pytest.mark.parametrize(
    ("page", "why"),
    [("http://example.com/authorize", "it has no https"), ("ftp://example.com/", "URL scheme should be")],
)
async def test_a_page_that_others_can_read_is_not_opened(tmp_path: Path, page: str, why: str) -> None:
    async with world() as there:
        there.authority.metadata = {"authorization_endpoint": page}
        assert why in await refusal(tmp_path, there, person := Person())
        assert person.asked == []


# What nobody expects


DEEP, HUGE = "[" * 100_000, "9" * 5_000
BODIES = [
    b"",
    b"\xff\xfe\x00",
    b"null",
    b'"\\ud800"',
    DEEP.encode(),
    b'{"error": ' + DEEP.encode(),
    HUGE.encode(),
    b'{"error": "invalid_client", "error_description": "\\ud800\\u001b[2J"}',
    b'{"access_token": "a\\r\\nb: c", "token_type": "bearer"}',
    b'{"access_token": "\\u00e9", "token_type": "bearer"}',
    b'{"access_token": "a", "token_type": "bearer", "expires_in": ' + HUGE[:400].encode() + b"}",
    b'{"access_token": "a", "token_type": "bearer", "expires_in": -' + HUGE[:400].encode() + b"}",
    b'{"access_token": {}, "token_type": []}',
    b'{"client_id": 7}',
    b'{"client_id": "c", "redirect_uris": ["http://[::1"]}',
    b'{"client_id": "c", "client_id_issued_at": ' + HUGE[:4000].encode() + b"}",
]
KINDS = ["application/json", "text/plain; charset=hex", "text/plain; charset=undefined", "x" * 300]


@pytest.mark.parametrize("status", [200, 400, 401])
@pytest.mark.parametrize("path", ["/.well-known/oauth-authorization-server", "/register", "/token"])
async def test_whatever_an_authorization_server_answers_ends_the_attempt_and_nothing_else(
    tmp_path: Path, path: str, status: int
) -> None:
    """A new registration is not known to the server, which says so, so that nobody goes to its page."""
    async with world() as there:
        for number, body in enumerate(BODIES):
            kind = KINDS[number % len(KINDS)]
            there.authority.replies = {path: Response(body, status, headers={"content-type": kind})}
            access = Access(Party("far", there.url), open_store(tmp_path, lambda: None), tmp_path, redirecting)
            with pytest.raises(SignInFailed, match=r"^Signing in to far failed: "):
                await access.sign_in()


@asynccontextmanager
async def redirecting(port: int | None) -> AsyncIterator[Redirect]:
    """A person who is back at once with a code; with none if their page is unknown."""

    async def visit(url: str) -> str:
        try:
            return await location(url)
        except KeyError:
            return "http://127.0.0.1:1/callback"

    yield Redirect("http://127.0.0.1:1/callback", visit)


@pytest.mark.parametrize("body", BODIES[8:12])
async def test_a_renewal_that_gives_no_token_loses_none(tmp_path: Path, body: bytes) -> None:
    async with world() as there, hosted(tmp_path, person := Person(), far=far(there)) as view:
        there.authority.expire()
        there.authority.replies = {"/token": Response(body)}
        with pytest.raises(HostError, match="what the authorization server gave is no bearer token"):
            await add(view)
        there.authority.replies = {}
        assert await add(view) == {"result": 8}
        assert len(person.urls) == 1


@pytest.mark.parametrize(
    "challenge",
    [
        'Bearer scope="\xe9"',
        'Bearer resource_metadata="http://[::1"',
        'Bearer resource_metadata="http://127.0.0.1:99999/x"',
        'Bearer resource_metadata="http://127.0.0.1:0/x"',
        'Bearer resource_metadata="http://xn--\xe9/x"',
        'Bearer resource_metadata="nowhere"',
        'Bearer error="\\" scope=\\", scope="a',
    ],
)
async def test_whatever_a_server_demands_ends_no_more_than_the_attempt(tmp_path: Path, challenge: str) -> None:
    async with world(hushed(challenge=challenge)) as there, hosted(tmp_path, Person(), far=far(there)) as view:
        [server] = view.host.servers()
        assert server.state == "ready" or server.detail.startswith(("Signing in to far failed: ", "The server at "))


@pytest.mark.parametrize("methods", [None, ["plain"]])
async def test_without_pkce_nobody_is_sent_anywhere(tmp_path: Path, methods: list[str] | None) -> None:
    async with world() as there:
        there.authority.metadata = {"code_challenge_methods_supported": methods}
        said = await refusal(tmp_path, there, person := Person())
        assert said == "the authorization server does not say that it knows PKCE with S256."
        assert person.asked == []


async def test_a_server_that_describes_another_is_refused(tmp_path: Path) -> None:
    async with world(hushed(), resource="https://other.example/mcp") as there:
        said = await refusal(tmp_path, there)
        assert said.startswith("Protected resource https://other.example/mcp does not match")


@pytest.mark.parametrize(
    ("endpoint", "objection"),
    [
        ("http://login.example/token", "http://login.example/token is not asked: it has no https."),
        ("ftp://127.0.0.1/token", "an answer of the authorization server is not what it should be."),
    ],
)
async def test_no_secret_goes_where_others_can_read_it(tmp_path: Path, endpoint: str, objection: str) -> None:
    async with world() as there:
        there.authority.metadata = {"token_endpoint": endpoint}
        assert objection.rstrip(".") in await refusal(tmp_path, there) or endpoint.startswith("ftp")
        assert there.authority.counted["authorization_code"] == 0


# The way back


@pytest.mark.parametrize(
    ("redirect", "said"),
    [
        ({"iss": "https://evil.example"}, "Authorization response iss mismatch: https://evil.example != {issuer}."),
        ({"iss": None}, "Authorization response missing iss parameter advertised by the authorization server."),
        ({"code": ""}, "No authorization code received."),
    ],
)
async def test_a_redirect_that_another_may_have_made_is_refused(
    tmp_path: Path, redirect: dict[str, str | None], said: str
) -> None:
    async with world() as there:
        there.authority.redirect = redirect
        assert await refusal(tmp_path, there) == said.format(issuer=there.authority.issuer)
        assert there.authority.counted["authorization_code"] == 0


async def test_that_the_person_was_refused_is_told(tmp_path: Path) -> None:
    async with world() as there:
        there.authority.answer = "access_denied"
        there.authority.redirect = {"error_description": "not\x1b[2J today"}
        assert await refusal(tmp_path, there) == "the authorization server said access_denied: not today."


async def test_what_another_says_of_an_error_is_not_repeated(tmp_path: Path) -> None:
    async with world() as there:
        there.authority.answer = "access_denied"
        there.authority.redirect = {"error_description": "send money", "iss": "https://evil.example"}
        assert "money" not in await refusal(tmp_path, there)


# Clients


async def test_a_port_that_another_program_has_by_now_is_given_up_with_its_client(tmp_path: Path) -> None:
    async with world() as there:
        async with hosted(tmp_path, Person(), far=far(there)):
            there.authority.revoke()
        port = urlsplit(there.authority.asked[0]["redirect_uri"]).port
        assert port
        with socket.create_server(("127.0.0.1", port)):
            async with hosted(tmp_path, Person(), far=far(there)) as view:
                assert await add(view) == {"result": 8}
        assert there.authority.counted["register"] == 2


async def test_a_client_that_is_never_known_is_given_up(tmp_path: Path) -> None:
    async with world() as there:
        async with hosted(tmp_path, Person(), far=far(there)):
            there.authority.revoke()
        there.authority.replies["/token"] = JSONResponse({"error": "invalid_client"}, 401)
        assert await refusal(tmp_path, there) == "the authorization server gave no token: invalid_client."


async def test_a_secret_that_is_wrong_is_told(tmp_path: Path) -> None:
    async with world() as there:
        oauth = registered(there, "client_secret_basic", free_port()) | {"client_secret": "wrong"}
        assert await refusal(tmp_path, there, **oauth) == (
            "the authorization server gave no token: invalid_client. "
            "Check client_id and client_secret in [servers.far.oauth]."
        )


async def test_a_registered_redirect_is_used_again_by_the_next_run(tmp_path: Path) -> None:
    async with world() as there:
        for _ in range(2):
            async with hosted(tmp_path, Person(), far=far(there)):
                there.authority.revoke()
        first, second = (asked["redirect_uri"] for asked in there.authority.asked)
        assert first == second
        assert there.authority.counted["register"] == 1


async def test_a_client_that_was_forgotten_is_registered_once_more(tmp_path: Path) -> None:
    async with world() as there, hosted(tmp_path, Person(), far=far(there)) as view:
        there.authority.revoke()
        there.authority.clients.clear()
        assert await add(view) == {"result": 8}
        assert there.authority.counted["register"] == 2


def registered(there: World, method: str, port: int) -> dict[str, Any]:
    """A client registered by hand, as the configuration names it."""
    there.authority.clients["by-hand"] = {
        "client_secret": "secret by hand",
        "token_endpoint_auth_method": method,
        "redirect_uris": [f"http://127.0.0.1:{port}/callback"],
    }
    there.authority.metadata = {"token_endpoint_auth_methods_supported": [method], "registration_endpoint": None}
    return {"client_id": "by-hand", "client_secret": "secret by hand", "redirect_port": port}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_client_that_was_registered_by_hand_proves_itself_as_it_is_wanted(tmp_path: Path, method: str) -> None:
    async with world() as there:
        oauth = registered(there, method, free_port())
        async with hosted(tmp_path, Person(), far=far(there, **oauth)) as view:
            assert await add(view) == {"result": 8}
            there.authority.expire()
            assert await add(view) == {"result": 8}
        assert there.authority.counted == {"authorize": 1, "authorization_code": 1, "refresh_token": 1}


async def test_a_registered_port_that_is_taken_fails_at_once(tmp_path: Path) -> None:
    async with world() as there:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            said = await refusal(tmp_path, there, person := Person(), **registered(there, "client_secret_post", port))
        assert said == f"port {port}, to which its page leads back, is in use by another program."
        assert person.asked == []


async def test_a_client_of_one_authorization_server_is_not_shown_to_another(tmp_path: Path) -> None:
    async with world() as there:
        oauth = registered(there, "client_secret_post", free_port()) | {"issuer": "https://login.example"}
        said = await refusal(tmp_path, there, person := Person(), **oauth)
        issuer = there.authority.issuer
        assert said == f"the server belongs to {issuer}, and the client is registered at https://login.example."
        assert (person.asked, there.authority.counted) == ([], {})


async def test_a_client_with_a_secret_needs_nobody(tmp_path: Path) -> None:
    async with world() as there:
        oauth = registered(there, "client_secret_basic", 1)
        oauth = {**oauth, "grant": "client_credentials", "redirect_port": None}
        async with hosted(tmp_path, None, far=far(there, **oauth)) as view:
            assert await add(view) == {"result": 8}
            there.authority.expire()
            assert await add(view) == {"result": 8}
        assert there.authority.counted == {"client_credentials": 2}


async def test_a_client_with_a_key_needs_nobody(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    path = tmp_path / "key.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    async with world() as there:
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        there.authority.clients["robot"] = {"public_key": public}
        oauth = {"grant": "client_credentials", "client_id": "robot", "private_key": str(path)}
        async with hosted(tmp_path, None, far=far(there, **oauth)) as view:
            assert await add(view) == {"result": 8}
        assert there.authority.counted == {"client_credentials": 1}


@pytest.mark.parametrize(("content", "said"), [(None, "cannot be read"), ("no key", "cannot be used")])
async def test_a_key_that_is_none_is_told(tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "key.pem"
    if content is not None:
        path.write_text(content)
    async with world() as there:
        oauth = {"grant": "client_credentials", "client_id": "robot", "private_key": str(path)}
        assert said in await refusal(tmp_path, there, **oauth)


# Scopes


async def test_configured_scopes_are_asked_for_instead(tmp_path: Path) -> None:
    async with world() as there:
        async with hosted(tmp_path, Person(), far=far(there, scopes=["notes:read", "notes:write"])) as view:
            await view.host.call_tool("delete_note", {"id": 7})
        assert [asked["scope"] for asked in there.authority.asked] == ["notes:read notes:write"]


async def test_nobody_asks_for_all_that_the_authorization_server_knows(tmp_path: Path) -> None:
    async with world(hushed(), scopes=(), operations={}) as there:
        there.authority.metadata = {"scopes_supported": ["everything", "offline_access"]}
        async with hosted(tmp_path, Person(), far=far(there)) as view:
            assert await add(view) == {"result": 8}
        assert [asked.get("scope") for asked in there.authority.asked] == [None]


async def test_a_scope_that_is_never_granted_is_asked_for_twice_and_then_given_up(tmp_path: Path) -> None:
    async with world() as there, hosted(tmp_path, person := Person(), far=far(there)) as view:
        there.authority.withheld = {"notes:write"}
        for _ in range(2):
            with pytest.raises(
                HostError, match=r"far: The server at .* refuses access \(403\): The token is not enough"
            ):
                await view.host.call_tool("delete_note", {"id": 7})
        assert len(person.urls) == 3
        assert await add(view) == {"result": 8}
