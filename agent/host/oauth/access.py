"""Authorizes requests to one server: with the stored token, refreshed when it expires, or a new one from signing in.

If several requests find the token invalid at the same time, it is renewed only once, also across processes.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Literal

import anyio
import anyio.to_thread
import httpx2

from agent.host.oauth.browser import Redirecting
from agent.host.oauth.challenge import Challenge, read_challenge
from agent.host.oauth.errors import SignInDeclined, SignInNeeded, extra_missing, failed, needs_login
from agent.host.oauth.lock import exclusive
from agent.host.oauth.party import Party
from agent.host.oauth.store import Credentials, Store
from agent.mcp.exchange import origin
from agent.mcp.protocol import REVISION_HEADER

ATTEMPTS = 4  # for one request: as it is, with a refreshed token, with a new one, with a larger scope
STEPS = 2  # requests for the same larger scope: a server may reject it even after it was granted

Hide = Callable[[set[str]], None]
Tried = set[Literal["refresh", "sign in"]]


class Access(httpx2.Auth):
    """`redirecting` sends a person to a page; None if nobody can be asked. `hide` is called with every new secret."""

    def __init__(
        self, party: Party, store: Store, folder: Path, redirecting: Redirecting | None = None, hide: Hide | None = None
    ) -> None:
        self._party, self._store, self._folder = party, store, folder
        self._redirecting, self._hide = redirecting, hide
        self._kept: Credentials | None = None
        self._loaded = self._declined = self._wanted = False
        self._unkept = ""
        self._steps: Counter[frozenset[str]] = Counter()
        self._lock = anyio.Lock()

    @property
    def state(self) -> Literal["", "signed in", "not signed in"]:
        """Whether there is a token; "" as long as none has been required."""
        if self._kept and self._kept.access_token:
            return "signed in"
        return "not signed in" if self._party.eager or self._wanted else ""

    @property
    def unkept(self) -> str:
        """Why the tokens cannot be stored and are lost after this run; empty if they are stored."""
        return self._unkept

    def begin(self) -> None:
        """On a new connection: a person who declined before may be asked again."""
        self._declined = False
        self._steps.clear()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """
        Raises:
            SignInNeeded: a person has to sign in, but nobody can be asked.
            SignInFailed: signing in failed.
        """
        if origin(str(request.url)) != origin(self._party.url):
            yield request
            return
        revision, tried = request.headers.get(REVISION_HEADER), Tried()
        used = await self._current(revision)
        _sign(request, used)
        response = yield request
        for _ in range(ATTEMPTS - 1):
            challenge = self._challenge(response)
            self._wanted = self._wanted or challenge is not None
            if challenge is None or not await self._renew(used, challenge, tried, revision):
                break
            used = self._kept
            _sign(request, used)
            response = yield request
        if response.status_code == 401 and self._wanted and _token(used):
            raise failed(self._party.name, "it does not take the token that its authorization server gave")

    async def sign_in(self, challenge: Challenge | None = None) -> None:
        """Sign in now, even if there are tokens. Raises as `async_auth_flow` does."""
        async with self._lock:
            await self._load()
            await self._sign_in(challenge or Challenge(), None)

    def _challenge(self, response: httpx2.Response) -> Challenge | None:
        status = response.status_code
        challenge = read_challenge(status, response.headers.get("www-authenticate", ""))
        return Challenge() if challenge is None and status == 401 and self._party.eager else challenge

    async def _current(self, revision: str | None) -> Credentials | None:
        """The credentials for the request: the stored ones, refreshed if they have expired."""
        if self._kept and self._kept.is_usable(time.time()):
            return self._kept
        async with self._lock:
            await self._load()
            if self._kept and self._kept.access_token and not self._kept.is_usable(time.time()):
                await self._refresh(self._kept, revision)
            return self._kept

    async def _renew(self, used: Credentials | None, challenge: Challenge, tried: Tried, revision: str | None) -> bool:
        """Renew the credentials after a refusal. Returns whether there are other ones now."""
        async with self._lock:
            if self._kept and _token(self._kept) != _token(used) and _fits(self._kept, challenge):
                return True  # another request has renewed them
            if challenge.is_step_up:
                return await self._step_up(challenge, revision)
            if "refresh" not in tried:
                tried.add("refresh")
                if await self._refresh(used, revision):
                    return True
            if "sign in" in tried:
                return False
            tried.add("sign in")
            await self._sign_in(challenge, revision)
            return True

    async def _step_up(self, challenge: Challenge, revision: str | None) -> bool:
        """Obtain a larger scope, unless another process has. Returns False if that was tried before in vain."""
        there, here = await self._read(), self._kept
        if there and _token(there) != _token(here) and there.covers(challenge.scope):
            self._take(there)
            return True
        if self._redirecting:
            self._steps[challenge.scopes] += 1
            in_vain = self._steps[challenge.scopes] > STEPS
        else:
            in_vain = here is not None and challenge.scopes <= set((here.requested or "").split())
        if not in_vain:
            await self._sign_in(challenge, revision)
        return not in_vain

    async def _load(self) -> None:
        if not self._loaded:
            self._take(await self._read())
            self._loaded = True

    async def _refresh(self, used: Credentials | None, revision: str | None) -> bool:
        """Refresh the tokens, unless another process has. Returns whether there are new ones."""
        async with self._alone(self._party.url):
            kept = await self._read() or used
            if kept and kept.is_usable(time.time()) and _token(kept) != _token(used):
                self._take(kept)
                return True
            if kept is None or kept.refresh_token is None:
                return False
            await self._keep(await _flow(self._party.name).refresh(self._party, kept, revision))
        return bool(self._kept and self._kept.access_token)

    async def _sign_in(self, challenge: Challenge, revision: str | None) -> None:
        if self._declined:
            raise needs_login(self._party)
        flow = _flow(self._party.name)
        try:
            fresh = await flow.sign_in(self._party, self._kept, challenge, revision, self._redirecting)
        except SignInDeclined as no:
            self._declined = True
            raise SignInDeclined(f"{no} Later it goes with: {self._party.login_command}") from None
        except SignInNeeded:
            await self._remember(challenge)
            if self._kept is None and (damaged := await anyio.to_thread.run_sync(self._store.damaged)):
                raise needs_login(self._party, f"What was kept of that is lost: {damaged} is damaged.") from None
            raise
        async with self._alone(self._party.url):
            await self._keep(fresh)

    async def _remember(self, challenge: Challenge) -> None:
        """Store the larger scope that was required, so that a later sign-in requests it."""
        if not (challenge.is_step_up and challenge.scope):
            return
        async with self._alone(self._party.url):
            kept = await self._read() or self._kept
            if kept:
                demanded = " ".join(sorted(challenge.scopes | set((kept.demanded or "").split())))
                await self._keep(kept.model_copy(update={"demanded": demanded}))

    async def _read(self) -> Credentials | None:
        return await anyio.to_thread.run_sync(self._store.read, self._party.url)

    async def _keep(self, fresh: Credentials) -> None:
        """Store the credentials; if that fails, they are kept in memory for this run."""
        self._take(fresh)
        async with self._alone("tokens"):
            try:
                await anyio.to_thread.run_sync(self._store.write, fresh)
                self._unkept = ""
            except OSError as error:
                self._unkept = f"{error.strerror}: {error.filename}" if error.filename else str(error)

    def _take(self, kept: Credentials | None) -> None:
        self._kept = kept
        if kept and self._hide:
            self._hide(kept.secrets)

    @asynccontextmanager
    async def _alone(self, what: str) -> AsyncIterator[None]:
        """Exclude other processes from the same operation while the block runs."""
        name = hashlib.sha256(what.encode()).hexdigest()[:16]
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(exclusive(self._folder / f"oauth-{name}.lock"))
            except TimeoutError:
                raise failed(self._party.name, "another mcp-chat has been at it for a minute") from None
            except OSError:
                pass  # without a writable folder there is nothing to share between processes
            yield


def _token(credentials: Credentials | None) -> str:
    return credentials.access_token if credentials else ""


def _fits(kept: Credentials, challenge: Challenge) -> bool:
    return kept.covers(challenge.scope) if challenge.is_step_up else bool(kept.access_token)


def _sign(request: httpx2.Request, credentials: Credentials | None) -> None:
    if credentials and credentials.access_token:
        request.headers["authorization"] = f"Bearer {credentials.access_token}"


def _flow(name: str) -> ModuleType:
    """The module that signs in, imported on first use because that is slow."""
    try:
        from agent.host.oauth import flow as oauth_flow
    except ImportError as error:
        raise extra_missing(name) from error
    return oauth_flow
