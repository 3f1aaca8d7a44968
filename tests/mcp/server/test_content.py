from __future__ import annotations

from typing import Any

import mcp_types
import pytest

from agent.mcp.server.content import Audio, Image, block_for, blocks, contents, messages, text

PNG = b"\x89PNG\r\n\x1a\n"
LINK = {"type": "resource_link", "uri": "file:///a.txt", "name": "a"}
TEXT = {"type": "text", "text": "hi"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ("hi", [TEXT]),
        ("", [{"type": "text", "text": ""}]),
        (8, [{"type": "text", "text": "8"}]),
        (True, [{"type": "text", "text": "true"}]),
        ({"a": [1, "ü"]}, [{"type": "text", "text": '{"a":[1,"ü"]}'}]),
        ([1, 2], [{"type": "text", "text": "[1,2]"}]),
        ([], [{"type": "text", "text": "[]"}]),
        (float("nan"), [{"type": "text", "text": "null"}]),
        (Image(PNG), [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]),
        (Audio(b"RIFF"), [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]),
        (PNG, [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]),
        (LINK, [LINK]),
        ({"type": "text"}, [{"type": "text", "text": '{"type":"text"}'}]),
        ({"type": "invoice", "text": "x"}, [{"type": "text", "text": '{"type":"invoice","text":"x"}'}]),
        (["see", Image(PNG), {"n": 1}, None], [
            {"type": "text", "text": "see"},
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            {"type": "text", "text": '{"n":1}'},
        ]),
        (mcp_types.TextContent(type="text", text="hi"), [TEXT]),
        ([mcp_types.TextContent(type="text", text="hi"), "hi"], [TEXT, TEXT]),
    ],
)  # fmt: skip
def test_a_value_becomes_content(value: Any, expected: list[dict[str, Any]]) -> None:
    assert blocks(value) == expected


def test_bytes_of_no_known_kind_are_an_embedded_resource() -> None:
    uri = "ni:///sha-256;tBP0fRPuL-bIRbLuFBr4HehY307FSaWLeXC7lmRbyNI"
    resource = {"uri": uri, "mimeType": "application/octet-stream", "blob": "AAE="}
    assert blocks(b"\x00\x01") == [{"type": "resource", "resource": resource}]


@pytest.mark.parametrize(
    ("block", "revision", "expected"),
    [
        (LINK, "2025-06-18", LINK),
        (LINK, "2025-03-26", {"type": "text", "text": "a: file:///a.txt"}),
        (Audio(b"RIFF").block(), "2025-03-26", Audio(b"RIFF").block()),
        (Audio(b"RIFF").block(), "2024-11-05", {"type": "text", "text": "[audio/wav, 6 bytes]"}),
        (TEXT, "2024-11-05", TEXT),
    ],
)
def test_an_old_revision_gets_text_about_what_it_has_no_word_for(
    block: dict[str, Any], revision: str, expected: dict[str, Any]
) -> None:
    assert block_for(block, revision) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hi", [{"role": "user", "content": TEXT}]),
        (("assistant", "hi"), [{"role": "assistant", "content": TEXT}]),
        (["hi", ("assistant", "hi")], [{"role": "user", "content": TEXT}, {"role": "assistant", "content": TEXT}]),
        ({"role": "user", "content": TEXT}, [{"role": "user", "content": TEXT}]),
        (mcp_types.PromptMessage(role="user", content=mcp_types.TextContent(type="text", text="hi")),
         [{"role": "user", "content": TEXT}]),
        (("user", ["hi", LINK]), [{"role": "user", "content": TEXT}, {"role": "user", "content": LINK}]),
    ],
)  # fmt: skip
def test_a_prompt_is_messages_of_one_block_each(value: Any, expected: list[dict[str, Any]]) -> None:
    assert messages(value) == expected


def test_a_sampling_message_may_hold_several_blocks() -> None:
    assert messages([("user", [LINK, "hi"]), "hi"], listed=True) == [
        {"role": "user", "content": [LINK, TEXT]},
        {"role": "user", "content": TEXT},
    ]


URI = "x://1"


@pytest.mark.parametrize(
    ("value", "mime_type", "expected"),
    [
        ("hi", None, [{"uri": URI, "mimeType": "text/plain", "text": "hi"}]),
        ("hi", "text/markdown", [{"uri": URI, "mimeType": "text/markdown", "text": "hi"}]),
        (b"\x00", None, [{"uri": URI, "mimeType": "application/octet-stream", "blob": "AA=="}]),
        (PNG, None, [{"uri": URI, "mimeType": "image/png", "blob": "iVBORw0KGgo="}]),
        (Image(PNG), None, [{"uri": URI, "mimeType": "image/png", "blob": "iVBORw0KGgo="}]),
        ({"a": 1}, None, [{"uri": URI, "mimeType": "application/json", "text": '{"a":1}'}]),
        ([], None, [{"uri": URI, "mimeType": "application/json", "text": "[]"}]),
        ({"uri": "x://2", "text": "t"}, None, [{"uri": "x://2", "text": "t"}]),
        ([{"uri": "x://2", "text": "t"}, {"uri": "x://3", "blob": "AA=="}], None,
         [{"uri": "x://2", "text": "t"}, {"uri": "x://3", "blob": "AA=="}]),
        (mcp_types.TextResourceContents(uri="x://2", text="t"), None, [{"uri": "x://2", "text": "t"}]),
    ],
)  # fmt: skip
def test_a_value_becomes_the_contents_of_a_resource(
    value: Any, mime_type: str | None, expected: list[dict[str, Any]]
) -> None:
    assert contents(value, URI, mime_type) == expected


def test_a_lone_surrogate_is_replaced_in_data_too() -> None:
    assert blocks({"name": "caf\udce9"}) == [text('{"name":"caf?"}')]
    assert contents(["\ud83d"], "a://b", None) == [{"uri": "a://b", "mimeType": "application/json", "text": '["?"]'}]
