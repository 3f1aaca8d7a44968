"""A small authorization server, and an MCP server that takes its tokens: real ones, under uvicorn on this machine.

The person who signs in there says yes to everything, unless told otherwise. Whatever it issues begins with a word that
says what it is, and stands in `issued`, so that a test can look for it where it must not be.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode

import anyio
import jwt
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from agent.mcp import Server
from agent.mcp.transports.http_auth import Authorization, Token
from agent.mcp.transports.http_server import asgi_app
from tests.host.http_peers import App, Peer


class Refused(Exception):
    """What the token endpoint answers with (RFC 6749, section 5.2)."""


@dataclass
class AuthorizationServer:
    """`lifetime` of access tokens in seconds; `metadata` is put over what the server says of itself, None leaves out.

    `replies` are what certain paths answer with, whatever they are asked.
    `clients` are those that were registered; one may be put there by hand. `counted` says how often each endpoint did
    its work, `asked` holds the parameters of each authorization request.
    """

    issuer: str
    lifetime: int = 3600
    answer: str = "yes"
    metadata: dict[str, Any] = field(default_factory=dict)
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)
    asked: list[dict[str, str]] = field(default_factory=list)
    issued: set[str] = field(default_factory=set)
    redirect: Mapping[str, str | None] = field(default_factory=dict)
    withheld: set[str] = field(default_factory=set)
    out_of_order: bool = False
    replies: dict[str, Response] = field(default_factory=dict)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _tokens: dict[str, Token] = field(default_factory=dict)
    _refresh: dict[str, dict[str, str]] = field(default_factory=dict)

    async def verify(self, token: str) -> Token | None:
        return self._tokens.get(token)

    def expire(self) -> None:
        """No access token is good any more; they can be refreshed."""
        self._tokens.clear()

    def revoke(self) -> None:
        """Nothing that was issued is good any more."""
        self.expire()
        self._refresh.clear()

    def app(self) -> App:
        proper = Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self._describe),
                Route("/register", self._register, methods=["POST"]),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/revoke", self._revoke, methods=["POST"]),
            ]
        )

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await self.replies.get(scope.get("path", ""), proper)(scope, receive, send)

        return app

    async def _describe(self, request: Request) -> Response:
        document = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }
        return JSONResponse({name: value for name, value in document.items() if value is not None})

    async def _register(self, request: Request) -> Response:
        self.counted["register"] += 1
        client = await request.json() | {
            "client_id": f"client-{len(self.clients) + 1}",
            "client_secret": self._new("secret"),
        }
        self.clients[client["client_id"]] = client | {"token_endpoint_auth_method": "client_secret_basic"}
        return JSONResponse(self.clients[client["client_id"]], 201)

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        self.asked.append(asked)
        client = self.clients.get(asked["client_id"], {})
        if asked["redirect_uri"] not in client.get("redirect_uris", ()):
            return Response("unknown client, or another redirect", 400)
        self.counted["authorize"] += 1
        code = self._new("code")
        self._codes[code] = asked
        given: dict[str, str | None] = {"code": code} if self.answer == "yes" else {"error": self.answer}
        given |= {"state": asked["state"], "iss": self.issuer, **self.redirect}
        return RedirectResponse(
            asked["redirect_uri"] + "?" + urlencode({k: v for k, v in given.items() if v is not None})
        )

    async def _token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        if self.out_of_order:
            return Response("come back later", 503)
        try:
            return JSONResponse(self._issue(form, self._client_of(request, form)))
        except Refused as refusal:
            return JSONResponse({"error": str(refusal)}, 401 if str(refusal) == "invalid_client" else 400)

    async def _revoke(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        try:
            self._client_of(request, form)
        except Refused as refusal:
            return JSONResponse({"error": str(refusal)}, 401)
        if self._refresh.pop(form["token"], None):
            self.counted["revoke"] += 1
        return Response()

    def _client_of(self, request: Request, form: Mapping[str, str]) -> str:
        id, secret = form.get("client_id", ""), form.get("client_secret", "")
        if assertion := form.get("client_assertion"):
            id = jwt.decode(assertion, options={"verify_signature": False})["sub"]
            jwt.decode(assertion, self.clients[id]["public_key"], ["ES256"], audience=self.issuer)
            return id
        kind, _, basic = request.headers.get("authorization", "").partition(" ")
        if kind == "Basic":
            id, _, secret = (unquote(part) for part in base64.b64decode(basic).decode().partition(":"))
        client = self.clients.get(id)
        method = {"Basic": "client_secret_basic"}.get(kind, "client_secret_post" if secret else "none")
        if (
            client is None
            or method != client["token_endpoint_auth_method"]
            or secret != client.get("client_secret", "")
        ):
            raise Refused("invalid_client")
        return id

    def _issue(self, form: Mapping[str, str], client: str) -> dict[str, Any]:
        match form["grant_type"]:
            case "authorization_code":
                grant = self._codes.pop(form["code"], {})
                proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode()
                if grant.get("code_challenge") != proof.rstrip("=") or grant["redirect_uri"] != form["redirect_uri"]:
                    raise Refused("invalid_grant")
            case "refresh_token":
                grant = self._refresh.pop(form["refresh_token"], {})
            case _:
                grant = {"client_id": client, **form}
        if grant.get("client_id") != client or form.get("resource") != grant.get("resource"):
            raise Refused("invalid_grant")
        self.counted[form["grant_type"]] += 1
        return self._grant(grant, renewable=form["grant_type"] != "client_credentials")

    def _grant(self, grant: dict[str, str], *, renewable: bool) -> dict[str, Any]:
        scopes = " ".join(scope for scope in grant.get("scope", "").split() if scope not in self.withheld)
        access = self._new("access")
        audience, ends = frozenset({grant.get("resource", "")}), time.time() + self.lifetime
        self._tokens[access] = Token("ada", audience, frozenset(scopes.split()), ends, grant["client_id"])
        tokens = {"access_token": access, "token_type": "bearer", "expires_in": self.lifetime, "scope": scopes}
        if renewable:
            tokens["refresh_token"] = self._new("refresh")
            self._refresh[tokens["refresh_token"]] = grant
        return tokens

    def _new(self, kind: str) -> str:
        secret = f"{kind}-{secrets.token_urlsafe(16)}"
        self.issued.add(secret)
        return secret


@dataclass
class World:
    """Both servers, running; `url` is where the MCP server is."""

    authority: AuthorizationServer
    url: str


def tools() -> Server:
    """What is protected: two tools, of which one takes more than the other."""
    server = Server("notes")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def delete_note(id: int) -> str:
        return f"deleted {id}"

    return server


@asynccontextmanager
async def world(wrap: Callable[[App], App] = lambda app: app, **options: Any) -> AsyncIterator[World]:
    """`options` go to the `Authorization` of the MCP server, which `wrap` may put something in front of."""
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        authority = AuthorizationServer(_address(first))
        made = World(authority, f"{_address(second)}/mcp")
        authorization = Authorization(
            **{
                "resource": made.url,
                "authorization_servers": (authority.issuer,),
                "verify": authority.verify,
                "scopes": ("notes:read",),
                "operations": {"tools/call delete_note": ("notes:write",)},
                **options,
            }
        )
        peers = Peer(authority.app(), first), Peer(wrap(asgi_app(tools(), auth=authorization)), second)
        async with anyio.create_task_group() as tasks:
            for peer in peers:
                tasks.start_soon(peer.run)
            yield made
            async with anyio.create_task_group() as stopping:
                for peer in peers:
                    stopping.start_soon(peer.stop)


def _address(listening: socket.socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}"
