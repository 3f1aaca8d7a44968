"""A persistent notes server: notes are written, searched and summarized in a chat; processes may share the file.

Run it with `python -m servers.notes --db notes.db`. Without --db the file is the one that NOTES_DB names, else
`mcp-chat/notes.db` in the platform's data folder.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.to_thread
from platformdirs import user_data_path

from agent.mcp import Context, Server
from servers.notes_store import CannotOpen, Entry, Hit, Note, Store

INSTRUCTIONS = (
    "The person's own notes. Search before you answer from memory, and mention a note by its id. "
    "A note is Markdown; its first line is its title."
)
LISTED = 100  # notes in the list of resources; all others can be read as well
INDEXED = 1_000  # notes in the index
PROMPTED_NOTES, PROMPTED_CHARACTERS = 20, 4_000  # limits of a prompt: notes, and characters of each
POLL_SECONDS = 0.5  # between two polls for changes by other processes

INDEX = "notes://index"
READS = {"readOnlyHint": True, "openWorldHint": False}
ADDS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
CHANGES = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}


def notes_server(store: Store) -> Server:
    """A server for the notes in a store. The caller closes the store."""

    @asynccontextmanager
    async def lifespan(_: Server) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listing.watch)
            yield
            tasks.cancel_scope.cancel()

    server = Server("notes", title="Notes", instructions=INSTRUCTIONS, lifespan=lifespan)
    listing = Listing(server, store)
    offer_reading(server, store)
    offer_writing(server, store, listing)
    offer_deleting(server, store, listing)
    offer_resources(server, store)
    offer_prompts(server, store)
    listing.begin()
    return server


class Listing:
    """The notes in the list of resources; sends a notification for each changed note, whichever process changed it."""

    def __init__(self, server: Server, store: Store) -> None:
        self._server, self._store = server, store
        self._turn = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)  # its own thread: tools may occupy all others waiting for `refresh`
        self._place = 0
        self._titles: dict[int, str] = {}

    def begin(self) -> None:
        self._place = self._store.now()
        self._list(self._store.latest(LISTED))

    async def watch(self) -> None:
        while True:
            await anyio.sleep(POLL_SECONDS)
            await self.refresh()

    async def refresh(self) -> None:
        """Send notifications for what changed since the last call."""
        async with self._turn:
            try:
                self._place, changed, latest = await anyio.to_thread.run_sync(self._news, limiter=self._thread)
            except sqlite3.Error:  # the file is locked for long, or its disk is gone: try again at the next poll
                return
        if changed:
            self._list(latest)
            for uri in (INDEX, *map(uri_of, changed)):
                self._server.notify_resource_updated(uri)

    def _news(self) -> tuple[int, list[int], list[Entry]]:
        place, changed = self._store.changes(self._place)
        return place, changed, self._store.latest(LISTED) if changed else []

    def _list(self, latest: Sequence[Entry]) -> None:
        titles = {entry.id: entry.title for entry in latest}
        for id in [id for id, title in self._titles.items() if titles.get(id) != title]:
            self._server.remove_resource(uri_of(id))
        for id in [id for id, title in titles.items() if self._titles.get(id) != title]:
            self._offer(id, titles[id])
        self._titles = titles

    def _offer(self, id: int, title: str) -> None:
        @self._server.resource(uri_of(id), name=f"note-{id}", title=title, mime_type="text/markdown")
        def read() -> str | None:
            return text_of(self._store, id)


def offer_reading(server: Server, store: Store) -> None:
    @server.tool(annotations=READS)
    def search_notes(query: str, limit: int = 10) -> list[Hit]:
        """Find notes by words in their text and tags.

        Args:
            query: Words, or beginnings of words, that must all occur
            limit: How many notes at most, the best first
        """
        return store.search(query, within(limit))

    @server.tool(annotations=READS)
    def list_notes(tag: str | None = None, limit: int = 20) -> list[Entry]:
        """List notes, what was changed last first.

        Args:
            tag: Only notes with this tag
            limit: How many at most
        """
        return store.latest(within(limit), tag and tag.removeprefix("#"))


def offer_writing(server: Server, store: Store, listing: Listing) -> None:
    """Plain functions run in worker threads; notifications of their changes are sent before they return."""

    @server.tool(annotations=ADDS)
    def add_note(text: str, tags: list[str] | None = None) -> Note:
        """Write a note down.

        Args:
            text: Markdown; the first line is the title
            tags: Words to file it under
        """
        note = store.add(text, tags or ())
        anyio.from_thread.run(listing.refresh)
        return note

    @server.tool(annotations=CHANGES)
    def edit_note(id: int, text: str | None = None, tags: list[str] | None = None) -> Note:
        """Replace the text of a note, its tags, or both.

        Args:
            id: Which note
            text: The whole new text
            tags: All the new tags
        """
        if text is None and tags is None:
            raise ValueError("Nothing to change: give text, tags, or both.")
        note = store.edit(id, text, tags)
        anyio.from_thread.run(listing.refresh)
        return note


def offer_deleting(server: Server, store: Store, listing: Listing) -> None:
    @server.tool(annotations=CHANGES)
    async def delete_note(ctx: Context, id: int) -> str:
        """Delete a note for good. The person is asked first, if that is possible.

        Args:
            id: Which note
        """
        note = await anyio.to_thread.run_sync(store.get, id)
        if can_ask(ctx):
            answer = await ctx.elicit(f"Delete note {id}, “{note.title}”, for good?", Deletion)
            if not (answer.content and answer.content.delete):
                return f"Note {id} was kept: the person did not agree to delete it."
        await anyio.to_thread.run_sync(store.delete, id)
        await listing.refresh()
        return f"Note {id}, “{note.title}”, is deleted."


@dataclass
class Deletion:
    """The form `delete_note` asks the person."""

    delete: bool = False


def offer_resources(server: Server, store: Store) -> None:
    @server.resource(INDEX, title="All notes")
    def index() -> list[Entry]:
        """Id, title and tags of every note, what was changed last first."""
        return store.latest(INDEXED)

    @server.resource("notes://{id}", title="A note", mime_type="text/markdown")
    def note(id: int) -> str | None:
        """The text of a note."""
        return text_of(store, id)

    @server.completion("notes://{id}", "id")
    def ids(value: str) -> list[int]:
        return store.ids(value, INDEXED)


def offer_prompts(server: Server, store: Store) -> None:
    @server.prompt
    def summarize_notes(topic: str) -> str:
        """Summarize what the notes say about a topic.

        Args:
            topic: A tag, or words that occur in the notes
        """
        hits = store.search(topic, PROMPTED_NOTES)
        if not hits:
            return f"There are no notes about {topic}. Say so, and ask what I would like to note."
        return f"Summarize what my notes say about {topic}. Mention notes by their ids.\n\n{quoted(store, hits)}"

    @server.prompt
    def daily_review() -> str:
        """Go through what was noted in the last 24 hours."""
        yesterday = (datetime.now(UTC) - timedelta(days=1)).isoformat()
        entries = store.latest(PROMPTED_NOTES, since=yesterday)
        if not entries:
            return "I noted nothing in the last 24 hours. Ask me what happened that is worth a note."
        return (
            "Review with me what I noted in the last 24 hours: what is done, what is open, and what to do next. "
            f"Mention notes by their ids.\n\n{quoted(store, entries)}"
        )

    @server.completion("summarize_notes", "topic")
    def topics(value: str) -> list[str]:
        return [tag for tag in store.tags() if tag.casefold().startswith(value.casefold())]


def uri_of(id: int) -> str:
    return f"notes://{id}"


def text_of(store: Store, id: int) -> str | None:
    """The text of a note; None for a deleted one, which makes the resource unknown to the client."""
    try:
        return store.get(id).text
    except LookupError:
        return None


def quoted(store: Store, found: Sequence[Entry | Hit]) -> str:
    """The notes as text for a prompt, each in a tag that marks where the user's text begins and ends."""
    texts = [(entry, text_of(store, entry.id) or "") for entry in found]
    return "\n\n".join(
        f'<note id="{entry.id}" tags="{", ".join(entry.tags)}">\n{text[:PROMPTED_CHARACTERS]}\n</note>'
        for entry, text in texts
    )


def within(limit: int) -> int:
    return max(1, min(limit, INDEXED))


def can_ask(ctx: Context) -> bool:
    """Whether the client supports form mode elicitation; a capability without modes means that it does."""
    kinds = ctx.client_capabilities.get("elicitation")
    return isinstance(kinds, dict) and (not kinds or "form" in kinds)


def default_path() -> Path:
    named = os.environ.get("NOTES_DB")
    return Path(named).expanduser() if named else user_data_path("mcp-chat") / "notes.db"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the server. Raises SystemExit: 2 if the file cannot be used, and as `Server.run` does."""
    parser = ArgumentParser("python -m servers.notes", description="An MCP server of notes.", allow_abbrev=False)
    parser.add_argument("--db", type=Path, metavar="PATH", help="the SQLite file; made if there is none")
    known, rest = parser.parse_known_args(arguments)
    try:
        with Store(known.db or default_path()) as store:
            notes_server(store).run(rest)
    except CannotOpen as error:
        sys.stderr.write(f"notes: {error}\n")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
