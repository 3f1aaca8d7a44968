"""The SDK's OAuth flow, run to one side of the request that gave rise to it.

The flow is an `httpx2.Auth`: it wants to send the request itself, and lets no other through until that is answered,
which for a long call is long. So it is given the answer that came already, its own requests are made here, and when it
would send the request again it has done its work.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError

from agent.host.oauth.addresses import objection
from agent.host.oauth.browser import Redirecting
from agent.host.oauth.challenge import Challenge
from agent.host.oauth.errors import PortTaken, SignInNeeded, client_missing, client_refused, failed, needs_login
from agent.host.oauth.grants import CodeGrant, KeyGrant, SecretGrant
from agent.host.oauth.http import open_client
from agent.host.oauth.party import Party
from agent.host.oauth.provider import ClientMissing, ClientUnknown, Mended
from agent.host.oauth.store import Credentials
from agent.mcp.envelope import ConnectionLost
from agent.mcp.exchange import excerpt, masked, origin
from agent.mcp.protocol import REVISION_HEADER
from agent.mcp.transports.http_faults import lost

ANSWER_SECONDS = 30.0  # for one answer
ANSWER_LIMIT = 1024 * 1024  # bytes of it
_DECODED = ("content-encoding", "content-length", "content-type", "transfer-encoding")
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
    return provider.credentials.model_copy(update={"demanded": kept.demanded})


async def revoke(party: Party, kept: Credentials) -> None:
    """Ask the authorization server to forget the tokens too.

    Raises:
        SignInFailed: it cannot be asked.
    """
    provider = await _provider(party)
    provider.take_up(kept)
    async with _errand(party, None) as errand:
        try:
            if request := provider.revocation():
                await errand.fetch(request)
        except (OAuthFlowError, ValueError, httpx2.InvalidURL) as error:
            raise failed(party.name, error) from None


async def sign_in(
    party: Party, kept: Credentials | None, challenge: Challenge, revision: str | None, redirecting: Redirecting | None
) -> Credentials:
    """From a server's refusal to tokens. Without `redirecting` only a client that needs no person can do that.

    Raises:
        SignInNeeded: a person is needed.
        SignInFailed: there are no tokens, and why.
    """
    async with _errand(party, revision) as errand:
        try:
            if party.options.grant == "client_credentials":
                return await errand.sign_in(await _provider(party), kept, challenge)
            if redirecting is None:
                raise _needed(party, kept, challenge)
            return await _send_person(errand, kept, challenge, redirecting)
        except ClientUnknown as error:
            raise client_refused(party, error) from None


def _needed(party: Party, kept: Credentials | None, challenge: Challenge) -> SignInNeeded:
    if kept is None:
        return needs_login(party)
    if challenge.is_step_up:
        granted = (kept.scope or "").split()
        missing = " ".join(scope for scope in (challenge.scope or "").split() if scope not in granted)
        return needs_login(party, f"It asks for more than was granted{excerpt(f': {missing}') if missing else ''}.")
    return needs_login(party, "What was granted before no longer holds.")


async def _send_person(
    errand: Errand, kept: Credentials | None, challenge: Challenge, redirecting: Redirecting
) -> Credentials:
    """To the page of the authorization server, once more as a new client if it does not know this one any more."""
    try:
        return await _send(errand, kept, challenge, redirecting)
    except ClientUnknown:
        if errand.party.options.client_id or not kept:
            raise
        return await _send(errand, _unregistered(kept), challenge, redirecting)


async def _send(
    errand: Errand, kept: Credentials | None, challenge: Challenge, redirecting: Redirecting
) -> Credentials:
    """The page leads back to the address that the client is registered with.

    If that is another's by now, and nobody chose it, there has to be another address, and so another client.
    """
    options = errand.party.options
    async with AsyncExitStack() as stack:
        try:
            port = options.redirect_port or _registered_port(kept)
            redirect = await stack.enter_async_context(redirecting(port))
        except PortTaken:
            if options.redirect_port or not kept:
                raise
            kept = _unregistered(kept)
            redirect = await stack.enter_async_context(redirecting(None))
        return await errand.sign_in(CodeGrant(errand.party.url, options, redirect.uri, redirect.visit), kept, challenge)


def _unregistered(kept: Credentials) -> Credentials:
    return kept.model_copy(update={"client": {}})


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
    if not (isinstance(uris, list) and uris and isinstance(uris[0], str)):
        return None
    try:
        return urlsplit(uris[0]).port or None
    except ValueError:
        return None


class _Nameless(Exception):
    """The server names no authorization server, and nobody says that it is one itself, as in revision 2025-03-26."""


@asynccontextmanager
async def _errand(party: Party, revision: str | None) -> AsyncIterator[Errand]:
    async with open_client(party.name, ANSWER_SECONDS) as client:
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
        header = [(b"www-authenticate", challenge.header)]
        await self.run(provider, httpx2.Response(challenge.status, headers=header, request=self._occasion))
        return provider.credentials

    async def run(self, provider: Mended, refused: httpx2.Response | None) -> None:
        """Let the flow do its work. `refused` is how the request was answered, if it was."""
        try:
            issuer = await self._exchange(provider, refused)
            if issuer is not None:
                await self._exchange(provider, refused)
        except (ClientUnknown, ConnectionLost):
            raise
        except ClientMissing as missing:
            raise client_missing(self.party, str(missing)) from None
        except _Nameless:
            why = "it does not say where. If it gave you a token, put that into its headers"
            raise failed(self._name, why) from None
        except OAuthRegistrationError as error:
            said = "what the authorization server gave is no registration" if error.__cause__ else str(error)
            raise failed(self._name, said) from None
        except OAuthFlowError as error:
            raise failed(self._name, error) from None
        except (
            Exception
        ):  # the SDK and the libraries below it read what strangers wrote, and each stumbles in its own way
            raise failed(self._name, "an answer of the authorization server is not what it should be") from None

    async def _exchange(self, provider: Mended, refused: httpx2.Response | None) -> str | None:
        """One run of the flow; the issuer, where it should be run again because of how that one is spelled."""
        issuer: str | None = None
        async with aclosing(provider.async_auth_flow(self._occasion)) as flow:
            try:
                sent = await anext(flow)
                if sent is self._occasion and refused is not None:
                    sent = await flow.asend(refused)
                while sent is not self._occasion:
                    if sent.method == "POST":
                        self._check(provider)
                    answer = await self.fetch(sent)
                    issuer = provider.descriptions.read(answer)
                    sent = await flow.asend(answer)
            except OAuthFlowError:
                if issuer is not None and provider.respell(issuer):
                    return issuer
                raise
        return None

    def _check(self, provider: Mended) -> None:
        """Whether anything is said to anybody yet. Nothing is, to a server that only refused."""
        if provider.context.auth_server_url is None and not (self.party.eager or provider.context.oauth_metadata):
            raise _Nameless
        provider.check_discovery()

    async def fetch(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, read whole; whether a redirection is followed is the SDK's to decide."""
        url = str(request.url)
        is_own = request.method == "GET" and origin(url) == origin(self._server)
        if not is_own and (why := objection(url, self._server)):
            raise failed(self._name, f"{masked(url)} is not asked: {why}")
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
