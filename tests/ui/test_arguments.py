from __future__ import annotations

from typing import Any

import pytest

from agent.ui.arguments import ArgumentsError, read_arguments, read_texts, split_line

SCHEMA = {"properties": {"a": {"type": "integer"}, "s": {"type": "string"}, "n": {"type": ["string", "null"]}, "o": {}}}


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("", {}),
        ('{"a":3,"b":5}', {"a": 3, "b": 5}),
        ("a=3 s=5 n=1", {"a": 3, "s": "5", "n": "1"}),
        ("s='two words' a=no_number", {"s": "two words", "a": "no_number"}),
        ('o={"x":1}', {"o": "{x:1}"}),
        ("unknown=7 s=a=b", {"unknown": "7", "s": "a=b"}),
    ],
)
def test_arguments_are_read_as_typed(line: str, arguments: dict[str, Any]) -> None:
    assert read_arguments(split_line(line), SCHEMA) == arguments


def test_a_value_is_json_where_the_schema_wants_no_string() -> None:
    assert read_arguments(["a=[1]", 'o={"x": 1}'], SCHEMA) == {"a": [1], "o": {"x": 1}}
    assert read_arguments(["a=1"], {}) == {"a": "1"}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["{nonsense"], "That is not valid JSON: "),
        (["a"], "'a' is neither a JSON object nor KEY=VALUE."),
        (["=a"], "'=a' is neither a JSON object nor KEY=VALUE."),
    ],
)
def test_what_cannot_be_read_is_explained(words: list[str], fault: str) -> None:
    with pytest.raises(ArgumentsError) as refused:
        read_arguments(words, SCHEMA)
    assert str(refused.value).startswith(fault)


def test_quotes_that_do_not_match_are_explained() -> None:
    with pytest.raises(ArgumentsError, match=r"^The quotes do not match: s='x$"):
        split_line("s='x")


def test_the_arguments_of_a_prompt_are_texts() -> None:
    assert read_texts(['{"code":"x = 1","n":3}']) == {"code": "x = 1", "n": "3"}
    assert read_texts(["n=3"]) == {"n": "3"}
