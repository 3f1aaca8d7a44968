"""The commands `login` and `logout`."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

import anyio

from agent.chat.questions import Answer, FillForm, OpenUrl
from agent.host.browser import open_page
from agent.host.config.config import Config
from agent.host.errors import HostError
from agent.host.oauth.browser import BRING, LOGIN_SECONDS, Ask, Browsing
from agent.host.oauth.login import log_in, log_out
from agent.ui.environment import Environment
from agent.ui.escapes import clean
from agent.ui.exit_codes import ExitCode

if TYPE_CHECKING:
    from agent.ui.cli import Invocation

LINE_LIMIT = 64 * 1024  # bytes of a pasted URL


async def sign_in_or_out(config: Config, invocation: Invocation, environment: Environment) -> ExitCode:
    (server,) = invocation.arguments
    try:
        if invocation.command == "logout":
            said = await log_out(config, server)
        else:
            ask = _beside(environment) if environment.can_ask else _in_lines(environment)
            said = await log_in(config, server, Browsing(server, ask, open_page).redirecting)
    except HostError as error:
        environment.say(clean(config.mask(str(error))))
        return ExitCode.FAILED
    environment.stdout.write(f"{said}\n")
    environment.stdout.flush()
    return ExitCode.ANSWERED


def _beside(environment: Environment) -> Ask:
    from agent.ui.dialogues import dialogue
    from agent.ui.terminal.asking import ask_beside

    async def ask(question: OpenUrl | FillForm) -> Answer:
        if isinstance(question, FillForm):
            said, _, url = question.message.partition("\n")
            environment.say(clean(url))  # not wrapped, however long it is, so that it can be copied as a whole
            question = replace(question, message=said)
        return await ask_beside(dialogue(question), environment)

    return ask


def _in_lines(environment: Environment) -> Ask:
    """Without a terminal: print the URL of the page, open no browser, and accept a redirect URL as a line on stdin."""
    lines = _Lines(environment.stdin)

    async def ask(question: OpenUrl | FillForm) -> Answer:
        if isinstance(question, OpenUrl):
            warnings = "".join(f"{clean(warning)}\n" for warning in question.warnings)
            environment.say(f"{warnings}Open this page to sign in to {question.server}:\n{clean(question.url)}")
            return Answer("accept", {"open": False})
        said, _, _ = question.message.partition("\n")
        if said != BRING:
            environment.say(said)
        limit = f"{LOGIN_SECONDS / 60:.0f} minutes"
        environment.say(f"If it ends at an address that does not load, paste that address here, within {limit}.")
        line = await lines.next()
        if line is None:
            await anyio.sleep_forever()  # no URL can be pasted any more, but the page may still redirect to us
        return Answer("accept", {"address": line})

    return ask


class _Lines:
    """Reads lines without a thread, since a thread blocked in a read could not be cancelled."""

    def __init__(self, stdin: TextIO) -> None:
        self._stdin, self._ahead = stdin, b""

    async def next(self) -> str | None:
        """The next line; None at the end of the stream."""
        try:
            handle = self._stdin.fileno()
        except (io.UnsupportedOperation, ValueError):
            return self._stdin.readline() or None
        while b"\n" not in self._ahead and len(self._ahead) < LINE_LIMIT:
            try:
                await anyio.wait_readable(handle)
            except PermissionError:  # a regular file, which epoll refuses and which never blocks
                return self._stdin.readline() or None
            piece = os.read(handle, 1024)
            if not piece:
                break
            self._ahead += piece
        line, end, self._ahead = self._ahead.partition(b"\n")
        return (line + end).decode("utf-8", "replace") or None
