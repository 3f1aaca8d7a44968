"""The SDK's OAuth flow, run to one side of the request that gave rise to it.

The flow is an `httpx2.Auth`: it wants to send the request itself, and lets no other through until that is answered,
which for a long call is long. So it is given the answer that came already, its own requests are made here, and when it
would send the request again it has done its work.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError
from pydantic_core import from_json

from agent import __version__
from agent.host.oauth_browser import Redirecting
from agent.host.oauth_challenge import Challenge
from agent.host.oauth_errors import failed, needs_login
from agent.host.oauth_grants import CodeGrant, KeyGrant, SecretGrant
from agent.host.oauth_party import Party
from agent.host.oauth_provider import ClientUnknown, Mended
from agent.host.oauth_store import Credentials
from agent.host.transports import is_local
from agent.mcp.exchange import masked, origin
from agent.mcp.routing import REVISION_HEADER
from agent.mcp.transports.http_faults import lost

ANSWER_SECONDS = 30.0  # for one answer
ANSWER_LIMIT = 1024 * 1024  # bytes of it
_DECODED = ("content-encoding", "content-length", "transfer-encoding")
LOOPBACK_URI = "http://127.0.0.1/callback"


async def refresh(party: Party, kept: Credentials, revision: str | None) -> Credentials:
    """What is known after the tokens have been renewed; without tokens, where the refresh token is no good.

    Raises:
        SignInFailed: whether it is good cannot be known now.
    """
    provider = await _provider(party)
    provider.take_up(kept)
    provider.context.token_expiry_time = 1.0  # long ago, so that the flow begins with this
    async with _errand(party, revision) as errand:
        await errand.run(provider, None)
    return provider.credentials


async def sign_in(
    party: Party, kept: Credentials | None, challenge: Challenge, revision: str | None, redirecting: Redirecting | None
) -> Credentials:
    """From a server's refusal to tokens. Without `redirecting` only a client that needs no person can do that.

    Raises:
        SignInNeeded: a person is needed.
        SignInFailed: there are no tokens, and why.
    """
    async with _errand(party, revision) as errand:
        if party.options.grant == "client_credentials":
            return await errand.sign_in(await _provider(party), kept, challenge)
        if redirecting is None:
            raise needs_login(party.name, "What was granted before no longer holds." if kept else "")
        try:
            return await _send_person(errand, kept, challenge, redirecting)
        except ClientUnknown as error:
            if party.options.client_id or not kept:
                raise failed(party.name, error) from None
            return await _send_person(errand, kept.model_copy(update={"client": {}}), challenge, redirecting)


async def _send_person(
    errand: Errand, kept: Credentials | None, challenge: Challenge, redirecting: Redirecting
) -> Credentials:
    """To the page of the authorization server, which leads back to the address that the client is registered with."""
    options = errand.party.options
    async with redirecting(options.redirect_port or _registered_port(kept)) as redirect:
        return await errand.sign_in(CodeGrant(errand.party.url, options, redirect.uri, redirect.visit), kept, challenge)


async def _provider(party: Party) -> Mended:
    """One that nobody has to be asked for."""
    options = party.options
    if options.private_key is not None:
        try:
            return KeyGrant(party.url, options, await anyio.Path(options.private_key).read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise failed(party.name, f"the private key cannot be read: {error}") from error
    if options.grant == "client_credentials":
        return SecretGrant(party.url, options)
    return CodeGrant(party.url, options, LOOPBACK_URI, _nobody)


async def _nobody(url: str) -> str:
    raise OAuthFlowError("nobody is asked here")


def _registered_port(kept: Credentials | None) -> int | None:
    uris = kept.client.get("redirect_uris") if kept else None
    return urlsplit(uris[0]).port if isinstance(uris, list) and uris else None


class _Nameless(Exception):
    """The server names no authorization server, and nobody says that it is one itself, as in revision 2025-03-26."""


@asynccontextmanager
async def _errand(party: Party, revision: str | None) -> AsyncIterator[Errand]:
    async with httpx2.AsyncClient(timeout=ANSWER_SECONDS, headers={"user-agent": f"mcp-chat/{__version__}"}) as client:
        yield Errand(party, revision, client)


class Errand:
    """What is asked on behalf of one request."""

    def __init__(self, party: Party, revision: str | None, client: httpx2.AsyncClient) -> None:
        self.party, self._client = party, client
        self._name, self._server = party.name, party.url
        self._occasion = httpx2.Request("POST", party.url, headers={REVISION_HEADER: revision} if revision else {})

    async def sign_in(self, provider: Mended, kept: Credentials | None, challenge: Challenge) -> Credentials:
        """Raises SignInFailed, and ClientUnknown where the client has to be registered anew."""
        provider.take_up(kept)
        provider.challenge, provider.context.token_expiry_time = challenge, None
        header = {"www-authenticate": challenge.header}
        await self.run(provider, httpx2.Response(challenge.status, headers=header, request=self._occasion))
        return provider.credentials

    async def run(self, provider: Mended, refused: httpx2.Response | None) -> None:
        """Let the flow do its work. `refused` is how the request was answered, if it was."""
        try:
            issuer = await self._exchange(provider, refused)
            if issuer is not None:
                await self._exchange(provider, refused)
        except ClientUnknown:
            raise
        except _Nameless:
            why = "it does not say where. If it gave you a token, put that into its headers"
            raise failed(self._name, why) from None
        except OAuthRegistrationError as error:
            said = "what the authorization server gave is no registration" if error.__cause__ else str(error)
            raise failed(self._name, said) from None
        except OAuthFlowError as error:
            raise failed(self._name, error) from None
        except (ValueError, httpx2.InvalidURL):
            raise failed(self._name, "an answer of the authorization server is not what it should be") from None

    async def _exchange(self, provider: Mended, refused: httpx2.Response | None) -> str | None:
        """One run of the flow; the issuer, where it should be run again because of how that one is spelled."""
        issuer: object = None
        async with aclosing(provider.async_auth_flow(self._occasion)) as flow:
            try:
                sent = await anext(flow)
                if sent is self._occasion and refused is not None:
                    sent = await flow.asend(refused)
                while sent is not self._occasion:
                    if sent.method == "POST" and not (self.party.eager or provider.context.oauth_metadata):
                        raise _Nameless
                    answer = await self._fetch(sent)
                    issuer = _issuer_in(answer)
                    sent = await flow.asend(answer)
            except OAuthFlowError:
                if isinstance(issuer, str) and provider.respell(issuer):
                    return issuer
                raise
        return None

    async def _fetch(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, read whole; whether a redirection is followed is the SDK's to decide."""
        url = str(request.url)
        if objection := _objection(request, self._server):
            raise failed(self._name, f"{masked(url)} {objection}")
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                response = await self._client.send(request, stream=True)
                try:
                    body = await _read(response)
                finally:
                    with anyio.CancelScope(shield=True):
                        await response.aclose()
        except TimeoutError:
            raise failed(self._name, f"{masked(url)} did not answer in time") from None
        except httpx2.HTTPError as error:
            raise failed(self._name, lost(url, error)) from error
        headers = [(name, value) for name, value in response.headers.items() if name.lower() not in _DECODED]
        answer = httpx2.Response(response.status_code, headers=headers, content=body, request=request)
        answer.next_request = response.next_request
        return answer


async def _read(response: httpx2.Response) -> bytes:
    """As much of the body as an answer may have; what is longer than that is no JSON any more."""
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > ANSWER_LIMIT:
            return b""
    return body


def _issuer_in(answer: httpx2.Response) -> object:
    try:
        document = from_json(answer.content)
    except ValueError:
        return None
    return document.get("issuer") if isinstance(document, dict) else None


def _objection(request: httpx2.Request, server: str) -> str | None:
    """Why a URL that others named is not asked (section "Security Considerations").

    Secrets travel by TLS or not at all, and a server elsewhere has no business with what is on this network.
    """
    url = str(request.url)
    if request.method == "GET" and origin(url) == origin(server):
        return None
    if request.url.scheme != "https" and not (request.url.scheme == "http" and is_local(url)):
        return "is not asked: it has no https"
    if _is_private(url) and not _is_private(server):
        return "is not asked: it is an address of this network, and the server is not on it"
    return None


def _is_private(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return is_local(url) or host.endswith((".localhost", ".local", ".internal"))
