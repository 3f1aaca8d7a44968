from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    Completion,
    EmbeddedResource,
    ImageContent,
    Implementation,
    Prompt,
    ResourceLink,
    ServerCapabilities,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
    ToolsCapability,
)

from agent.mcp.wire import (
    LISTINGS,
    Page,
    PromptMessage,
    UnknownContent,
    read_capabilities,
    read_completion,
    read_content,
    read_page,
    read_prompt_result,
    read_resource_result,
    read_server_info,
    read_tool_result,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "content", "messages", "role", "name", "uri", "tools", "contents", "isError"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
SCHEMA = {"type": "object"}


def silent(text: str) -> None:
    raise AssertionError(f"nothing was to be said of this: {text}")


# Lists.


def test_a_page_is_items_and_a_cursor() -> None:
    result = {"tools": [{"name": "a", "inputSchema": SCHEMA}], "nextCursor": "n"}
    assert read_page("tools/list", result, silent) == Page([Tool(name="a", input_schema=SCHEMA)], "n")


def test_a_schema_keeps_every_keyword_and_meta_every_key() -> None:
    schema = {"$schema": "x", "$defs": {"a": {"$anchor": "b"}}, "if": {}, "then": {}, "else": {}, "x-own": [1, None]}
    item = {"name": "a", "inputSchema": schema, "outputSchema": schema, "_meta": {"ui/x": {"y": None}}, "new": 1}
    [tool] = read_page("tools/list", {"tools": [item]}, silent).items
    assert (tool.input_schema, tool.output_schema, tool.meta) == (schema, schema, {"ui/x": {"y": None}})


@pytest.mark.parametrize("cursor", ["", "x"])
def test_the_empty_string_is_a_cursor(cursor: str) -> None:
    assert read_page("tools/list", {"nextCursor": cursor}, silent).cursor == cursor


@pytest.mark.parametrize("cursor", [None, 5, {}, []])
def test_what_is_no_string_is_no_cursor(cursor: Any) -> None:
    assert read_page("tools/list", {"tools": [], "nextCursor": cursor}, silent) == Page([], None)


@pytest.mark.parametrize("schema", [{}, {"inputSchema": None}])
def test_a_tool_without_a_schema_takes_no_arguments(schema: dict[str, Any]) -> None:
    assert read_page("tools/list", {"tools": [{"name": "x"} | schema]}, silent).items == [
        Tool(name="x", input_schema=SCHEMA)
    ]


def test_an_empty_schema_stays_empty() -> None:
    assert read_page("tools/list", {"tools": [{"name": "x", "inputSchema": {}}]}, silent).items[0].input_schema == {}


def test_optional_members_that_are_null_or_misshapen_are_absent() -> None:
    item = {
        "name": "x",
        "inputSchema": SCHEMA,
        "title": None,
        "description": 5,
        "annotations": {"readOnlyHint": None, "title": "t"},
        "icons": "none",
        "outputSchema": True,
    }
    [tool] = read_page("tools/list", {"tools": [item]}, silent).items
    assert tool == Tool(name="x", input_schema=SCHEMA, annotations=ToolAnnotations(title="t"))


def test_one_bad_item_is_left_out_with_a_notice() -> None:
    notices: list[str] = []
    tools = [{"name": "a", "inputSchema": SCHEMA}, {"name": "b", "inputSchema": "object"}, {"inputSchema": SCHEMA}, 5]
    tools.append({"name": "", "inputSchema": SCHEMA})
    page = read_page("tools/list", {"tools": tools}, notices.append)
    assert [tool.name for tool in page.items] == ["a"]
    assert notices == [
        "'b' in tools was left out: inputSchema: Input should be a valid dictionary.",
        "number 3 in tools was left out: name: Field required.",
        "number 4 in tools was left out: Input should be a valid dictionary or instance of Tool.",
        "number 5 in tools was left out: name: it is empty.",
    ]


@pytest.mark.parametrize("result", [None, [], "x", {}, {"tools": None}])
def test_a_missing_list_is_empty(result: Any) -> None:
    assert read_page("tools/list", result, silent) == Page([], None)


def test_what_is_no_list_counts_as_empty_with_a_notice() -> None:
    notices: list[str] = []
    assert read_page("prompts/list", {"prompts": {"a": 1}}, notices.append) == Page([], None)
    assert notices == ["The answer to prompts/list holds no list of prompts; it counts as empty."]


def test_a_prompt_with_misshapen_arguments_is_still_a_prompt() -> None:
    assert read_page("prompts/list", {"prompts": [{"name": "p", "arguments": "x"}]}, silent).items == [Prompt(name="p")]


# Tool results.


def test_every_kind_of_content_is_read() -> None:
    content = [
        {"type": "text", "text": "a", "annotations": None, "_meta": {"k": 1}},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a.txt", "name": "a"},
        {"type": "resource", "resource": {"uri": "mem://1", "mimeType": None, "blob": "AAEC"}},
        {"type": "video", "x": 1},
        {"type": "text"},
        {"type": ["text"]},
        "bare",
    ]
    result = {"content": content}
    assert read_tool_result(result).content == (
        TextContent(text="a", _meta={"k": 1}),
        ImageContent(data="AAAA", mime_type="image/png"),
        AudioContent(data="UklGRg==", mime_type="audio/wav"),
        ResourceLink(uri="file:///a.txt", name="a"),
        EmbeddedResource(resource=BlobResourceContents(uri="mem://1", blob="AAEC")),
        UnknownContent("video", {"type": "video", "x": 1}),
        UnknownContent("text", {"type": "text"}),
        UnknownContent("", {"type": ["text"]}),
        UnknownContent("", "bare"),
    )
    assert read_tool_result(result).raw is result


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ({"content": "no list"}, (TextContent(text='{"content":"no list"}'),)),
        ({"content": 5, "isError": False}, (TextContent(text='{"content":5}'),)),
        ({"content": "", "more": 1}, (TextContent(text='{"more":1}'),)),
        ({"content": {"type": "text", "text": "hi"}}, (TextContent(text="hi"),)),
        ({"content": None}, ()),
        ({"content": [], "isError": False, "_meta": {"a": 1}, "resultType": "complete"}, ()),
        ({}, ()),
        (None, ()),
        ([], ()),
        ("done", (TextContent(text='"done"'),)),
        ({"toolResult": {"x": "é"}}, (TextContent(text='{"toolResult":{"x":"é"}}'),)),
        ({"content": [], "answer": 42}, (TextContent(text='{"answer":42}'),)),
        ({"structuredContent": {"n": 1}}, ()),
    ],
)
def test_content_may_be_missing_or_in_another_place(result: Any, content: tuple[Any, ...]) -> None:
    assert read_tool_result(result).content == content


@pytest.mark.parametrize(
    ("member", "value"), [(None, False), (False, False), (True, True), ("true", False), (1, False), ({}, False)]
)
def test_only_true_is_an_error(member: Any, value: bool) -> None:
    assert read_tool_result({"content": [], "isError": member}).is_error is value


@pytest.mark.parametrize("value", [{"error": "x"}, None, [1], 0])
def test_structured_content_is_kept_as_it_came_beside_an_error_too(value: Any) -> None:
    result = read_tool_result({"content": [{"type": "text", "text": "x"}], "structuredContent": value, "isError": True})
    assert (result.structured_content, result.is_error, result.content) == (value, True, (TextContent(text="x"),))


# The rest.


def test_a_prompt_result_is_messages_with_one_block_each() -> None:
    notices: list[str] = []
    text = {"type": "text", "text": "a"}
    raw = {
        "description": 5,
        "messages": [
            {"role": "user", "content": text},
            {"role": "assistant", "content": [text, {"type": "odd"}]},
            {"role": "user", "content": "bare"},
            {"role": "system", "content": text},
            "nonsense",
        ],
    }
    result = read_prompt_result(raw, notices.append)
    assert result.description is None
    assert result.messages == (
        PromptMessage("user", TextContent(text="a")),
        PromptMessage("assistant", TextContent(text="a")),
        PromptMessage("assistant", UnknownContent("odd", {"type": "odd"})),
        PromptMessage("user", TextContent(text="bare")),
    )
    assert notices == [
        "A prompt's message with role 'system' was left out.",
        "A prompt's message with role None was left out.",
    ]


def test_resource_contents_are_text_or_blob() -> None:
    notices: list[str] = []
    raw = {
        "contents": [{"uri": "a", "text": "x", "blob": None}, {"uri": "b", "blob": "AAEC", "text": None}, {"uri": "c"}]
    }
    assert read_resource_result(raw, notices.append).contents == (
        TextResourceContents(uri="a", text="x"),
        BlobResourceContents(uri="b", blob="AAEC"),
    )
    assert notices == ["A part of the resource was left out: text: Field required."]


def test_a_single_resource_content_needs_no_list() -> None:
    result = read_resource_result({"contents": {"uri": "a", "text": "x"}}, silent)
    assert result.contents == (TextResourceContents(uri="a", text="x"),)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"completion": {"values": ["a", 5, None], "total": 2}}, Completion(values=["a"], total=2)),
        ({"completion": {"values": ["a"], "total": "many"}}, Completion(values=["a"])),
        ({"completion": {"values": None, "hasMore": True}}, Completion(values=[], has_more=True)),
        ({"completion": None}, Completion(values=[])),
        (None, Completion(values=[])),
    ],
)
def test_a_completion_is_what_is_text_in_it(result: Any, expected: Completion) -> None:
    assert read_completion(result) == expected


def test_server_info_may_lack_anything() -> None:
    assert read_server_info({}) == Implementation(name="", version="")
    assert read_server_info({"name": None, "version": 5, "title": "T", "icons": 5}) == Implementation(
        name="", version="", title="T"
    )


def test_capabilities_are_read_as_far_as_they_go() -> None:
    odd = {"tools": {"listChanged": True}, "logging": 5, "extra": {}}
    assert read_capabilities(odd) == ServerCapabilities(tools=ToolsCapability(list_changed=True))


@given(JSON)
def test_any_json_is_read_without_an_exception(value: Any) -> None:
    read_tool_result(value)
    read_prompt_result(value, lambda text: None)
    read_resource_result(value, lambda text: None)
    read_completion(value)
    read_content(value)
    for method, listing in LISTINGS.items():
        read_page(method, value, lambda text: None)
        read_page(method, {listing.member: value}, lambda text: None)
    if isinstance(value, dict):
        read_server_info(value)
        read_capabilities(value)
