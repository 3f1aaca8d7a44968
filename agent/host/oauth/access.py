"""Requests to one server, signed: with the token that is kept, renewed once it has run out, asked for if there is none.

However many requests find out at once that the token is no good, it is renewed once, also across processes.
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

ATTEMPTS = 4  # to send one request: as it is, with a fresh token, with a new one, with a larger one
STEPS = 2  # times that the same larger scope is asked for: a server may refuse it whatever is granted

Hide = Callable[[set[str]], None]
Tried = set[Literal["refresh", "sign in"]]


class Access(httpx2.Auth):
    """`redirecting` leads a person to a page; without it nobody is asked. `hide` is told every secret that comes up."""

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
        """Whether there is a token; "" as long as that does not matter."""
        if self._kept and self._kept.access_token:
            return "signed in"
        return "not signed in" if self._party.eager or self._wanted else ""

    @property
    def unkept(self) -> str:
        """Why what signing in gave us is lost after this run; empty if it is not."""
        return self._unkept

    def begin(self) -> None:
        """The server is connected to anew: who said no may have another mind now."""
        self._declined = False
        self._steps.clear()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """
        Raises:
            SignInNeeded: a person has to sign in, and nobody can be asked.
            SignInFailed: it was tried.
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
        """Now, whatever is kept. Raises as `async_auth_flow` does."""
        async with self._lock:
            await self._load()
            await self._sign_in(challenge or Challenge(), None)

    def _challenge(self, response: httpx2.Response) -> Challenge | None:
        status = response.status_code
        challenge = read_challenge(status, response.headers.get("www-authenticate", ""))
        return Challenge() if challenge is None and status == 401 and self._party.eager else challenge

    async def _current(self, revision: str | None) -> Credentials | None:
        """What to sign with: what is kept, renewed if it has run out."""
        if self._kept and self._kept.is_usable(time.time()):
            return self._kept
        async with self._lock:
            await self._load()
            if self._kept and self._kept.access_token and not self._kept.is_usable(time.time()):
                await self._refresh(self._kept, revision)
            return self._kept

    async def _renew(self, used: Credentials | None, challenge: Challenge, tried: Tried, revision: str | None) -> bool:
        """Whether there is something better to sign with than what was refused."""
        async with self._lock:
            if self._kept and _token(self._kept) != _token(used) and _fits(self._kept, challenge):
                return True  # another request has been here
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
        """More than was granted before; perhaps another process has asked for it already."""
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
        """Whether there are other tokens now: from the authorization server, or from another process."""
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
        """What a larger scope was demanded, so that whoever signs in by themselves later asks for it."""
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
        """Where nothing can be kept, it holds for this run."""
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
        """No other process is in such a block for the same thing."""
        name = hashlib.sha256(what.encode()).hexdigest()[:16]
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(exclusive(self._folder / f"oauth-{name}.lock"))
            except TimeoutError:
                raise failed(self._party.name, "another mcp-chat has been at it for a minute") from None
            except OSError:
                pass  # where nothing can be kept, there is nothing to share
            yield


def _token(credentials: Credentials | None) -> str:
    return credentials.access_token if credentials else ""


def _fits(kept: Credentials, challenge: Challenge) -> bool:
    return kept.covers(challenge.scope) if challenge.is_step_up else bool(kept.access_token)


def _sign(request: httpx2.Request, credentials: Credentials | None) -> None:
    if credentials and credentials.access_token:
        request.headers["authorization"] = f"Bearer {credentials.access_token}"


def _flow(name: str) -> ModuleType:
    """What signs in, once it is needed: it takes a while to load."""
    try:
        from agent.host.oauth import flow as oauth_flow
    except ImportError as error:
        raise extra_missing(name) from error
    return oauth_flow
