"""What a model API refuses and no mock of it does: the rules of the three wire formats, checked on a request's body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Body = dict[str, Any]
Faults = Iterator[str]

SAMPLING = {"temperature", "top_p", "top_k"}
COMBINATORS = {"anyOf", "oneOf", "allOf"}
IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}


def lint(api: str, body: Body) -> list[str]:
    """`api` is "chat", "responses" or "messages". Empty for a body that would be taken."""
    rules = {"chat": _chat, "responses": _responses, "messages": _messages}[api]
    return [*_every_string(body), *rules(body)]


def _every_string(value: Any, path: str = "") -> Faults:
    match value:
        case str() if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                yield f"{path}: half a surrogate pair"
        case dict():
            for key, member in value.items():
                yield from _every_string(member, f"{path}.{key}")
        case list():
            for index, member in enumerate(value):
                yield from _every_string(member, f"{path}.{index}")


# Tools


def _name(name: str, longest: int) -> Faults:
    if not re.fullmatch(rf"[A-Za-z0-9_-]{{1,{longest}}}", name):
        yield f"name {name!r}"


def _openai_schema(name: str, schema: Body) -> Faults:
    if schema.get("type") != "object" or "properties" not in schema:
        yield f"{name}: the root is no object with properties"
    if refused := {*COMBINATORS, "enum", "not"} & schema.keys():
        yield f"{name}: {sorted(refused)} at the root"
    yield from _arrays(name, schema)


def _arrays(name: str, schema: Any) -> Faults:
    if isinstance(schema, list):
        for member in schema:
            yield from _arrays(name, member)
    elif isinstance(schema, dict):
        if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
            yield f"{name}: an array without items"
        for key in ("properties", "items", "anyOf", "oneOf", "allOf", "$defs", "definitions"):
            below = schema.get(key)
            yield from _arrays(name, list(below.values()) if key in ("properties", "$defs") and below else below)


def _anthropic_schema(name: str, schema: Body) -> Faults:
    if schema.get("type") != "object":
        yield f"{name}: the root is no object"
    if refused := COMBINATORS & schema.keys():
        yield f"{name}: {sorted(refused)} at the root"
    for key in schema.get("properties", {}):
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", key):
            yield f"{name}: property {key!r}"


# Chat Completions


def _chat(body: Body) -> Faults:
    if len(body.get("tools", ())) > 128:
        yield "more than 128 tools"
    if body.get("tools") == [] or ("tool_choice" in body and "tools" not in body):
        yield "no tools, but a word about them"
    if len(body.get("stop", ())) > 4:
        yield "more than 4 stop sequences"
    for tool in body.get("tools", ()):
        function = tool["function"]
        yield from _name(function["name"], 64)
        yield from _openai_schema(function["name"], function.get("parameters", {}))
    yield from _chat_messages(body["messages"])


def _chat_messages(messages: list[Body]) -> Faults:
    pending: list[str] = []
    for index, message in enumerate(messages):
        role, where = message["role"], f"messages.{index}"
        if role == "system" and index:
            yield f"{where}: a system message that is not the first"
        if role == "user" and index and messages[index - 1]["role"] == "user":
            yield f"{where}: two messages of the user in a row"
        if role == "tool":
            yield from _chat_result(where, message, pending)
        else:
            if pending:
                yield f"{where}: calls {pending} are not answered"
            pending = [call["id"] for call in message.get("tool_calls", ())]
            yield from _chat_calls(where, message)
    if pending:
        yield f"calls {pending} are not answered"


def _chat_result(where: str, message: Body, pending: list[str]) -> Faults:
    if message["tool_call_id"] in pending:
        pending.remove(message["tool_call_id"])
    else:
        yield f"{where}: a result without its call"
    if not isinstance(message["content"], str):
        yield f"{where}: a result that is not text"


def _chat_calls(where: str, message: Body) -> Faults:
    calls = message.get("tool_calls", ())
    if message["role"] == "assistant" and not message.get("content") and not calls:
        yield f"{where}: an empty reply"
    for call in calls:
        yield from _name(call["function"]["name"], 64)
        yield from _call(where, call["id"], call["function"]["arguments"])
    if len({call["id"] for call in calls}) < len(calls):
        yield f"{where}: two calls with one id"


def _call(where: str, id: str, arguments: str) -> Faults:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id):
        yield f"{where}: call id {id!r}"
    if not re.match(r"\s*\{", arguments):
        yield f"{where}: arguments {arguments!r} are no object"


# Responses


def _responses(body: Body) -> Faults:
    if body.get("store") is not False:
        yield "the conversation would be stored"
    if "stop" in body:
        yield "there is no parameter stop"
    if body.get("max_output_tokens", 16) < 16:
        yield "max_output_tokens below 16"
    for tool in body.get("tools", ()):
        yield from _name(tool["name"], 64)
        yield from _openai_schema(tool["name"], tool["parameters"])
        if tool.get("strict") is not False:
            yield f"{tool['name']}: strict is not switched off"
    yield from _response_items(body["input"])


def _response_items(items: list[Body]) -> Faults:
    called: list[str] = []
    answered: list[str] = []
    for index, item in enumerate(items):
        where, kind = f"input.{index}", item.get("type", "message")
        if kind == "function_call":
            called.append(item["call_id"])
            yield from _name(item["name"], 64)
            yield from _call(where, item["call_id"], item["arguments"])
        elif kind == "function_call_output":
            answered.append(item["call_id"])
            if item["call_id"] not in called:
                yield f"{where}: a result without its call"
        elif set(called) - set(answered):
            yield f"{where}: calls {sorted(set(called) - set(answered))} are not answered"
        if kind == "reasoning" and not item.get("encrypted_content"):
            yield f"{where}: reasoning that nobody can read"
        if item.get("role") == "user" and index and items[index - 1].get("role") == "user":
            yield f"{where}: two messages of the user in a row"
    if len(set(called)) < len(called):
        yield "two calls with one id"
    if set(called) - set(answered):
        yield f"calls {sorted(set(called) - set(answered))} are not answered"


# Messages


def _messages(body: Body) -> Faults:
    if "max_tokens" not in body:
        yield "max_tokens is missing"
    if found := SAMPLING & body.keys():
        yield f"{sorted(found)} are refused"
    for tool in body.get("tools", ()):
        yield from _name(tool["name"], 128)
        yield from _anthropic_schema(tool["name"], tool["input_schema"])
    if any(not stop.strip() for stop in body.get("stop_sequences", ())):
        yield "a blank stop sequence"
    yield from _turns(body["messages"])


def _turns(turns: list[Body]) -> Faults:
    roles = [turn["role"] for turn in turns]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        yield f"roles {roles} do not alternate from user to user"
    pending: list[str] = []
    seen: set[str] = set()
    for index, turn in enumerate(turns):
        where, blocks = f"messages.{index}", turn["content"]
        if not blocks:
            yield f"{where}: no content"
        yield from (fault for block in blocks for fault in _block(where, block))
        yield from _results(where, blocks, pending)
        pending = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len({*pending} - seen) < len(pending):
            yield f"{where}: two calls with one id"
        seen |= {*pending}


def _results(where: str, blocks: list[Body], pending: list[str]) -> Faults:
    kinds = [block["type"] for block in blocks]
    answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if sorted(answers) != sorted(pending):
        yield f"{where}: results {answers} for calls {pending}"
    if kinds[: len(answers)] != ["tool_result"] * len(answers):
        yield f"{where}: results that do not come first"


def _block(where: str, block: Body) -> Faults:
    match block:
        case {"type": "text", "text": str(text)} if not text.strip():
            yield f"{where}: blank text"
        case {"type": "tool_use", "id": id, "name": name, "input": input}:
            yield from _name(name, 128)
            yield from _call(where, id, "{}" if isinstance(input, dict) else repr(input))
        case {"type": "thinking"} if not block.get("signature"):
            yield f"{where}: thinking without its signature"
        case {"type": "image", "source": {"media_type": kind}} if kind not in IMAGES:
            yield f"{where}: an image of type {kind}"
        case {"type": "tool_result", "content": content}:
            yield from (fault for part in content for fault in _block(where, part))
