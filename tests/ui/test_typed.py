"""Half-typed words: what stands at the cursor, and what it would be when it is complete."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ui.typed import Place, Word, literal_head, place_in_template, word_at_end, written


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", Word("", "", None, {})),
        ("fo", Word("fo", "fo", None, {})),
        ("focus=", Word("focus=", "focus", "", {})),
        ("focus=se", Word("focus=se", "focus", "se", {})),
        ("code='a b' focus=se", Word("focus=se", "focus", "se", {"code": "a b"})),
        ("code=x ", Word("", "", None, {"code": "x"})),
        ('city="New Yo', Word('city="New Yo', "city", "New Yo", {})),
        ("city='New York'", Word("city='New York'", "city", "New York", {})),
        ("stray a=1 =x b=", Word("b=", "b", "", {"a": "1"})),
        ("it's odd b=", Word("it's odd b=", "it's odd b", "", {})),
    ],
)
def test_the_word_at_the_cursor_is_found_and_those_before_it_are_read(text: str, word: Word) -> None:
    assert word_at_end(text) == word


@given(st.text(min_size=1).filter(str.isprintable))
def test_a_word_that_is_written_is_read_back(value: str) -> None:
    assert shlex.split(written("key", value)) == [f"key={value}"]


@given(st.text())
def test_any_text_has_a_last_word(text: str) -> None:
    assert text.endswith(word_at_end(text).raw)


@pytest.mark.parametrize(
    ("template", "typed", "place"),
    [
        ("notes://{id}", "notes://4", Place("id", "4", {}, "notes://", "", False)),
        ("notes://{id}", "notes://", Place("id", "", {}, "notes://", "", False)),
        ("notes://{id}", "notes:", None),
        ("notes://{id}", "other://4", None),
        ("a://{x}/b/{y}", "a://one", Place("x", "one", {}, "a://", "/b/", False)),
        ("a://{x}/b/{y}", "a://one/b/tw%20o", Place("y", "tw o", {"x": "one"}, "a://one/b/", "", False)),
        ("a://{x}.txt", "a://one.txt", None),
        ("file:///{+path}", "file:///etc/ho", Place("path", "etc/ho", {}, "file:///", "", True)),
        ("s://all{?query}", "s://all?query=x", None),
        ("s://{x}{?query}", "s://a", Place("x", "a", {}, "s://", "", False)),
        ("plain://x", "plain://x", None),
    ],
)
def test_the_variable_at_the_cursor_is_found(template: str, typed: str, place: Place | None) -> None:
    assert place_in_template(template, typed) == place


def test_a_value_is_written_as_a_uri_wants_it() -> None:
    assert Place("x", "", {}, "a://", "/b", False).filled("Los Angeles/2") == "a://Los%20Angeles%2F2/b"
    assert Place("x", "", {}, "a://", "", True).filled("a b/c") == "a://a%20b/c"
    assert literal_head("notes://{id}") == "notes://"
