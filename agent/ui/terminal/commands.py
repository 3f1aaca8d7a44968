"""The chat's slash commands: the commands of the command line, within the chat."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from agent.chat.messages import Text, ToolCall, UserMessage
from agent.chat.questions import FillForm
from agent.host.config.config import ConfigError
from agent.host.errors import HostError
from agent.ui.arguments import ArgumentsError, read_arguments, read_texts, split_line
from agent.ui.escapes import clean, clean_line
from agent.ui.lines import call_line, fold
from agent.ui.listings import (
    prompts_text,
    reading_text,
    resources_text,
    result_text,
    schema_of,
    servers_text,
    tools_text,
)
from agent.ui.terminal.paint import tool_block
from agent.ui.terminal.region import Running
from agent.ui.terminal.server_commands import roots, sampling
from agent.ui.terminal.trace_commands import subscribe, trace, unsubscribe

if TYPE_CHECKING:
    from agent.ui.terminal.chat import Chat

_FOLDED = 20
"""Lines that are shown of the result of a tool called by a command."""


@dataclass(frozen=True, slots=True)
class Slash:
    name: str
    usage: str
    summary: str
    run: Callable[[Chat, str], Awaitable[None]]


async def obey(chat: Chat, line: str) -> None:
    """Run a line that begins with a slash, or say why it cannot be run."""
    name, _, rest = line[1:].strip().partition(" ")
    chat.say(f"\n{clean_line(line)}", "bold cyan")
    try:
        if command := _COMMANDS.get(name):
            await command.run(chat, rest.strip())
        elif ":" in name:
            server, _, prompt = name.partition(":")
            await _use_prompt(chat, f"{server}/{prompt}", rest.strip())
        else:
            chat.say(f"There is no command /{name}. {_nearest(name)}")
    except (ArgumentsError, HostError, ConfigError) as error:
        chat.say(str(error))


def _nearest(name: str) -> str:
    close = get_close_matches(name, _COMMANDS, n=1)
    return f"Did you mean /{close[0]}?" if close else "/help shows them all."


async def _help(chat: Chat, rest: str) -> None:
    width = max(len(slash.usage) for slash in SLASHES)
    lines = [f"{slash.usage:<{width}}  {slash.summary}" for slash in SLASHES]
    chat.say("\n".join([*lines, "", *_KEYS]))


async def _servers(chat: Chat, rest: str) -> None:
    chat.say(servers_text(chat.host.servers()))


async def _tools(chat: Chat, rest: str) -> None:
    chat.say(tools_text(chat.host.tools(rest or None)))


async def _resources(chat: Chat, rest: str) -> None:
    chat.say(resources_text(chat.host.resources(rest or None), chat.host.templates(rest or None)))


async def _prompts(chat: Chat, rest: str) -> None:
    chat.say(prompts_text(chat.host.prompts(rest or None)))


async def _read(chat: Chat, rest: str) -> None:
    if not rest:
        raise ArgumentsError("Say what to read: /read URI. /resources lists what there is.")
    chat.say(reading_text(await chat.host.read(rest)))


async def _call(chat: Chat, rest: str) -> None:
    name, _, typed = rest.partition(" ")
    if not name:
        raise ArgumentsError('Say what to call: /call TOOL {"key": "value"}, or /call TOOL key=value.')
    arguments = read_arguments(split_line(typed), schema_of(chat.host, name))
    chat.host.catalogue.find_tool(name)
    title = call_line(name, ToolCall("", name, arguments))
    running, started = Running(title), time.monotonic()

    def progressed(done: float, total: float | None = None, note: str | None = None) -> None:
        running.done, running.total, running.note = done, total, note or ""
        chat.screen.refresh()

    chat.screen.region.running["by hand"] = running
    chat.screen.refresh()
    try:
        result = await chat.host.call_tool(name, arguments, None, progressed)
        text, failed = result_text(result), result.is_error
    except HostError as error:
        text, failed = clean(str(error)), True
    finally:
        del chat.screen.region.running["by hand"]
        chat.screen.shrink()
    block = tool_block(title, fold(text, _FOLDED), failed=failed, seconds=time.monotonic() - started)
    chat.screen.print(chat.painter.ansi(block, chat.screen.width))


async def _prompt(chat: Chat, rest: str) -> None:
    name, _, typed = rest.partition(" ")
    if not name:
        raise ArgumentsError("Say which prompt: /prompt NAME key=value. /prompts lists them.")
    await _use_prompt(chat, name, typed)


async def _use_prompt(chat: Chat, name: str, typed: str) -> None:
    """Get a prompt, after asking for missing arguments, and send it to the model."""
    arguments = read_texts(split_line(typed))
    offered = [one for one in chat.host.prompts() if name in (one.item.name, f"{one.server}/{one.item.name}")]
    wanted = offered[0].item.arguments if offered else None
    missing = [one for one in wanted or [] if one.required and one.name not in arguments]
    if missing:
        properties: dict[str, Any] = {
            one.name: {"type": "string", "title": one.title or one.name, "description": one.description or ""}
            for one in missing
        }
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        answer = await chat.ask(FillForm(offered[0].server, f"The prompt {name} needs:", schema))
        if answer.verdict != "accept":
            return
        arguments |= answer.content or {}
    from agent.host.content import messages_of

    messages = messages_of(await chat.host.prompt(name, arguments))
    if not messages:
        raise ArgumentsError(f"The prompt {name} is empty.")
    *before, last = messages
    for message in before:
        chat.host.agent.conversation.add(message)
    await chat.turn(last if isinstance(last, UserMessage) else UserMessage((Text(last.text),)))


async def _reconnect(chat: Chat, rest: str) -> None:
    if not rest:
        raise ArgumentsError("Say which server: /reconnect NAME. /servers lists them.")
    await chat.host.reconnect(rest)
    await _servers(chat, "")


async def _model(chat: Chat, rest: str) -> None:
    if rest:
        await chat.host.set_model(rest)
    chat.say(f"The model is {chat.host.model}.")


async def _usage(chat: Chat, rest: str) -> None:
    usage = chat.watcher.usage
    chat.say(
        f"{usage.input_tokens:,} tokens in, {usage.cached_tokens:,} of them cached; {usage.output_tokens:,} tokens out."
    )


async def _exit(chat: Chat, rest: str) -> None:
    chat.leave()


SLASHES = (
    Slash("servers", "/servers", "the servers, and how they are", _servers),
    Slash("tools", "/tools [SERVER]", "their tools", _tools),
    Slash("call", "/call TOOL ARGUMENTS", 'call a tool by hand: {"a": 3} or a=3', _call),
    Slash("resources", "/resources [SERVER]", "what can be read", _resources),
    Slash("read", "/read URI", "read it", _read),
    Slash("prompts", "/prompts [SERVER]", "the servers' prompts", _prompts),
    Slash("prompt", "/prompt NAME ARGUMENTS", "use one; also /SERVER:NAME", _prompt),
    Slash("reconnect", "/reconnect SERVER", "start a server anew", _reconnect),
    Slash("model", "/model [PROVIDER/MODEL]", "the model that answers, or another one", _model),
    Slash("sampling", "/sampling [forget SERVER]", "what servers asked the model, and may ask", sampling),
    Slash("roots", "/roots [add|remove FOLDER | forget SERVER]", "the folders that servers may know of", roots),
    Slash("subscribe", "/subscribe URI", "be told when it changes; /unsubscribe ends that", subscribe),
    Slash("trace", "/trace on|off|last N", "the messages to and from servers", trace),
    Slash("usage", "/usage", "the tokens used so far", _usage),
    Slash("help", "/help", "this", _help),
    Slash("exit", "/exit", "leave", _exit),
)
_COMMANDS = {slash.name: slash for slash in SLASHES} | {
    "get_prompt": next(slash for slash in SLASHES if slash.name == "prompt"),
    "quit": next(slash for slash in SLASHES if slash.name == "exit"),
    "unsubscribe": Slash("unsubscribe", "/unsubscribe URI", "not be told any more", unsubscribe),
}
COMMAND_NAMES = tuple(_COMMANDS)
_KEYS = (
    "@ attaches a resource, Tab completes commands, names and arguments.",
    "Enter sends, Alt-Enter begins a new line, Up brings back earlier lines. A line sent meanwhile waits its turn.",
    "Ctrl-C stops what runs or clears the line, Ctrl-D leaves.",
)
