"""Conversations that every adapter must be able to send, each with a reason to go wrong."""

from __future__ import annotations

from agent.chat.messages import (
    AssistantMessage,
    Audio,
    Content,
    Image,
    Stop,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    user,
)
from agent.chat.provider import Request, ToolSpec

PNG = Image("iVBORw0KGgo=", "image/png")
TIFF = Image("SUkqAA==", "image/tiff")
BROKEN = Image("not base64!", "image/png")
WAV = Audio("UklGRg==", "audio/wav")
ADD = ToolSpec(
    "calc__add",
    "Adds two numbers.",
    {"$schema": "x", "type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
)
NOW = ToolSpec("now", "", {})


def called(*calls: ToolCall, text: str = "") -> AssistantMessage:
    said = (Text(text),) if text else ()
    return AssistantMessage((*said, *calls), Stop.TOOL_USE)


def results(*contents: tuple[Content, ...], is_error: bool = False) -> ToolMessage:
    return ToolMessage(
        tuple(ToolResult(f"c{number}", content, is_error) for number, content in enumerate(contents, start=1))
    )


ONE = ToolCall("c1", "calc__add", {"a": 1, "b": 2}, '{"a": 1, "b": 2}')
TWO = ToolCall("c2", "now", {}, "")

CONVERSATIONS: dict[str, Request] = {
    "plain text": Request((user("hi"),), system="Be brief."),
    "unicode": Request((user("wörld 😀 \u2028 \x00"), AssistantMessage((Text("日本語"),)), user("ok"))),
    "parallel calls": Request(
        (user("add"), called(ONE, TWO, text="Let me see."), results((Text("3"),), (Text("noon"), Text("UTC")))),
        tools=(ADD, NOW),
    ),
    "failed call": Request((user("add"), called(ONE), results((Text("no such file"),), is_error=True)), tools=(ADD,)),
    "empty results": Request((user("x"), called(ONE, TWO), results((), (Text(""), Text(" ")))), tools=(ADD,)),
    "images from tools": Request(
        (
            user("look"),
            called(ONE, TWO),
            results((Text("here"), PNG, TIFF), (PNG, BROKEN, WAV)),
            user("and now?"),
        ),
        tools=(ADD,),
    ),
    "failed call with an image": Request((user("x"), called(ONE), results((PNG,), is_error=True)), tools=(ADD,)),
    "images from the user": Request((UserMessage((Text("what is this?"), PNG, WAV, TIFF)),)),
    "arguments that are no JSON": Request(
        (
            user("add"),
            called(ToolCall("c1", "calc__add", None, '{"a": 1')),
            results((Text("The arguments are no JSON object."),), is_error=True),
        ),
        tools=(ADD,),
    ),
    "an empty reply": Request((user("hi"), AssistantMessage(()), AssistantMessage((Text(""),)), user("hello?"))),
    "blank texts": Request((user(""), AssistantMessage((Text(" \n"), ONE), Stop.TOOL_USE), results((Text("3"),)))),
    "interrupted then more": Request(
        (user("tell me"), AssistantMessage((Text("Once upon"),), Stop.INTERRUPTED), user("go on"))
    ),
    "interrupted among calls": Request(
        (
            user("add"),
            called(ONE, TWO),
            ToolMessage(
                (ToolResult("c1", (Text("3"),)), ToolResult("c2", (Text("Cancelled by the user."),), is_error=True))
            ),
            user("hi"),
        ),
        tools=(ADD, NOW),
    ),
    "the user twice": Request((user("one"), UserMessage((Text("two"), PNG)), user("three"))),
    "foreign ids and names": Request(
        (
            user("x"),
            called(ToolCall("functions.now:0", "fs.read file", {"a": 1})),
            ToolMessage((ToolResult("functions.now:0", (Text("ok"),)),)),
        ),
        tools=(NOW,),
    ),
    "begins and ends with the assistant": Request(
        (AssistantMessage((Text("Hello."),)), user("hi"), AssistantMessage((Text("Yes?"),)))
    ),
    "limits": Request(
        (user("hi"),), max_tokens=5, temperature=0.5, stop_sequences=("END",), tools=(NOW,), tool_choice="required",
        effort="lowest",
    ),
    "no tools now": Request((user("hi"),), tools=(NOW,), tool_choice="none"),
}  # fmt: skip
