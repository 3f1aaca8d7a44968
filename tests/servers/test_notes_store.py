"""Notes in a file: found by what people type, shared by threads and processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest

from servers.notes_store import JOURNAL_ROWS, CannotOpen, Entry, Hit, Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "notes.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as store:
        yield store


def ids(found: list[Hit] | list[Entry]) -> list[int]:
    return [each.id for each in found]


def test_a_new_file_is_for_nobody_else_and_one_that_is_there_stays_as_it_is(path: Path, tmp_path: Path) -> None:
    (shared := tmp_path / "shared.db").touch(0o640)
    shared.chmod(0o640)
    for file, mode in ((path, 0o600), (shared, 0o640)):
        with Store(file):
            assert file.stat().st_mode & 0o777 == mode


def test_a_note_is_kept_edited_and_deleted(store: Store) -> None:
    note = store.add("# Groceries\n\nmilk", ["#home", "home", " ", "to buy"])
    assert (note.id, note.title, note.tags) == (1, "Groceries", ["home", "to buy"])
    assert store.get(1) == note
    edited = store.edit(1, text="bread")
    assert edited == replace(note, text="bread", modified=edited.modified)
    assert store.edit(1, tags=[]).tags == []
    assert store.delete(1).text == "bread"
    assert store.add("the next").id == 2  # an id is never another note's


@pytest.mark.parametrize("id", [7, 0, -1, 2**63, 10**30])
def test_a_note_that_is_not_there_is_named(store: Store, id: int) -> None:
    for act in (store.get, store.edit, store.delete):
        with pytest.raises(LookupError, match=f"There is no note {id}."):
            act(id)


@pytest.mark.parametrize("text", ["", " \n", "\0"])
def test_an_empty_note_is_refused_and_nothing_is_changed(store: Store, text: str) -> None:
    store.add("kept")
    with pytest.raises(ValueError, match="needs a text"):
        store.add(text)
    with pytest.raises(ValueError, match="needs a text"):
        store.edit(1, text, ["tag"])
    assert [(entry.title, entry.tags) for entry in store.latest(9)] == [("kept", [])]


def test_a_long_title_is_cut_and_an_odd_text_kept_whole(store: Store) -> None:
    note = store.add("\n  " + "x" * 100 + "\r\n'); DROP TABLE notes;\0--")
    assert note.title == "x" * 79 + "…"
    assert note.text == "\n  " + "x" * 100 + "\r\n'); DROP TABLE notes;--"


QUERIES = ['"', '""', "'", "*", "a*", "^a", "(", ")", "a OR", "AND", "NOT a", "NEAR(a b)", "text:a", "-a", "a:b",
           "{a}", "\\", "\0", "a\0b", "%", "_", ";", "😀",
           "a" * 10_000, "a " * 500, "#", "+", "?", "[x]", "é", "e\u0301"]  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_whatever_is_typed_is_a_query_and_finds_the_note_that_holds_it(store: Store, query: str) -> None:
    store.add("something else")
    note = store.add(f"begin {query} end")
    if query.strip("\0"):
        assert note.id in ids(store.search(query, 10))


@pytest.mark.parametrize("query", ["", " \n\t", "\0"])
def test_a_query_without_words_finds_nothing(store: Store, query: str) -> None:
    store.add("a note")
    assert store.search(query, 10) == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("milk", [1]),
        ("MIL", [1]),
        ("milk bread", [1]),
        ("milk plane", []),
        ("cafe", [2]),
        ("CAFÉ", [2]),
        ("travel", [2]),
        ("東京", [3]),
        ("京タ", [3]),
        ("lane", [2]),
    ],
)
def test_notes_are_found_by_beginnings_of_all_words_else_by_what_is_within_words(
    store: Store, query: str, found: list[int]
) -> None:
    store.add("milk and bread")
    store.add("a café beside the plane", ["travel"])
    store.add("昨日東京タワーに行った")
    assert ids(store.search(query, 10)) == found


def test_the_best_hit_comes_first_and_shows_where(store: Store) -> None:
    store.add("# Garden\n" + "word " * 200 + "tulips in a row")
    store.add("tulip Tulip", ["garden"])
    first, second = store.search("tulip", 10)
    assert first == Hit(2, "tulip Tulip", ["garden"], "tulip Tulip")
    assert second == Hit(1, "Garden", [], "…" + "word " * 12 + "tulips in a row")
    assert store.search("garden wor", 10)[0].excerpt == ("# Garden\n" + "word " * 200)[:240].strip() + "…"
    assert ids(store.search("tulip", 1)) == [2]


def test_a_note_of_one_word_over_and_over_is_found_at_once(store: Store) -> None:
    store.add("a " * 100_000)
    began = monotonic()
    assert len(store.search("a", 10)) == 1
    assert monotonic() - began < 5  # where the words of the hits are marked it takes minutes


def test_an_edited_or_deleted_note_is_no_longer_found_by_its_old_words(store: Store) -> None:
    store.add("old")
    store.add("old too")
    store.edit(1, "new", ["tagged"])
    store.delete(2)
    assert (store.search("old", 9), ids(store.search("new tagged", 9))) == ([], [1])


def test_lists_begin_with_what_was_changed_last(store: Store, path: Path) -> None:
    for text in ("one", "two", "three"):
        store.add(text, ["odd"] if text != "two" else ["even", "odd"])
    with sqlite3.connect(path) as db:
        db.execute("UPDATE notes SET modified = '2020-01-0' || id || 'T00:00:00.000Z'")
    db.close()
    edited = store.edit(1, "one again")
    assert ids(store.latest(9)) == [1, 3, 2]
    assert store.latest(1) == [Entry(1, "one again", ["odd"], edited.modified)]
    assert ids(store.latest(9, tag="even")) == [2]
    assert ids(store.latest(9, since=edited.modified)) == [1]
    assert store.tags() == ["odd", "even"]
    for number in range(4, 13):
        store.add(str(number))
    assert sorted(store.ids("1", 9)) == [1, 10, 11, 12]
    assert (len(store.ids("", 5)), store.ids("x", 9)) == (5, [])


def test_the_journal_tells_what_changed_through_another_connection_too(store: Store, path: Path) -> None:
    place = store.now()
    with Store(path) as another:
        another.add("one")
        another.add("two")
        another.edit(1, "one again")
        another.delete(2)
    place, changed = store.changes(place)
    assert (changed, place) == ([1, 2], store.now())
    assert store.changes(place) == (place, [])


def test_the_journal_does_not_grow_for_ever(store: Store, path: Path) -> None:
    store.add("one")
    with sqlite3.connect(path) as db:
        db.executemany("INSERT INTO journal (note) VALUES (?)", [(1,)] * (JOURNAL_ROWS + 10))
        assert db.execute("SELECT count(*) FROM journal").fetchone() == (JOURNAL_ROWS,)
    db.close()


def test_threads_and_connections_write_at_once_and_lose_nothing(store: Store, path: Path) -> None:
    with Store(path) as another, ThreadPoolExecutor(8) as pool:
        both = (store, another)
        added = list(pool.map(lambda n: both[n % 2].add(f"note {n}").id, range(60)))
        edited = list(pool.map(lambda id: both[id % 2].edit(id, tags=[f"t{id}"]).tags, added))
    assert sorted(added) == list(range(1, 61))
    assert edited == [[f"t{id}"] for id in added]
    assert len(store.search("note", 100)) == 60


def test_many_may_open_a_new_file_at_once(path: Path) -> None:
    def open_and_add(text: str) -> int:
        with Store(path) as store:
            return store.add(text).id

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(open_and_add, "abcdefgh")) == list(range(1, 9))


def test_a_file_that_holds_something_else_is_named(tmp_path: Path) -> None:
    other = tmp_path / "letter.txt"
    other.write_text("Dear Sir or Madam, " * 100)
    with pytest.raises(CannotOpen, match=r"letter\.txt cannot hold notes: file is not a database; name another"):
        Store(other)
    with pytest.raises(CannotOpen, match=r"folder/n\.db cannot hold notes: .*Not a directory|File exists"):
        Store(other / "folder" / "n.db")
