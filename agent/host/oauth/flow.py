"""Runs the SDK's OAuth flow separately from the request that needs a token.

The flow is an `httpx2.Auth` that would send the request itself, and holds a lock until the response has arrived, which
blocks other requests during a long call. So here it is given the response already received, its own requests are sent
by this module, and it ends when it would repeat the original request.
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

ANSWER_SECONDS = 30.0  # for one response
ANSWER_LIMIT = 1024 * 1024  # bytes of its body
_DECODED = ("content-encoding", "content-length", "content-type", "transfer-encoding")
LOOPBACK_URI = "http://127.0.0.1/callback"


async def refresh(party: Party, kept: Credentials, revision: str | None) -> Credentials:
    """The credentials after a refresh; without tokens if the refresh token was rejected.

    Raises:
        SignInFailed: the outcome of the refresh is unknown.
    """
    provider = await _provider(party)
    provider.take_up(kept)
    provider.context.token_expiry_time = 1.0  # in the past, so that the flow begins with a refresh
    async with _errand(party, revision) as errand:
        await errand.run(provider, None)
    return provider.credentials.model_copy(update={"demanded": kept.demanded})


async def revoke(party: Party, kept: Credentials) -> None:
    """Ask the authorization server to revoke the tokens.

    Raises:
        SignInFailed: the request failed.
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
    """Obtain tokens after a challenge. Without `redirecting`, only the client credentials grant is possible.

    Raises:
        SignInNeeded: a person has to sign in.
        SignInFailed: no tokens were obtained; the text says why.
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
    """Send the person to sign in; once more with a new registration if the client is no longer known."""
    try:
        return await _send(errand, kept, challenge, redirecting)
    except ClientUnknown:
        if errand.party.options.client_id or not kept:
            raise
        return await _send(errand, _unregistered(kept), challenge, redirecting)


async def _send(
    errand: Errand, kept: Credentials | None, challenge: Challenge, redirecting: Redirecting
) -> Credentials:
    """Redirect to the URI that the client is registered with.

    If its port is now in use, and was not configured, the client is registered again with another port.
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
    """A provider for a grant without a person."""
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
    """The server names no authorization server and has no metadata of its own, as in revision 2025-03-26."""


@asynccontextmanager
async def _errand(party: Party, revision: str | None) -> AsyncIterator[Errand]:
    async with open_client(party.name, ANSWER_SECONDS) as client:
        yield Errand(party, revision, client)


class Errand:
    """The OAuth requests made on behalf of one request."""

    def __init__(self, party: Party, revision: str | None, client: httpx2.AsyncClient) -> None:
        self.party, self._client = party, client
        self._name, self._server = party.name, party.url
        self._occasion = httpx2.Request("POST", party.url, headers={REVISION_HEADER: revision} if revision else {})

    async def sign_in(self, provider: Mended, kept: Credentials | None, challenge: Challenge) -> Credentials:
        """Raises SignInFailed, and ClientUnknown if the client has to be registered again."""
        provider.take_up(kept)
        provider.challenge, provider.context.token_expiry_time = challenge, None
        header = [(b"www-authenticate", challenge.header)]
        await self.run(provider, httpx2.Response(challenge.status, headers=header, request=self._occasion))
        return provider.credentials

    async def run(self, provider: Mended, refused: httpx2.Response | None) -> None:
        """Run the flow. `refused` is the response to the original request, if there was one."""
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
        except Exception:  # they parse untrusted data, and raise many kinds of exceptions
            raise failed(self._name, "an answer of the authorization server is not what it should be") from None

    async def _exchange(self, provider: Mended, refused: httpx2.Response | None) -> str | None:
        """Run the flow once. Returns the issuer if it must run again because of a different spelling of the issuer."""
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
        """Before the first POST: check that an authorization server has been identified, not just a 401 received."""
        if provider.context.auth_server_url is None and not (self.party.eager or provider.context.oauth_metadata):
            raise _Nameless
        provider.check_discovery()

    async def fetch(self, request: httpx2.Request) -> httpx2.Response:
        """The response, read completely; whether to follow a redirect is left to the SDK."""
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
    """The body; empty if it exceeds the size limit."""
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > ANSWER_LIMIT:
            return b""
    return body
