"""Answers plain requests with the tools of the connected servers, without a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from json import JSONDecodeError, JSONDecoder

from agent.chat.messages import AssistantMessage, Message, ToolMessage, ToolResult
from agent.chat.provider import Request, ToolSpec
from agent.providers.mock.arguments import PROSE, fill
from agent.providers.mock.reply import Reply, last_user_text, number_calls, plain_text, write_arguments
from agent.providers.mock.schema import Schema, invent_text, properties, required
from agent.providers.mock.words import Named, bare, find_by_name, find_named, stems, words

HEAD = 300
"""A tool must be named within so many characters; a longer text is a single request."""

QUOTED_CHARACTERS = 2_000
SHOWN_EXAMPLES = 5
SURE_ENOUGH = 0.4
UNITS = ("seconds", "minutes", "hours", "days")
HASH = re.compile("_[0-9a-f]{8}$")
"""The suffix that makes a tool's name unique; people do not type it."""

CALL = re.compile(r"\bcall\s+(?:the\s+)?(?:tool\s+)?`?([A-Za-z0-9_/-]{1,64})`?\s*(?:with\s+)?(\{.*)", re.I | re.S)
QUOTED_OR_BREAK = re.compile(
    r'"(?:\\.|[^"\\])*"|(?P<strong>[,;.]?\s+(?:and\s+)?(?:also|then)\s+|\s*;\s*)|(?P<weak>,?\s+and\s+|,\s*|\n)', re.I
)

Wish = tuple[str, str]
"""A tool as shown to the model, and the arguments as JSON."""


def answer(request: Request) -> Reply:
    """Tool calls for the last user text, the results of calls that ran, or a description of what the mock can do.

    A request with the lowest effort is a server's sampling request: its text is echoed, or one of its tools called.
    """
    sampling = request.effort == "lowest"
    results = _results(request, anywhere=sampling)
    if results is not None:
        return Reply(("[mock] " if sampling else "(mock) ") + _quote(results, request.messages))
    text = last_user_text(request)
    wishes = _wishes(text, request)
    if wishes:
        return Reply(calls=number_calls(request, wishes[:1] if sampling else wishes))
    return Reply(f"[mock] {text}" if sampling else _introduce(request.tools))


def _results(request: Request, *, anywhere: bool) -> ToolMessage | None:
    said = request.messages if anywhere else request.messages[-1:]
    return next((message for message in reversed(said) if isinstance(message, ToolMessage)), None)


def _wishes(text: str, request: Request) -> list[Wish]:
    if request.tool_choice == "none":
        return []
    found = [wish for part in _split(text, request.tools) if (wish := _read(part, request.tools))]
    must = request.tool_choice == "required" or request.effort == "lowest"
    return found or [_write(tool, text, text) for tool in request.tools[:1] if must]


def _split(text: str, tools: Sequence[ToolSpec]) -> list[str]:
    """The text split where another request begins: "add 1 and 2 and also echo hi" contains two."""
    if len(text) > HEAD:
        return [text]
    parts, start = [], 0
    breaks = [match for match in QUOTED_OR_BREAK.finditer(text) if match.lastgroup]
    for this, after in zip(breaks, [*(match.start() for match in breaks[1:]), len(text)], strict=False):
        if _begins_request(text[this.end() : after], tools, anywhere=this.lastgroup == "strong"):
            parts.append(text[start : this.start()])
            start = this.end()
    return [*parts, text[start:]]


def _begins_request(text: str, tools: Sequence[ToolSpec], *, anywhere: bool) -> bool:
    said = words(text)
    named = find_named(said, tools)
    if named and (anywhere or named.start == said[0].start):
        return True
    return CALL.match(text) is not None or (anywhere and _guess(text, tools) is not None)


def _read(text: str, tools: Sequence[ToolSpec]) -> Wish | None:
    """Parse one request: `call TOOL {json}`, a tool's name, or words that match a tool."""
    if said := CALL.search(text):
        tool = find_by_name(said[1], tools)
        return tool.name if tool else said[1].replace("/", "__"), _json_at_start(said[2])
    named = find_named(words(text[:HEAD]), tools) or _guess(text, tools)
    return _write(named.tool, text, text[named.end :]) if named else None


def _json_at_start(text: str) -> str:
    """The JSON object at the start of the text, else the whole text, whose error is reported later."""
    try:
        return text[: JSONDecoder().raw_decode(text)[1]]
    except (JSONDecodeError, RecursionError):
        return text


def _write(tool: ToolSpec, text: str, rest: str) -> Wish:
    return tool.name, write_arguments(fill(tool.schema, text, rest)[0])


def _guess(text: str, tools: Sequence[ToolSpec]) -> Named | None:
    """The tool that matches the words best; of equals the one with the fewest required arguments.

    A word that occurs in many names counts little: "git" alone selects none of twelve git tools. Compared with a word
    of the tool's name, a usable value in the text counts a half and a word of its description a tenth.
    """
    said = words(text[:HEAD])
    heard = {word.stem for word in said}
    names = [set(stems(bare(tool.name))) for tool in tools]
    shared = Counter(stem for name in names for stem in name)
    best: tuple[float, int, Named] | None = None
    for tool, name in zip(tools, names, strict=True):
        if not name & heard:
            continue
        described = heard & set(stems(tool.description))
        held = fill(tool.schema, text[:HEAD])[1]
        score = sum(1 / shared[stem] for stem in name & heard) + held / 2 + len(described) / 10
        rank = (score, -len(required(tool.schema)))
        if score >= SURE_ENOUGH and (best is None or rank > best[:2]):
            hits = [word for word in said if word.stem in name]
            best = (*rank, Named(tool, hits[0].start, hits[-1].end))
    return best and best[2]


def _quote(said: ToolMessage, messages: Sequence[Message]) -> str:
    tools = {
        call.id: call.tool
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }
    return "\n\n".join(_quote_one(result, bare(tools.get(result.call_id, "a tool"))) for result in said.results)


def _quote_one(result: ToolResult, tool: str) -> str:
    text = plain_text(result.content).strip()
    verb = "failed" if result.is_error else "said"
    if len(text) > QUOTED_CHARACTERS:
        text = f"{text[:QUOTED_CHARACTERS]} … ({len(text) - QUOTED_CHARACTERS} characters more)"
    if "\n" not in text:
        return f"`{tool}` {verb}: {text or 'nothing'}"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"`{tool}` {verb}:\n\n{fence}\n{text}\n{fence}"


def _introduce(tools: Sequence[ToolSpec]) -> str:
    return (
        "(mock) Hello! I am a mock, not a language model: I answer offline, and only by the words you use.\n\n"
        f"{_offer(tools)}\n\n"
        "For a real model set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` and start again."
    )


def _offer(tools: Sequence[ToolSpec]) -> str:
    """The servers' tools with examples; the host's own (no server in the name) are of no use without a real model."""
    tools = [tool for tool in tools if "__" in tool.name]
    if not tools:
        return "No tools are connected, so there is nothing I could call."
    shown = _one_of_each_server_first(tools)[:SHOWN_EXAMPLES]
    examples = "\n".join(f"- `{example(tool)}`" for tool in shown)
    connected = f"{len(tools)} are connected" if len(tools) > 1 else "one is connected"
    return (
        f"I can call a tool that your words name; {connected}. For instance:\n\n{examples}\n"
        f"- `call {bare(tools[0].name)} {{…}}` with its arguments as JSON"
    )


def _one_of_each_server_first(tools: Sequence[ToolSpec]) -> list[ToolSpec]:
    seen: Counter[str] = Counter()
    ranked = []
    for tool in tools:
        server = tool.name.split("__", 1)[0]
        ranked.append((seen[server], tool))
        seen[server] += 1
    return [tool for _, tool in sorted(ranked, key=lambda pair: pair[0])]


def example(tool: ToolSpec) -> str:
    """A plain-text request that calls this tool."""
    known = properties(tool.schema)
    numbers = iter((3, 5, 2, 4))
    spoken = re.sub("[_-]+", " ", HASH.sub("", bare(tool.name)))
    if not required(tool.schema) and (unit := next((unit for unit in UNITS if unit in known), None)):
        return f"run {spoken} for 2 {unit}"
    values = [_example_value(name, known[name], numbers) for name in required(tool.schema)]
    said = (" and " if all(value.isdigit() for value in values) else " ").join(filter(None, values))
    return f"{spoken} {said}".strip()


def _example_value(name: str, schema: Schema, numbers: Iterator[int]) -> str:
    match schema:
        case {"enum": [first, *_]}:
            return str(first)
        case {"type": "number" | "integer"}:
            return str(next(numbers, ""))
        case {"type": "string"}:
            return "hello" if PROSE & set(stems(name)) else invent_text(name, schema)
    return ""
