from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.uri_templates import TemplateError, is_within, parse_template


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("notes://{id}", "notes://7", {"id": "7"}),
        ("notes://{id}", "notes://a%20b%C3%BC", {"id": "a bü"}),
        ("notes://{id}", "notes://a/b", None),
        ("notes://{id}", "notes://", {"id": ""}),
        ("notes://{id}", "other://7", None),
        ("a://{x}/{y}/end", "a://1/2/end", {"x": "1", "y": "2"}),
        ("a://{x}/{y}/end", "a://1/2/end/", None),
        ("a.b://{x}", "aXb://1", None),
        ("file:///{+path}", "file:///a/b.txt", {"path": "a/b.txt"}),
        ("file:///{path*}", "file:///a/b.txt", {"path": "a/b.txt"}),
        ("a://x{/p,q}", "a://x/1/2", {"p": "1", "q": "2"}),
        ("a://x{.ext}", "a://x.txt", {"ext": "txt"}),
        ("a://x{#part}", "a://x#top", {"part": "top"}),
        ("a://{x,y}", "a://1,2", {"x": "1", "y": "2"}),
        ("s://all{?q,limit}", "s://all?q=a+b&limit=3", {"q": "a b", "limit": "3"}),
        ("s://all{?q,limit}", "s://all", {}),
        ("s://all{?q}", "s://all?q=%26&other=1", {"q": "&"}),
        ("s://{in}{?q}", "s://x?q=1", {"in": "x", "q": "1"}),
        ("s://all{?q}{&r}", "s://all?r=1", {"r": "1"}),
        ("notes://{id}", "notes://..", None),
        ("notes://{id}", "notes://%2e%2e", None),
        ("notes://{id}", "notes://a%2Fb", None),
        ("notes://{id}", "notes://a%5Cb", None),
        ("notes://{id}", "notes://a%00", None),
        ("file:///{+path}", "file:///a/../b", None),
        ("file:///{+path}", "file:///a/%2E%2E/b", None),
        ("file:///{+path}", "file:////etc/passwd", None),
        ("file:///{+path}", "file:///%2Fetc/passwd", None),
        ("file:///{+path}", "file:///a..b/c", {"path": "a..b/c"}),
        ("s://all{?q}", "s://all?q=../x", None),
        ("plain://x", "plain://x", {}),
    ],
)
def test_a_uri_is_read_back(template: str, uri: str, values: dict[str, str] | None) -> None:
    assert parse_template(template).match(uri) == values


@pytest.mark.parametrize("text", ["a://{", "a://}", "a://{}", "a://{1x}", "a://{a b}", "a://{x}{x}", "a://{x{y}}"])
def test_what_is_no_template_is_refused(text: str) -> None:
    with pytest.raises(TemplateError, match="is no URI template"):
        parse_template(text)


plain = st.text(st.characters(exclude_characters="/\\\0", exclude_categories=["Cs"])).filter(lambda text: text != "..")


@given(plain, plain)
def test_what_is_filled_in_is_read_back(one: str, two: str) -> None:
    template = parse_template("x://{one}/{two}{?more}")
    uri = f"x://{quote(one, safe='')}/{quote(two, safe='')}?more={quote(one, safe='')}"
    assert template.match(uri) == {"one": one, "two": two, "more": one}


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    parse_template("x://{one}{/two*}{?three}").match("x://" + text)


@pytest.mark.parametrize(
    ("uri", "resource", "expected"),
    [
        ("notes://1", "notes://1", True),
        ("notes://10", "notes://1", False),
        ("notes://1/2", "notes://1", True),
        ("notes://1/2", "notes://1/", True),
        ("notes://1", "notes://1/2", False),
        ("notes://1", "notes://", True),
        ("a:bc", "a:b", False),
        ("a:b", "", False),
    ],
)
def test_what_is_part_of_a_resource_begins_with_it_and_a_slash(uri: str, resource: str, expected: bool) -> None:
    assert is_within(uri, resource) is expected
