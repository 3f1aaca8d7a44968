"""Signing in to servers, end to end: real servers on this machine, and everything real but the person."""

from __future__ import annotations

import json
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from agent.chat.outbox import Outbox
from agent.chat.questions import FillForm, OpenUrl
from agent.host.errors import HostError
from agent.host.oauth.access import Access
from agent.host.oauth.browser import Browsing
from agent.host.oauth.party import Party
from agent.host.oauth.store import open_store
from agent.host.trace import Trace
from agent.mcp.envelope import Envelope
from agent.mcp.jsonrpc import Notification
from tests.authorization_server import World, world
from tests.host.scene import Scene
from tests.host.signing_in import Person, hosted

pytestmark = pytest.mark.anyio


async def add(view: Scene) -> Any:
    return (await view.host.call_tool("add", {"a": 3, "b": 5})).structured_content


def far(there: World, **table: Any) -> dict[str, Any]:
    return {"url": there.url, "auth": "oauth", **table}


async def test_a_person_signs_in_once_and_the_next_run_finds_the_token(tmp_path: Path) -> None:
    async with world() as there:
        person = Person()
        async with hosted(tmp_path, person, far=far(there)) as view:
            assert await add(view) == {"result": 8}
            [server] = view.host.servers()
            assert (server.state, server.sign_in) == ("ready", "signed in")
        [asked] = person.asked
        assert isinstance(asked, OpenUrl)
        place = there.authority.issuer.removeprefix("http://")
        assert (asked.server, asked.host, asked.message) == ("far", place, "To sign in there, for notes:read:")
        assert asked.url.startswith(f"{there.authority.issuer}/authorize?")
        assert "You can close this page" in person.pages[0]
        async with hosted(tmp_path, None, far=far(there)) as view:
            assert await add(view) == {"result": 8}
        assert there.authority.counted == {"register": 1, "authorize": 1, "authorization_code": 1}


async def test_a_server_that_wants_it_is_signed_in_to_without_being_configured_so(tmp_path: Path) -> None:
    async with world() as there, hosted(tmp_path, person := Person(), far={"url": there.url}) as view:
        assert await add(view) == {"result": 8}
        assert len(person.urls) == 1


async def test_whoever_says_no_is_told_how_it_goes_later_and_not_asked_again(tmp_path: Path) -> None:
    from agent.chat.questions import Answer

    class Unwilling(Person):
        def answer(self, question: Any) -> Answer:
            super().answer(question)
            return Answer("decline")

    async with world() as there, hosted(tmp_path, person := Unwilling(), far=far(there)) as view:
        [server] = view.host.servers()
        said = "Nobody signed in to far: you said no. Later it goes with: mcp-chat login far"
        assert (server.state, server.detail, server.sign_in) == ("failed", said, "not signed in")
        assert len(person.asked) == 1
        await view.host.reconnect("far")
        assert len(person.asked) == 2


async def test_where_nobody_can_be_asked_the_command_is_told_and_no_page_is_opened(tmp_path: Path) -> None:
    async with world() as there, hosted(tmp_path, None, far=far(there)) as view:
        [server] = view.host.servers()
        assert (server.state, server.detail) == ("failed", "far wants you to sign in. Run: mcp-chat login far")
        assert there.authority.counted == {}


async def test_a_token_that_ran_out_is_renewed_in_silence(tmp_path: Path) -> None:
    async with world() as there:
        there.authority.lifetime = 0
        async with hosted(tmp_path, Person(), far=far(there)):
            pass
        there.authority.lifetime = 3600
        refreshed = there.authority.counted["refresh_token"]
        async with hosted(tmp_path, None, far=far(there)) as view:
            assert await add(view) == {"result": 8}
        assert there.authority.counted["refresh_token"] == refreshed + 1
        assert there.authority.counted["authorize"] == 1


async def test_many_requests_that_find_the_token_gone_renew_it_once(tmp_path: Path) -> None:
    async with world() as there, hosted(tmp_path, Person(), far=far(there)) as view:
        there.authority.expire()
        results: list[Any] = []

        async def one() -> None:
            results.append(await add(view))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(one)
        assert results == [{"result": 8}] * 5
        assert there.authority.counted["refresh_token"] == 1


async def test_a_revoked_token_is_asked_for_anew(tmp_path: Path) -> None:
    async with world() as there, hosted(tmp_path, person := Person(), far=far(there)) as view:
        there.authority.revoke()
        assert await add(view) == {"result": 8}
        assert len(person.urls) == 2
        assert there.authority.counted == {"register": 1, "authorize": 2, "authorization_code": 2}


async def test_without_a_person_a_revoked_token_is_told_and_nothing_hangs(tmp_path: Path) -> None:
    async with world() as there:
        async with hosted(tmp_path, Person(), far=far(there)):
            pass
        async with hosted(tmp_path, None, far=far(there)) as view:
            there.authority.revoke()
            with pytest.raises(HostError) as caught:
                await add(view)
        said = "far wants you to sign in. What was granted before no longer holds. Run: mcp-chat login far"
        assert str(caught.value) == said


async def test_a_larger_scope_is_asked_for_when_it_is_needed_and_keeps_the_smaller(tmp_path: Path) -> None:
    async with world() as there, hosted(tmp_path, person := Person(), far=far(there)) as view:
        result = await view.host.call_tool("delete_note", {"id": 7})
        assert [block.text for block in result.content] == ["deleted 7"]
        assert await add(view) == {"result": 8}
        assert [asked["scope"] for asked in there.authority.asked] == ["notes:read", "notes:read notes:write"]
        assert len(person.urls) == 2


async def test_a_larger_scope_that_nobody_can_be_asked_for_is_remembered_for_the_next_login(tmp_path: Path) -> None:
    async with world() as there:
        async with hosted(tmp_path, Person(), far=far(there)):
            pass
        async with hosted(tmp_path, None, far=far(there)) as view:
            for _ in range(2):
                with pytest.raises(HostError) as caught:
                    await view.host.call_tool("delete_note", {"id": 7})
                assert str(caught.value) == (
                    "far wants you to sign in. It asks for more than was granted: notes:write. Run: mcp-chat login far"
                )
            assert await add(view) == {"result": 8}
            await sign_in(tmp_path, there)
            result = await view.host.call_tool("delete_note", {"id": 7})  # another process has signed in
            assert [block.text for block in result.content] == ["deleted 7"]
        assert [asked["scope"] for asked in there.authority.asked] == ["notes:read", "notes:read notes:write"]


async def test_what_was_demanded_outlives_a_renewal(tmp_path: Path) -> None:
    async with world() as there:
        async with hosted(tmp_path, Person(), far=far(there)):
            pass
        async with hosted(tmp_path, None, far=far(there)) as view:
            with pytest.raises(HostError):
                await view.host.call_tool("delete_note", {"id": 7})
            there.authority.expire()
            assert await add(view) == {"result": 8}
        await sign_in(tmp_path, there)
        assert there.authority.asked[-1]["scope"] == "notes:read notes:write"


async def test_a_larger_scope_that_was_asked_for_and_not_granted_is_not_asked_for_again(tmp_path: Path) -> None:
    async with world() as there:
        async with hosted(tmp_path, Person(), far=far(there)):
            pass
        there.authority.withheld = {"notes:write"}
        async with hosted(tmp_path, None, far=far(there)) as view:
            with pytest.raises(HostError, match="Run: mcp-chat login far"):
                await view.host.call_tool("delete_note", {"id": 7})
        await sign_in(tmp_path, there)
        async with hosted(tmp_path, None, far=far(there)) as view:
            with pytest.raises(HostError, match=r"refuses access \(403\)"):
                await view.host.call_tool("delete_note", {"id": 7})


async def test_a_server_that_cannot_be_signed_in_to_is_nobody_elses_trouble(tmp_path: Path) -> None:
    robot = {"grant": "client_credentials", "client_id": "robot", "client_secret": "wrong"}
    async with (
        world() as there,
        world() as other,
        hosted(tmp_path, Person(), far=far(there, oauth=robot), near=far(other)) as view,
    ):
        assert {server.name: (server.state, server.detail) for server in view.host.servers()} == {
            "far": (
                "failed",
                "Signing in to far failed: the authorization server gave no token: invalid_client. "
                "Check client_id and client_secret in [servers.far.oauth].",
            ),
            "near": ("ready", "2 tools"),
        }
        assert await add(view) == {"result": 8}


async def sign_in(folder: Path, there: World) -> None:
    """What `login` does, in a process of its own."""
    browsing = Browsing("far", answer_with(person := Person()), person.open_page)
    await Access(Party("far", there.url), open_store(folder, lambda: None), folder, browsing.redirecting).sign_in()


def answer_with(person: Person) -> Any:
    async def ask(question: Any) -> Any:
        return person.answer(question)

    return ask


async def test_an_authorization_server_that_is_down_costs_no_token(tmp_path: Path) -> None:
    async with world() as there, hosted(tmp_path, person := Person(), far=far(there)) as view:
        there.authority.expire()
        there.authority.out_of_order = True
        with pytest.raises(HostError) as caught:
            await add(view)
        assert str(caught.value) == "Signing in to far failed: the authorization server answered with 503."
        there.authority.out_of_order = False
        assert await add(view) == {"result": 8}
        assert len(person.urls) == 1


async def test_without_a_browser_the_address_can_be_brought_by_hand(tmp_path: Path) -> None:
    person = Person(has_browser=False)
    async with world() as there, hosted(tmp_path, person, far=far(there)) as view:
        assert await add(view) == {"result": 8}
        asked, form = person.asked
        assert isinstance(form, FillForm)
        assert isinstance(asked, OpenUrl)
        assert form.message == f"Open this page, and bring back the address that it ends at.\n{asked.url}"


async def test_a_token_that_is_never_taken_is_told(tmp_path: Path) -> None:
    async with world() as there:
        there.authority.lifetime = -1
        async with hosted(tmp_path, Person(), far=far(there)) as view:
            [server] = view.host.servers()
    said = "Signing in to far failed: it does not take the token that its authorization server gave."
    assert (server.state, server.detail) == ("failed", said)


async def test_a_server_that_wants_it_is_not_signed_in_to_as_long_as_nobody_is(tmp_path: Path) -> None:
    async with world() as there, hosted(tmp_path, None, far={"url": there.url}) as view:
        [server] = view.host.servers()
        assert server.sign_in == "not signed in"


async def test_a_damaged_memory_is_as_good_as_none(tmp_path: Path) -> None:
    async with world() as there:
        async with hosted(tmp_path, Person(), far=far(there)):
            there.authority.revoke()
        path = tmp_path / "descriptions.json"
        [(key, described)] = json.loads(path.read_text()).items()
        path.write_text(json.dumps({key: described | {"metadata": {"issuer": 7}}}))
        async with hosted(tmp_path, Person(), far=far(there)) as view:
            assert await add(view) == {"result": 8}


@pytest.mark.parametrize("name", ["tokens.json", "sign-ins.json"])
@pytest.mark.parametrize("damage", ["{", "[" * 100_000, "7", "\udcff"])
async def test_that_the_memory_is_damaged_is_told(tmp_path: Path, name: str, damage: str) -> None:
    async with world() as there:
        async with hosted(tmp_path, Person(), far=far(there)):
            pass
        (tmp_path / name).write_text(damage, "utf-8", "surrogateescape")
        async with hosted(tmp_path, None, far=far(there)) as view:
            [server] = view.host.servers()
        assert server.detail == (
            f"far wants you to sign in. What was kept of that is lost: {tmp_path / name} is damaged. "
            "Run: mcp-chat login far"
        )
        async with hosted(tmp_path, Person(), far=far(there)) as view:
            assert await add(view) == {"result": 8}


async def test_a_person_may_take_longer_than_a_server_may(tmp_path: Path) -> None:
    class Slow(Person):
        async def open_page(self, url: str) -> bool:
            with anyio.move_on_after(1.1):
                await anyio.Event().wait()
            return await super().open_page(url)

    async with world() as there, hosted(tmp_path, Slow(), far=far(there, connect_timeout=1, timeout=1)) as view:
        assert await add(view) == {"result": 8}
        there.authority.revoke()
        assert await add(view) == {"result": 8}


async def test_a_server_with_a_token_of_its_own_is_not_signed_in_to(tmp_path: Path) -> None:
    async with world() as there:
        person = Person()
        headers = {"Authorization": "Bearer made-up"}
        async with hosted(tmp_path, person, far={"url": there.url, "headers": headers}) as view:
            [server] = view.host.servers()
        said = (
            f"The server at {there.url} wants to know who you are (401): The token is not valid. "
            "It does not take the token in this server's headers: put one there that it gave you."
        )
        assert server.detail == said
        assert (person.asked, server.sign_in) == ([], "")


async def test_without_the_extra_it_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agent.host.oauth.flow", None)
    monkeypatch.delattr("agent.host.oauth.flow", raising=False)
    async with world() as there, hosted(tmp_path, Person(), far=far(there)) as view:
        [server] = view.host.servers()
    said = "far wants you to sign in, which needs the extra oauth: pip install 'mcp-chat-agent[oauth]'"
    assert (server.state, server.detail) == ("failed", said)


async def test_a_request_to_anybody_else_is_not_signed(tmp_path: Path) -> None:
    async with world() as there, hosted(tmp_path, Person(), far=far(there)):
        access = Access(Party("far", there.url), open_store(tmp_path, lambda: None), tmp_path)
        sent: dict[str, Any] = {}
        for url in (there.url, there.url.replace("http:", "https:"), "http://127.0.0.1:9/mcp", "http://localhost/mcp"):
            async with aclosing(access.async_auth_flow(httpx2.Request("POST", url))) as flow:
                sent[url] = (await anext(flow)).headers.get("authorization", "")[:13]
    assert list(sent.values()) == ["Bearer access", "", "", ""]


def test_a_secret_that_comes_up_later_stands_in_no_trace_either(tmp_path: Path) -> None:
    trace = Trace(Outbox(), ["configured-secret"], tmp_path / "trace.jsonl")
    trace.hide({"access-0123456789"})
    said = {"text": 'access-0123456789 and "configured-secret"'}
    trace.tap("far")("received", Envelope((Notification("notifications/message", said),)))
    trace.close()
    [line] = (tmp_path / "trace.jsonl").read_text().splitlines()
    assert json.loads(line)["message"]["params"] == {"text": '*** and "***"'}
    assert "access-0123456789" not in "".join(trace.last(1))
