"""Approval of sampling: the server's request and the model's reply can be viewed, edited, allowed or hand-written."""

from __future__ import annotations

import json
from typing import Any

from agent.chat.messages import Audio, Image, Message, Text, ToolCall, ToolMessage, ToolResult
from agent.chat.provider import Request
from agent.chat.questions import ApproveSampling, FillForm, ReviewSample
from agent.host.sampling.edits import editable_text, edited_request
from agent.host.sampling.size import most_usage, request_tokens
from agent.ui.consenting import Consenting, Edits, folded
from agent.ui.escapes import spell, spell_line
from agent.ui.filling import Filling
from agent.ui.lines import dollars

_REPLY: dict[str, Any] = {"type": "string", "title": "Reply"}
_LEAVE = "leaves the edit"
_LONGEST_NAME = 30  # characters of a server's name, among keys


def approving(asked: ApproveSampling) -> Consenting:
    """The dialogue: may the server's request be sent to the model?"""
    server, model = spell_line(asked.server), spell_line(asked.model)
    return Consenting(
        f"{server} wants to ask {model} something. Allow it?",
        f"y once · s for this session · a always for {spell_line(asked.server, _LONGEST_NAME)}"
        " · e edit · w write the reply yourself · n no · Ctrl-C cancel",
        lambda edits: [_size(asked, edits), *_request_rows(asked, edits)],
        lambda edits: _request_form(asked, edits),
        lambda: _reply_form(asked),
        must_write=asked.by_hand,
    )


def reviewing(asked: ReviewSample) -> Consenting:
    """The dialogue: may the model's reply be sent to the server?"""
    server, model = spell_line(asked.server), spell_line(asked.model)
    has_text = bool(asked.reply.text) or not asked.reply.tool_calls
    return Consenting(
        f"{model} answered. Send this to {server}?",
        f"y send · s all for this session · a always to {spell_line(asked.server, _LONGEST_NAME)}"
        f"{' · e edit' if has_text else ''} · n don't · Ctrl-C cancel",
        lambda edits: _reply_rows(asked, edits),
        (lambda edits: _edited_reply_form(asked, edits)) if has_text else None,
    )


def arguments_text(call: ToolCall) -> str:
    """The arguments of a call as formatted text; if they are no JSON object, unchanged."""
    if call.arguments is None:
        return spell(call.raw)
    return spell(json.dumps(call.arguments, ensure_ascii=False, indent=2)) if call.arguments else ""


def _size(asked: ApproveSampling, edits: Edits) -> str:
    request = edited_request(asked.request, edits)
    count, tokens = len(request.messages), request_tokens(request) if edits else asked.tokens
    parts = [
        f"{count} message{'s' * (count != 1)}",
        f"about {tokens:,} token{'s' * (tokens != 1)}, at most {request.max_tokens or 0:,} back",
        f"cost: {'–' if asked.cost is None else _most(asked.cost * _growth(asked.request, request))}",
        *([f"model: {spell_line(asked.why)}"] if asked.why else []),
    ]
    return " · ".join(parts)


def _growth(before: Request, after: Request) -> float:
    """The factor by which editing a request raises its cost at most, whatever input and output tokens cost."""
    old, new = most_usage(before), most_usage(after)
    return max(new.input_tokens / max(1, old.input_tokens), new.output_tokens / max(1, old.output_tokens))


def _most(cost: float) -> str:
    said = dollars(cost)
    return f"at most {said}" if said.startswith("$") else said


def _request_rows(asked: ApproveSampling, edits: Edits) -> list[str]:
    request = edited_request(asked.request, edits)
    rows = [f"system: {spell(request.system)}"] if request.system else []
    if request.tools:
        rows.append(f"its own tools: {', '.join(spell_line(tool.name) for tool in request.tools)}")
    rows += [f"{_role(message)}: {spell(_said(message))}" for message in request.messages]
    return "\n".join(rows).splitlines()


def _request_form(asked: ApproveSampling, edits: Edits) -> Filling:
    request, most = edited_request(asked.request, edits), asked.request.max_tokens or 1
    limit = {"type": "integer", "title": "Tokens of the reply", "minimum": 1, "maximum": most}
    fields: dict[str, Any] = {"system": {"type": "string", "title": "System prompt", "default": request.system}}
    if (text := editable_text(request)) is not None:
        fields["text"] = {"type": "string", "title": "Last message", "default": text}
    fields["max_tokens"] = limit | {"default": request.max_tokens or 1}
    form = FillForm(asked.server, "", {"properties": fields, "required": ["max_tokens"]})
    title = f"What {spell_line(asked.server)} asks {spell_line(asked.model)}"
    return Filling(form, title=title, edits=True, way_out=_LEAVE)


def _reply_form(asked: ApproveSampling) -> Filling:
    form = FillForm(asked.server, "", {"properties": {"reply": _REPLY}, "required": ["reply"]})
    title = f"You answer {spell_line(asked.server)} in the model's place"
    above, way_out = tuple(folded(_request_rows(asked, {}))), "back" if asked.by_hand else "back to the request"
    return Filling(form, title=title, above=above, way_out=way_out)


def _edited_reply_form(asked: ReviewSample, edits: Edits) -> Filling:
    """A form that edits the text of the reply; its tool calls, which cannot be edited, are shown above."""
    calls = _call_rows(asked)
    title = "Text beside the calls" if calls else "Reply"
    fields = {"text": _REPLY | {"title": title, "default": edits.get("text", asked.reply.text)}}
    form = FillForm(asked.server, "", {"properties": fields})
    told = f"What {spell_line(asked.server)} will be told"
    return Filling(form, title=told, above=tuple(folded(calls)), edits=True, way_out=_LEAVE)


def _reply_rows(asked: ReviewSample, edits: Edits) -> list[str]:
    text: str = edits.get("text", asked.reply.text)
    return [*spell(text).splitlines(), *_call_rows(asked)]


def _call_rows(asked: ReviewSample) -> list[str]:
    calls = [f"calls {spell_line(call.tool)} {arguments_text(call)}" for call in asked.reply.tool_calls]
    return "\n".join(calls).splitlines()


def _role(message: Message) -> str:
    return type(message).__name__.removesuffix("Message").lower()


def _said(message: Message) -> str:
    parts = message.results if isinstance(message, ToolMessage) else message.content
    return "\n".join(_part(part) for part in parts)


def _part(part: Text | Image | Audio | ToolCall | ToolResult) -> str:
    match part:
        case Text(text):
            return text
        case ToolCall(tool=tool):
            return f"calls {tool} {arguments_text(part)}"
        case ToolResult(content=content):
            return "\n".join(_part(one) for one in content)
        case Image(data, mime_type) | Audio(data, mime_type):
            return f"[{mime_type}, {len(data) * 3 // 4:,} bytes]"
