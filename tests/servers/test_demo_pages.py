"""The demo's pages, and the tool that sends people there."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import anyio
import pytest
from anyio import to_thread

from agent.mcp import Client, McpError, memory
from servers import demo
from servers.demo_pages import LONGEST_REQUEST, Pages, pages

pytestmark = pytest.mark.anyio

ERAS = ["2025-11-25", "2026-07-28"]
PAGES: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}


def fetch(url: str, *, press: bool = False) -> str:
    request = urllib.request.Request(url, data=b"" if press else None)
    with urllib.request.urlopen(request, timeout=5) as answer:
        said: str = answer.read().decode()
    return said


async def look(url: str, *, press: bool = False) -> str:
    return await to_thread.run_sync(lambda: fetch(url, press=press))


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


@pytest.mark.parametrize("era", ERAS)
async def test_an_account_is_linked_when_the_person_presses_the_button(era: str) -> None:
    heard: list[tuple[str, Any]] = []

    async def person(method: str, params: Any) -> Any:
        heard.append((method, dict(params)))
        assert "<h1>Link your &lt;b&gt; account with the demo?</h1>" in await look(params["url"])
        assert "Done." in await look(params["url"], press=True)
        return {"action": "accept"}

    def note(method: str, params: Any) -> None:
        heard.append((method, dict(params)))

    opened = Client(memory(demo.server), answer=person, capabilities=PAGES, protocol=era, on_notification=note)
    async with opened as client:
        with anyio.fail_after(5):
            assert text_of(await client.call_tool("link_account", {"service": "<b>"})) == "The <b> account is linked."
    (method, params), *told = heard
    assert (method, params["mode"], params["message"]) == ("elicitation/create", "url", "Please link your <b> account.")
    finished = ("notifications/elicitation/complete", {"elicitationId": params.get("elicitationId")})
    assert told == ([finished] if era == "2025-11-25" else [])


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_refusal_links_nothing(era: str, action: str) -> None:
    async def person(method: str, params: Any) -> Any:
        return {"action": action}

    async with Client(memory(demo.server), answer=person, capabilities=PAGES, protocol=era) as client:
        result = await client.call_tool("link_account", {"service": "x"})
    assert text_of(result) == "The x account was not linked."


@pytest.mark.parametrize("era", ERAS)
async def test_a_page_that_nobody_finishes_is_not_waited_for_for_ever(
    era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def person(method: str, params: Any) -> Any:
        return {"action": "accept"}

    monkeypatch.setattr(demo, "VISIT_SECONDS", 0.01)
    async with Client(memory(demo.server), answer=person, capabilities=PAGES, protocol=era) as client:
        result = await client.call_tool("link_account", {"service": "x"})
    assert text_of(result) == "The x account was not linked: nobody agreed on the page in 0.01 seconds."


async def test_a_client_that_opens_no_pages_is_told() -> None:
    async def person(method: str, params: Any) -> Any:
        raise AssertionError("it was not asked")

    forms: dict[str, Any] = {"elicitation": {"form": {}}}
    async with Client(memory(demo.server), answer=person, capabilities=forms, protocol="2026-07-28") as client:
        with pytest.raises(McpError, match="This client does not offer pages to open") as refused:
            await client.call_tool("link_account", {"service": "x"})
    assert (refused.value.code, refused.value.data) == (-32021, {"requiredCapabilities": {"elicitation": {"url": {}}}})


async def test_only_a_button_finishes_a_page_and_only_its_own() -> None:
    async with pages(None) as shown:
        first, second = await shown.open("one"), await shown.open("two")
        await look(first)
        assert not await shown.finished(first, 0.01)
        await look(first, press=True)
        assert await shown.finished(first, 0.01)
        assert not await shown.finished(second, 0.01)
        assert not await shown.finished("https://elsewhere/x", 0.01)
        with pytest.raises(urllib.error.HTTPError, match="404") as missing:
            await look(first + "x")
        missing.value.close()


@pytest.mark.parametrize("sent", [b"", b"\r\n\r\n", b"nonsense\r\n\r\n", b"x" * (LONGEST_REQUEST + 10)])
async def test_whatever_a_browser_sends_the_next_one_is_served(sent: bytes) -> None:
    async with pages(None) as shown:
        url = await shown.open("one")
        port = int(url.split(":")[2].split("/")[0])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(sent or b"G")
        assert "one" in await look(url)


def test_every_page_has_an_address_of_its_own() -> None:
    async def addresses() -> set[str]:
        async with pages(None) as shown:
            assert isinstance(shown, Pages)
            return {await shown.open("x") for _ in range(20)}

    assert len(anyio.run(addresses)) == 20
