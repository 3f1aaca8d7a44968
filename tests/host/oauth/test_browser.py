"""A person sent to a page and back: what is asked, what counts as coming back, and what does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketListener

from agent.chat.questions import Answer, FillForm, OpenUrl
from agent.host.oauth import browser as oauth_browser
from agent.host.oauth.browser import Browsing
from agent.host.oauth.errors import SignInDeclined, SignInFailed

pytestmark = pytest.mark.anyio

PAGE = "https://login.example/authorize?client_id=me&state=s-1"


async def ask_over(address: str, request: bytes) -> bytes:
    host, port = re.fullmatch(r"http://([\d.]+):(\d+)/callback", address).groups()  # type: ignore[union-attr]
    async with await anyio.connect_tcp(host, int(port)) as stream:
        await stream.send(request)
        answer = b""
        try:
            while True:
                answer += await stream.receive()
        except anyio.EndOfStream:
            return answer


@dataclass
class Visit:
    """One visit to a page: `comes` is what happens while the person is away, `answers` what they say to questions."""

    comes: Callable[[str], Any] | None = None
    answers: list[Answer] = field(default_factory=list)
    has_browser: bool = True
    asked: list[Any] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    uri: str = ""

    async def __call__(self, url: str = PAGE) -> str:
        with anyio.fail_after(5):
            async with Browsing("far", self._ask, self._open).redirecting() as redirect:
                self.uri = redirect.uri
                return await redirect.visit(url)

    async def _ask(self, question: OpenUrl | FillForm) -> Answer:
        self.asked.append(question)
        if self.answers:
            return self.answers.pop(0)
        await self._come()
        await anyio.sleep_forever()
        raise AssertionError

    async def _open(self, url: str) -> bool:
        self.opened.append(url)
        if self.has_browser:
            await self._come()
        return self.has_browser

    async def _come(self) -> None:
        if self.comes:
            await self.comes(self.uri)


def get(target: str) -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


YES, MYSELF, NO = Answer("accept"), Answer("accept", {"open": False}), Answer("decline")


async def back(uri: str) -> None:
    assert (await ask_over(uri, get("/callback?code=c-1&state=s-1"))).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_the_browser_opens_after_the_question_and_leads_back() -> None:
    visit = Visit(back, [YES])
    assert await visit() == f"{visit.uri}?code=c-1&state=s-1"
    assert visit.asked == [OpenUrl("far", "To sign in there:", PAGE, "login.example", ())]
    assert visit.opened == [PAGE]


async def test_whoever_opens_it_themselves_may_come_back_by_the_page() -> None:
    visit = Visit(back, [MYSELF])
    assert await visit() == f"{visit.uri}?code=c-1&state=s-1"
    assert visit.opened == []


async def test_or_bring_the_address_by_hand() -> None:
    visit = Visit(
        None, [YES, Answer("accept", {"address": "  http://127.0.0.1:1/callback?code=c-2&state=s-1\n"})], False
    )
    assert await visit() == f"{visit.uri}?code=c-2&state=s-1"
    assert [type(question) for question in visit.asked] == [OpenUrl, FillForm]


@pytest.mark.parametrize(
    "wrong",
    [
        "hello",
        "",
        "http://127.0.0.1:1/callback",
        "http://127.0.0.1:1/callback?code=c-2",
        "?code=c-2&state=s-9",
        "//[?[",
    ],
)
async def test_whoever_brings_another_address_is_told_and_may_try_again(wrong: str) -> None:
    right = Answer("accept", {"address": "http://127.0.0.1:1/callback?code=c-2&state=s-1"})
    visit = Visit(None, [MYSELF, Answer("accept", {"address": wrong}), right])
    assert await visit() == f"{visit.uri}?code=c-2&state=s-1"
    assert [form.message for form in visit.asked[1:]] == [
        f"Open this page, and bring back the address that it ends at.\n{PAGE}",
        f"That is not the address that this page ends at, or not all of it.\n{PAGE}",
    ]


@pytest.mark.parametrize("answers", [[NO], [YES, NO], [YES, Answer("accept")]])
async def test_a_no_is_a_no(answers: list[Answer]) -> None:
    with pytest.raises(SignInDeclined, match=r"^Nobody signed in to far: you said no\.$"):
        await Visit(None, answers, has_browser=False)()


async def test_who_does_not_come_back_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth_browser, "LOGIN_SECONDS", 0.05)
    with pytest.raises(SignInDeclined, match="nobody came back"):
        await Visit(None, [YES])()


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "https://", "https://login.example/a b"])
async def test_only_a_web_page_is_opened(url: str) -> None:
    visit = Visit(back, [YES])
    with pytest.raises(SignInFailed, match="the address of its page"):
        await visit(url)
    assert (visit.asked, visit.opened) == ([], [])


async def test_what_is_not_the_way_back_is_sent_away_and_does_not_end_the_wait() -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def comes(uri: str) -> None:
        for request in (
            get("/favicon.ico"),
            get("/callback"),
            get("/callback?code=c-0&state=another"),
            get("/callback?code=c-0&state=s-1&state=s-1"),
            b"POST /callback?code=c-0&state=s-1 HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01 nonsense\r\n\r\n",
            get("/callback?" + 20_000 * "x"),
            get("//["),
            get("http://[::1/callback"),
            b" \r\n\r\n",
        ):
            seen.append((request[:30], (await ask_over(uri, request)).split(b"\r\n")[0]))
        await back(uri)

    visit = Visit(comes, [YES])
    assert await visit() == f"{visit.uri}?code=c-1&state=s-1"
    assert [status.split(b" ")[1] for _, status in seen] == [
        *(b"404", b"400", b"400", b"400", b"404", b"404", b"400"),
        *(b"400", b"400", b"404"),
    ]


async def test_the_first_way_back_counts() -> None:
    async def comes(uri: str) -> None:
        await back(uri)
        await ask_over(uri, get("/callback?code=c-9&state=s-1"))

    visit = Visit(comes, [YES])
    assert await visit() == f"{visit.uri}?code=c-1&state=s-1"


async def test_who_connects_and_says_nothing_is_in_nobodys_way() -> None:
    async def comes(uri: str) -> None:
        port = int(uri.split(":")[2].split("/")[0])
        silent = await anyio.connect_tcp("127.0.0.1", port)
        await silent.send(b"GET /callb")
        await back(uri)
        await silent.aclose()

    assert await Visit(comes, [YES])()


async def test_however_many_connect_the_way_back_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth_browser, "VISITORS", 2)
    monkeypatch.setattr(oauth_browser, "REQUEST_SECONDS", 0.05)

    async def comes(uri: str) -> None:
        port = int(uri.split(":")[2].split("/")[0])
        silent = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(6)]
        await back(uri)
        for stream in silent:
            await stream.aclose()

    assert await Visit(comes, [YES])()


async def test_a_connection_that_cannot_be_taken_ends_nothing() -> None:
    class Failing(SocketListener):
        """Fails once, as it does when a program connects and is gone at once, and then gives what `inner` gives."""

        def __init__(self, inner: SocketListener) -> None:
            self._inner, self.failed = inner, False

        @property
        def _raw_socket(self) -> Any:
            return self._inner._raw_socket

        async def accept(self) -> Any:
            if not self.failed:
                self.failed = True
                raise OSError("gone")
            return await self._inner.accept()

        async def aclose(self) -> None:
            await self._inner.aclose()

    callback = oauth_browser._Callback("s-1")
    with anyio.fail_after(5):
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as inner, anyio.create_task_group() as tasks:
            failing = Failing(inner.listeners[0])  # type: ignore[arg-type]
            tasks.start_soon(callback.listen, failing)
            await back(f"http://127.0.0.1:{inner.extra(SocketAttribute.local_port)}/callback")
            assert failing.failed
            tasks.cancel_scope.cancel()


async def test_a_page_says_nothing_about_where_it_was_asked_from() -> None:
    answers: list[bytes] = []

    async def comes(uri: str) -> None:
        answers.append(await ask_over(uri, get("/callback?code=c-1&state=s-1")))

    await Visit(comes, [YES])()
    head, _, body = answers[0].partition(b"\r\n\r\n")
    assert b"referrer-policy: no-referrer" in head
    assert b"cache-control: no-store" in head
    assert b"c-1" not in body


async def test_a_port_that_is_taken_is_told() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as taken:
        port = taken.extra(SocketAttribute.local_port)
        with pytest.raises(SignInFailed, match=f"port {port}, to which its page leads back, is in use"):
            async with Browsing("far", Visit()._ask, Visit()._open).redirecting(port):
                pass
