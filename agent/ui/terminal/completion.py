"""Completion in the chat: commands and names are known locally, values are requested from their servers."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import anyio
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agent.ui.typed import literal_head, place_in_template, word_at_end, written

if TYPE_CHECKING:
    import mcp_types as types

    from agent.host.catalogue import Offered
    from agent.host.host import Host

PAUSE = 0.25  # seconds without a key before a completion request is sent without Tab
_MENTION = re.compile(r"(?<!\S)@(\S*)\Z")
_PROMPT = re.compile(r"/(?:prompt|get_prompt) +(\S+) +(.*)|/([^\s:]+:\S+) +(.*)", re.DOTALL)
_READING = re.compile(r"/(?:read|subscribe) +(\S*)")


class ChatCompleter(Completer):
    """Completes the chat's input. `commands` are the names of the slash commands."""

    def __init__(self, host: Host, commands: Sequence[str]) -> None:
        self._host, self._commands = host, commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Completions from local knowledge."""
        text = document.text_before_cursor
        if not text.startswith("/"):
            mention = _MENTION.search(text)
            return self._mentioned(mention[1]) if mention else ()
        if typed := _PROMPT.fullmatch(text):
            return self._argument_names(typed[1] or typed[3], typed[2] or typed[4] or "")
        command, space, word = text.partition(" ")
        if " " in word:
            return ()
        return _beginning(self._subjects(command) if space else self._openings(), word if space else text)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Also the values that servers suggest, requested after a pause in typing or when Tab is pressed."""
        for one in self.get_completions(document, complete_event):
            yield one
        if not complete_event.completion_requested:
            await anyio.sleep(PAUSE)
        for one in await self._suggested(document.text_before_cursor):
            yield one

    def _openings(self) -> list[str]:
        prompts = [f"/{one.server}:{one.item.name}" for one in self._host.prompts()]
        return [f"/{name}" for name in self._commands] + prompts

    def _subjects(self, command: str) -> list[str]:
        match command:
            case "/call":
                return _unique([(tool.server, tool.name) for tool in self._host.tools()])
            case "/prompt" | "/get_prompt":
                return _unique([(one.server, one.item.name) for one in self._host.prompts()])
            case "/read" | "/subscribe":
                return self._addresses()
            case "/unsubscribe":
                return [uri for one in self._host.connections.values() for uri in one.subscriptions.uris]
            case "/tools" | "/resources" | "/prompts" | "/reconnect":
                return [view.name for view in self._host.servers()]
            case "/trace":
                return ["on", "off", "last"]
            case _:
                return []

    def _addresses(self) -> list[str]:
        heads = [literal_head(one.item.uri_template) for one in self._host.templates()]
        return list(dict.fromkeys([str(one.item.uri) for one in self._host.resources()] + heads))

    def _mentioned(self, typed: str) -> Iterator[Completion]:
        """Resources by URI, or by a part of the name."""
        for one in self._host.resources():
            uri, name = str(one.item.uri), one.item.title or one.item.name
            fits = uri.startswith(typed) or typed.lower() in name.lower()
            if fits and uri.isprintable() and name.isprintable():
                yield Completion(f"@{uri}", -len(typed) - 1, display_meta=name)
        heads = [literal_head(one.item.uri_template) for one in self._host.templates()]
        yield from _beginning([f"@{head}" for head in heads], f"@{typed}")

    def _argument_names(self, name: str, typed: str) -> Iterator[Completion]:
        word, prompt = word_at_end(typed), self._prompt(name)
        arguments = prompt.item.arguments or [] if prompt else []
        if word.value is None:
            yield from _beginning([f"{one.name}=" for one in arguments if one.name not in word.known], word.raw)

    async def _suggested(self, text: str) -> list[Completion]:
        if typed := _PROMPT.fullmatch(text):
            return await self._values(typed[1] or typed[3], typed[2] or typed[4] or "")
        if found := _READING.fullmatch(text) or (_MENTION.search(text) if not text.startswith("/") else None):
            return await self._filled(found[1])
        return []

    async def _values(self, name: str, typed: str) -> list[Completion]:
        word, prompt = word_at_end(typed), self._prompt(name)
        if prompt is None or word.value is None:
            return []
        values = await self._host.suggestions.for_prompt(prompt, word.name, word.value, word.known)
        made = [(written(word.name, value), value) for value in values if value.isprintable()]
        return [Completion(text, -len(word.raw), display=value) for text, value in made if text != word.raw]

    async def _filled(self, typed: str) -> list[Completion]:
        found = []
        for one in self._host.templates():
            if place := place_in_template(one.item.uri_template, typed):
                values = await self._host.suggestions.for_template(one, place.name, place.value, place.known)
                made = [(place.filled(value), value) for value in values if value.isprintable()]
                found += [Completion(uri, -len(typed), display=value) for uri, value in made if uri != typed]
        return found

    def _prompt(self, name: str) -> Offered[types.Prompt] | None:
        fits = (
            one
            for one in self._host.prompts()
            if name in (one.item.name, f"{one.server}/{one.item.name}", f"{one.server}:{one.item.name}")
        )
        return next(fits, None)


def _beginning(words: Iterable[str], typed: str) -> Iterator[Completion]:
    for one in words:
        if one.startswith(typed) and one != typed and one.isprintable():
            yield Completion(one, -len(typed))


def _unique(named: list[tuple[str, str]]) -> list[str]:
    """Each name alone where it is unique, else qualified with its server's name."""
    names = [name for _, name in named]
    return [name if names.count(name) == 1 else f"{server}/{name}" for server, name in named]
