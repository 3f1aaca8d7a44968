"""Notes in a SQLite file, with full text search and a journal of changes."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

BUSY_SECONDS = 10.0  # the wait for another process that is writing
RETRY_SECONDS = 0.02
QUERY_WORDS = 100  # words of a query that are used: more than a paragraph is no query
TITLE_CHARACTERS, EXCERPT_CHARACTERS = 80, 240
JOURNAL_ROWS = 10_000  # changes that are kept, for processes that poll

_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS notes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL,
    tags TEXT NOT NULL DEFAULT '[]',
    created TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
    modified TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
);
CREATE TABLE IF NOT EXISTS journal (number INTEGER PRIMARY KEY AUTOINCREMENT, note INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    text, tags, content = 'notes', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER IF NOT EXISTS note_added AFTER INSERT ON notes BEGIN
    INSERT INTO words (rowid, text, tags) VALUES (new.id, new.text, new.tags);
    INSERT INTO journal (note) VALUES (new.id);
END;
CREATE TRIGGER IF NOT EXISTS note_edited AFTER UPDATE ON notes BEGIN
    INSERT INTO words (words, rowid, text, tags) VALUES ('delete', old.id, old.text, old.tags);
    INSERT INTO words (rowid, text, tags) VALUES (new.id, new.text, new.tags);
    INSERT INTO journal (note) VALUES (new.id);
END;
CREATE TRIGGER IF NOT EXISTS note_deleted AFTER DELETE ON notes BEGIN
    INSERT INTO words (words, rowid, text, tags) VALUES ('delete', old.id, old.text, old.tags);
    INSERT INTO journal (note) VALUES (old.id);
END;
CREATE TRIGGER IF NOT EXISTS journal_shortened AFTER INSERT ON journal BEGIN
    DELETE FROM journal WHERE number <= new.number - {JOURNAL_ROWS};
END;
COMMIT;
"""


class CannotOpen(Exception):
    """The file cannot be used for notes. The text names it and says why."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note. `created` and `modified` are in UTC, as ISO 8601; the first line of the text is the title."""

    id: int
    text: str
    tags: list[str]
    created: str
    modified: str

    @property
    def title(self) -> str:
        return _title(self.text)


@dataclass(frozen=True, slots=True)
class Entry:
    """A note as listed, without its text."""

    id: int
    title: str
    tags: list[str]
    modified: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A note that was found; `excerpt` is the text around the match."""

    id: int
    title: str
    tags: list[str]
    excerpt: str


class Store:
    """The notes in one file. It is thread-safe, and other processes may use the file at the same time.

    Threads share one connection under a lock: each operation takes well under a millisecond.

    Raises:
        CannotOpen: the folder does not exist and cannot be created, or the file is no notes database.
    """

    def __init__(self, path: Path) -> None:
        self._turn = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(0o600)  # a new file is readable for its owner only
            self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            _prepare(self._db)
        except (OSError, sqlite3.Error) as error:
            raise CannotOpen(f"{path} cannot hold notes: {error}; name another file with --db.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._turn:
            self._db.close()

    def add(self, text: str, tags: Sequence[str] = ()) -> Note:
        """Raises ValueError if the text is empty."""
        with self._writing():
            values = (_worded(text), _packed(tags))
            [(id,)] = self._db.execute("INSERT INTO notes (text, tags) VALUES (?, ?) RETURNING id", values).fetchall()
            return self._note(id)

    def edit(self, id: int, text: str | None = None, tags: Sequence[str] | None = None) -> Note:
        """Replace the values that are given.

        Raises:
            LookupError: there is no such note.
            ValueError: the text is empty.
        """
        with self._writing():
            old = self._note(id)
            self._db.execute(
                "UPDATE notes SET text = ?, tags = ?, modified = strftime('%Y-%m-%dT%H:%M:%fZ') WHERE id = ?",
                (old.text if text is None else _worded(text), _packed(old.tags if tags is None else tags), id),
            )
            return self._note(id)

    def delete(self, id: int) -> Note:
        """Delete a note and return it. Raises LookupError if there is none."""
        with self._writing():
            note = self._note(id)
            self._db.execute("DELETE FROM notes WHERE id = ?", (id,))
            return note

    def get(self, id: int) -> Note:
        """Raises LookupError if there is none."""
        with self._turn:
            return self._note(id)

    def latest(self, limit: int, tag: str | None = None, since: str = "") -> list[Entry]:
        """The notes, most recently changed first. `since` is a time in the format of `Note`."""
        rows = self._rows(
            "SELECT id, substr(text, 1, 400), tags, modified FROM notes WHERE modified >= :since AND"
            " (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))"
            " ORDER BY modified DESC, id DESC LIMIT :limit",
            {"limit": limit, "tag": tag, "since": since},
        )
        return [Entry(id, _title(text), json.loads(tags), modified) for id, text, tags, modified in rows]

    def search(self, query: str, limit: int) -> list[Hit]:
        """Notes with words that begin with each word of the query, best match first; any text is a valid query.

        If there is none, the query is searched within words too, also for languages that put no spaces between words.
        """
        words = list(dict.fromkeys(query.replace("\0", " ").split()))[:QUERY_WORDS]
        if not words:
            return []
        phrases = " ".join('"{}"*'.format(word.replace('"', '""')) for word in words)
        rows = self._rows(
            "SELECT notes.id, notes.text, notes.tags FROM words JOIN notes ON notes.id = words.rowid"
            " WHERE words MATCH ? ORDER BY rank LIMIT ?",
            (phrases, limit),
        )
        found = rows or self._scan(words, limit)
        return [Hit(id, _title(text), json.loads(tags), _excerpt(text, words)) for id, text, tags in found]

    def tags(self) -> list[str]:
        """Every tag in use, the most used first."""
        rows = self._rows("SELECT value FROM notes, json_each(tags) GROUP BY value ORDER BY count(*) DESC, value", ())
        return [tag for (tag,) in rows]

    def ids(self, beginning: str, limit: int) -> list[int]:
        """The ids that begin with these digits, most recently changed first."""
        rows = self._rows(
            "SELECT id FROM notes WHERE substr(id, 1, ?) = ? ORDER BY modified DESC, id DESC LIMIT ?",
            (len(beginning), beginning, limit),
        )
        return [id for (id,) in rows]

    def now(self) -> int:
        """The current position in the journal."""
        [(number,)] = self._rows("SELECT coalesce(max(number), 0) FROM journal", ())
        return int(number)

    def changes(self, since: int) -> tuple[int, list[int]]:
        """The current position in the journal, and the ids of notes added, edited or deleted after position `since`."""
        rows = self._rows("SELECT number, note FROM journal WHERE number > ? ORDER BY number", (since,))
        return (rows[-1][0] if rows else since), list(dict.fromkeys(note for _, note in rows))

    def _scan(self, words: Sequence[str], limit: int) -> list[tuple[Any, ...]]:
        tags = "coalesce((SELECT group_concat(value, ' ') FROM json_each(tags)), '')"
        conditions = " AND ".join([f"instr(lower(text || ' ' || {tags}), lower(?))"] * len(words))
        return self._rows(
            f"SELECT id, text, tags FROM notes WHERE {conditions} ORDER BY modified DESC LIMIT ?",
            (*words, limit),
        )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that waits for the write lock at its start: a later upgrade from reading may be refused."""
        with self._turn, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            yield

    def _rows(self, sql: str, values: Any) -> list[tuple[Any, ...]]:
        with self._turn:
            return self._db.execute(sql, values).fetchall()

    def _note(self, id: int) -> Note:
        known = 0 < id < 2**63  # SQLite integers have 64 bits
        row = self._db.execute("SELECT * FROM notes WHERE id = ?", (id,)).fetchone() if known else None
        if row is None:
            raise LookupError(f"There is no note {id}.")
        id, text, tags, created, modified = row
        return Note(id, text, json.loads(tags), created, modified)


def _prepare(db: sqlite3.Connection) -> None:
    """Create the tables if missing. It retries, because SQLite reports SQLITE_BUSY here at once instead of waiting."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                db.close()
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return


def _worded(text: str) -> str:
    text = text.replace("\0", "")  # SQLite would truncate the text there
    if not text.strip():
        raise ValueError("A note needs a text.")
    return text


def _packed(tags: Sequence[str]) -> str:
    """Tags without surrounding blanks and `#`, each once."""
    bare = (tag.strip().removeprefix("#") for tag in tags)
    return json.dumps(list(dict.fromkeys(tag for tag in bare if tag)), ensure_ascii=False)


def _title(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "").strip().lstrip("# ")
    return first if len(first) <= TITLE_CHARACTERS else first[: TITLE_CHARACTERS - 1] + "…"


def _excerpt(text: str, words: Sequence[str]) -> str:
    """The text around the first match; the beginning if the words occur only in the tags, or with other accents."""
    lowered = text.lower()
    places = [place for word in words if (place := lowered.find(word.lower())) >= 0]
    start = max(0, min(places, default=0) - EXCERPT_CHARACTERS // 4)
    cut = text[start : start + EXCERPT_CHARACTERS].strip()
    return ("…" if start else "") + cut + ("…" if start + EXCERPT_CHARACTERS < len(text) else "")
