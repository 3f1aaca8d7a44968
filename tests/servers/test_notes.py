"""The notes server as a client sees it, over a file that another process may change."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent.mcp import Client, McpError, memory, stdio
from servers.notes import INDEX, LISTED, default_path, main, notes_server
from servers.notes_store import Store

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as store:
        yield store


class News:
    """What the server told."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._more = anyio.Event()

    def note(self, method: str, params: Any) -> None:
        self.heard.append(params.get("uri") or method)
        self._more.set()
        self._more = anyio.Event()

    async def hear(self, *awaited: str) -> None:
        while not set(awaited) <= set(self.heard):
            await self._more.wait()
        self.heard.clear()


@asynccontextmanager
async def connected(store: Store, news: News | None = None, **options: Any) -> AsyncIterator[Client]:
    heard = (news or News()).note
    with anyio.fail_after(10):
        async with Client(memory(notes_server(store)), on_notification=heard, **options) as client:
            yield client


def answering(answer: Any, asked: list[Any]) -> Callable[..., Any]:
    async def respond(method: str, params: Any) -> Any:
        asked.append(params)
        return answer

    return respond


def said(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def test_a_note_is_written_found_edited_and_listed(store: Store) -> None:
    async with connected(store) as client:
        added = (await client.call_tool("add_note", {"text": "# Bread\nrye", "tags": ["#food"]})).structured_content
        assert added == {"id": 1, "text": "# Bread\nrye", "tags": ["food"], "created": added["created"],
                         "modified": added["modified"]}  # fmt: skip
        found = await client.call_tool("search_notes", {"query": "rye AND ("})
        assert found.structured_content == {"result": []}
        found = await client.call_tool("search_notes", {"query": "RY foo"})
        hit = {"id": 1, "title": "Bread", "tags": ["food"], "excerpt": "# Bread\nrye"}
        assert found.structured_content == {"result": [hit]}
        edited = await client.call_tool("edit_note", {"id": 1, "text": "wheat"})
        assert edited.structured_content == added | {"text": "wheat", "modified": edited.structured_content["modified"]}
        listed = await client.call_tool("list_notes", {"tag": "#food", "limit": -3})
        entry = {"id": 1, "title": "wheat", "tags": ["food"], "modified": edited.structured_content["modified"]}
        assert listed.structured_content == {"result": [entry]}
        assert (await client.call_tool("list_notes", {"tag": "none"})).structured_content == {"result": []}


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("add_note", {"text": " "}, "A note needs a text."),
        ("edit_note", {"id": 1}, "Nothing to change: give text, tags, or both."),
        ("edit_note", {"id": 7, "text": "x"}, "There is no note 7."),
        ("delete_note", {"id": 10**30}, f"There is no note {10**30}."),
    ],
)
async def test_what_cannot_be_done_is_said(store: Store, tool: str, arguments: Any, words: str) -> None:
    store.add("kept")
    async with connected(store) as client:
        result = await client.call_tool(tool, arguments)
        assert (result.is_error, said(result)) == (True, words)


async def test_the_tools_say_what_they_do_to_the_notes(store: Store) -> None:
    async with connected(store) as client:
        hints = {tool.name: tool.annotations.model_dump(exclude_none=True) for tool in await client.list_tools()}
    closed = {"open_world_hint": False}
    reads = closed | {"read_only_hint": True}
    changes = closed | {"read_only_hint": False, "destructive_hint": True, "idempotent_hint": True}
    adds = closed | {"read_only_hint": False, "destructive_hint": False, "idempotent_hint": False}
    assert hints == {"search_notes": reads, "list_notes": reads, "add_note": adds, "edit_note": changes,
                     "delete_note": changes}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ({"action": "accept", "content": {"delete": True}}, False),
        ({"action": "accept", "content": {"delete": False}}, True),
        ({"action": "accept", "content": {}}, True),
        ({"action": "decline"}, True),
        ({"action": "cancel"}, True),
    ],
)
async def test_the_person_is_asked_before_a_note_is_deleted(store: Store, answer: Any, kept: bool) -> None:
    store.add("# Bread\nrye")
    asked: list[Any] = []
    async with connected(store, answer=answering(answer, asked)) as client:
        result = await client.call_tool("delete_note", {"id": 1})
    assert [params["message"] for params in asked] == ["Delete note 1, “Bread”, for good?"]
    assert not result.is_error
    assert said(result) == (
        "Note 1 was kept: the person did not agree to delete it." if kept else "Note 1, “Bread”, is deleted."
    )
    assert len(store.latest(9)) == kept


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}])
async def test_where_no_form_can_be_shown_a_note_is_deleted_without(store: Store, capabilities: Any) -> None:
    store.add("Bread")
    async with connected(store, answer=answering({}, []), capabilities=capabilities) as client:
        assert said(await client.call_tool("delete_note", {"id": 1})) == "Note 1, “Bread”, is deleted."
    assert store.latest(9) == []


async def test_notes_are_resources(store: Store) -> None:
    note = store.add("# Bread\nrye")
    async with connected(store) as client:
        listed = [(resource.uri, resource.title) for resource in await client.list_resources()]
        assert listed == [(INDEX, "All notes"), ("notes://1", "Bread")]
        [text] = (await client.read_resource("notes://1")).contents
        assert (text.mime_type, text.text) == ("text/markdown", "# Bread\nrye")
        [index] = (await client.read_resource(INDEX)).contents
        assert json.loads(index.text) == [{"id": 1, "title": "Bread", "tags": [], "modified": note.modified}]
        for uri, code in [("notes://2", -32602), ("notes://x", -32602), (f"notes://{10**30}", -32602)]:
            with pytest.raises(McpError) as refusal:
                await client.read_resource(uri)
            assert refusal.value.code == code


async def test_only_the_latest_are_listed_and_every_one_can_be_read(store: Store) -> None:
    for number in range(LISTED + 5):
        store.add(f"note {number}")
    async with connected(store) as client:
        uris = {resource.uri for resource in await client.list_resources()}
        assert uris == {INDEX, *(f"notes://{id}" for id in range(6, LISTED + 6))}
        assert (await client.read_resource("notes://1")).contents[0].text == "note 0"


async def test_changes_are_announced_before_the_tool_returns(store: Store) -> None:
    news = News()
    store.add("one")
    async with connected(store, news) as client:
        await client.subscribe("notes://1")
        await client.subscribe(INDEX)
        await client.call_tool("add_note", {"text": "two"})
        assert [resource.title for resource in await client.list_resources()][1:] == ["one", "two"]
        await news.hear("notifications/resources/list_changed", INDEX)
        await client.call_tool("edit_note", {"id": 1, "tags": ["first"]})
        await news.hear("notes://1", INDEX)
        await client.ping()
        assert news.heard == []  # the title is the same, so the list is
        await client.call_tool("edit_note", {"id": 1, "text": "uno"})
        await news.hear("notifications/resources/list_changed", "notes://1", INDEX)
        await client.call_tool("delete_note", {"id": 1})
        assert [resource.title for resource in await client.list_resources()][1:] == ["two"]
        await news.hear("notifications/resources/list_changed", "notes://1", INDEX)


async def test_what_another_process_changes_is_announced(store: Store, path: Path) -> None:
    news = News()
    store.add("one")
    async with connected(store, news) as client:
        await client.subscribe("notes://1")
        with Store(path) as another:
            another.edit(1, "uno")
        await news.hear("notes://1", "notifications/resources/list_changed")
        assert [resource.title for resource in await client.list_resources()] == ["All notes", "uno"]


async def test_two_clients_of_one_server_both_hear_of_a_change(store: Store) -> None:
    server, first, second = notes_server(store), News(), News()
    with anyio.fail_after(10):
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(Client(memory(server), on_notification=news.note))
                for news in (first, second)
            ]
            await clients[0].call_tool("add_note", {"text": "one"})
            for news in (first, second):
                await news.hear("notifications/resources/list_changed")


async def test_more_calls_at_once_than_there_are_threads_lose_nothing(store: Store) -> None:
    async with connected(store) as client, anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(client.call_tool, "add_note", {"text": f"note {number}"})
    assert sorted(hit.title for hit in store.search("note", 200)) == sorted(f"note {n}" for n in range(100))


async def test_prompts_carry_the_notes(store: Store) -> None:
    store.add("# Bread\nrye", ["food", "home"])
    quoted = '<note id="1" tags="food, home">\n# Bread\nrye\n</note>'

    async def prompt(name: str, **arguments: str) -> str:
        [message] = (await client.get_prompt(name, arguments)).messages
        return str(message.content.text)

    async with connected(store) as client:
        assert await prompt("summarize_notes", topic="food") == (
            f"Summarize what my notes say about food. Mention notes by their ids.\n\n{quoted}"
        )
        assert await prompt("daily_review") == (
            "Review with me what I noted in the last 24 hours: what is done, what is open, and what to do next. "
            f"Mention notes by their ids.\n\n{quoted}"
        )
        assert await prompt("summarize_notes", topic='"') == (
            'There are no notes about ". Say so, and ask what I would like to note.'
        )
        store.delete(1)
        assert await prompt("daily_review") == (
            "I noted nothing in the last 24 hours. Ask me what happened that is worth a note."
        )


async def test_ids_and_topics_are_completed(store: Store) -> None:
    for number in range(12):
        store.add(str(number), ["Food" if number else "home"])
    async with connected(store) as client:
        ids = await client.complete({"type": "ref/resource", "uri": "notes://{id}"}, "id", "1")
        assert sorted(ids.values) == ["1", "10", "11", "12"]
        topics = await client.complete({"type": "ref/prompt", "name": "summarize_notes"}, "topic", "f")
        assert topics.values == ["Food"]
        topics = await client.complete({"type": "ref/prompt", "name": "summarize_notes"}, "topic", "")
        assert topics.values == ["Food", "home"]


async def test_it_runs_as_a_process_and_keeps_the_notes(path: Path) -> None:
    command = [sys.executable, "-m", "servers.notes", "--db", str(path)]
    root = Path(__file__).parents[2]
    with anyio.fail_after(20):
        for expected in (1, 2):
            async with Client(stdio(command, cwd=root)) as client:
                assert client.server_info.name == "notes"
                added = await client.call_tool("add_note", {"text": "kept"})
                assert added.structured_content["id"] == expected


def test_the_file_is_that_of_the_environment_else_in_the_folder_for_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NOTES_DB", "~/my.db")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == tmp_path / "my.db"
    monkeypatch.delenv("NOTES_DB")
    assert default_path().parts[-2:] == ("mcp-chat", "notes.db")


def test_a_file_that_holds_something_else_ends_it_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letter").write_text("Dear Sir or Madam, " * 100)
    with pytest.raises(SystemExit) as end:
        main(["--db", str(tmp_path / "letter")])
    assert end.value.code == 2
    assert re.fullmatch(r"notes: \S+letter cannot hold notes: .*; name another file.*\n", capsys.readouterr().err)
