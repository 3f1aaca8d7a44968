"""The chat: each line from the user runs a turn or a command, one after another, until the user leaves."""

from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable, Callable

import anyio

from agent import __version__
from agent.chat.events import Noticed
from agent.chat.messages import UserMessage
from agent.chat.outbox import Outbox
from agent.chat.provider import ProviderError
from agent.chat.questions import Answer, FillForm
from agent.host.config.config import Config, ConfigError
from agent.host.host import Host, HostError, open_host
from agent.host.options import Options
from agent.ui.attachments import attached, has_mentions
from agent.ui.dialogues import Filling
from agent.ui.environment import Environment
from agent.ui.escapes import clean, clean_line
from agent.ui.exit_codes import ExitCode
from agent.ui.failures import failure_code
from agent.ui.lines import flat
from agent.ui.terminal.commands import COMMAND_NAMES, obey
from agent.ui.terminal.completion import ChatCompleter
from agent.ui.terminal.device import terminal_output, use_color
from agent.ui.terminal.input_lines import unkept
from agent.ui.terminal.paint import Painter
from agent.ui.terminal.screen import Reactions, Screen
from agent.ui.terminal.watcher import Watcher

HISTORY = "history"
"""The name of the input history's file in the data folder."""

_PATIENCE = 5.0
"""Seconds to wait for the screen to show the end of a turn."""


Opening = Callable[["Chat"], Awaitable[None]]
"""Runs before the first line is read from the user."""


async def chat(
    config: Config, options: Options, environment: Environment, opening: Opening | None = None, typed: str = ""
) -> ExitCode:
    """Chat until the user leaves, a signal arrives or the terminal is lost. `typed` was typed before the chat began."""
    outbox = Outbox()
    try:
        async with open_host(config, outbox, interactive=True) as host:
            return await Chat(host, outbox, options, environment, typed).run(opening)
    except (HostError, ConfigError, ProviderError) as error:
        environment.say(clean(str(error)))
        return failure_code(error)


class Chat:
    """The state of a chat. `screen`, `painter` and `host` are used by the commands."""

    def __init__(self, host: Host, outbox: Outbox, options: Options, environment: Environment, typed: str) -> None:
        from prompt_toolkit.input import create_input

        color = use_color(options.color, environment.environ)
        self.host, self.painter = host, Painter(color=color, verbose=options.verbose > 0)
        self.screen = Screen(
            Reactions(self._send, self._interrupt, self.leave),
            input=create_input(environment.stdin),
            output=terminal_output(environment.stdout),
            completer=ChatCompleter(host, COMMAND_NAMES),
            history=host.config.data_folder / HISTORY,
            color=color,
            typed=typed,
        )
        self.watcher = Watcher(self.screen, self.painter, self._refresh, host)
        self._outbox = outbox
        self._code = ExitCode.ANSWERED
        self._arrived = anyio.Event()
        self._scopes: list[anyio.CancelScope] = []
        self._waits_with = ""

    async def run(self, opening: Opening | None) -> ExitCode:
        self._greet()
        self._refresh()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.watcher.follow, self._outbox)
            tasks.start_soon(self._converse, opening)
            tasks.start_soon(self._listen)
            try:
                await self.screen.run()
            except EOFError:
                self._code = ExitCode.HANGUP
            tasks.cancel_scope.cancel()
        return self._code

    def leave(self) -> None:
        self.screen.close()

    def say(self, text: str, style: str = "") -> None:
        """Print text above the prompt, cleaned."""
        self.screen.print(self.painter.text(clean(text).rstrip("\n"), self.screen.width, style))

    async def ask(self, form: FillForm) -> Answer:
        """Ask the user for input that a command needs."""
        return await self.screen.ask(Filling(form))

    async def turn(self, message: UserMessage) -> None:
        """Run one turn with the model, after all servers that are starting are ready or have failed."""
        try:
            await self._settled(flat(message.content))
        except HostError as error:
            self.say(str(error))
            return
        turns = self.watcher.turns + 1
        try:
            await self.host.agent.turn(message)
        finally:
            with anyio.move_on_after(_PATIENCE, shield=True):
                await self.watcher.caught_up(turns)

    async def take_line(self) -> None:
        """Wait for the user's next line, and run it; Ctrl-C cancels only what that line started."""
        line = await self._next()
        with anyio.CancelScope() as scope:
            self._scopes.append(scope)
            self._refresh()
            await (obey(self, line) if line.startswith("/") else self._answer(line))
        self._scopes.remove(scope)
        if scope.cancelled_caught and line.startswith("/"):
            self.say("■ Stopped.", "yellow")
        self._refresh()

    async def _answer(self, line: str) -> None:
        """Run a turn with the line that the user typed and the resources that it mentions."""
        try:
            if has_mentions(line):
                await self._settled(line)
            message = await attached(self.host, line)
        except HostError as error:
            self.say(f"{error} So nothing was sent; Up brings the line back.")
            return
        await self.turn(message)

    async def _converse(self, opening: Opening | None) -> None:
        if opening:
            await opening(self)
        while True:
            await self.take_line()

    async def _next(self) -> str:
        queued = self.screen.region.queued
        while not queued:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        line = queued.pop(0)
        self.screen.shrink()
        return line

    async def _settled(self, line: str) -> None:
        """Wait until no server is starting, showing `line` meanwhile. Ctrl-C skips the wait, not the turn."""
        with anyio.CancelScope() as scope:
            self._scopes.append(scope)
            self._waits_with = line
            self._refresh()
            try:
                await self.host.settled()
            finally:
                self._scopes.remove(scope)
                self._waits_with = ""
                self._refresh()

    async def _listen(self) -> None:
        """A signal ends the chat cleanly."""
        if sys.platform == "win32":
            return
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as received:
            async for one in received:
                self._code = ExitCode.HANGUP if one == signal.SIGHUP else ExitCode.TERMINATED
                self.leave()

    def _send(self, text: str) -> None:
        self.screen.region.queued.append(text)
        self._arrived.set()
        self.screen.refresh()

    def _interrupt(self) -> bool:
        """Cancel what runs. If nothing does, True if lines are queued: the screen puts them back into the draft."""
        if not self._scopes:
            return bool(self.screen.region.queued)
        self._scopes[-1].cancel()
        return True

    def _greet(self) -> None:
        config = self.host.config
        lines = [f"mcp-chat {__version__} · model {self.host.model}. {config.model_reason}"]
        if self.host.model.startswith("mock/"):
            lines.append("This model is a mock: it runs real tools, but does not think. Set a key to use a real one.")
        lines.append("Type a request; /help shows the commands, Ctrl-D leaves.")
        self.say("\n".join(lines))
        history = config.data_folder / HISTORY
        if why := unkept(history):
            self.watcher.show(
                Noticed("", "warning", f"This chat goes without history: {history} cannot be written: {why}.")
            )

    def _refresh(self) -> None:
        usage, region, model, servers = self.watcher.usage, self.screen.region, self.host.model, self._servers()
        some = usage.input_tokens or usage.output_tokens
        tokens = f"{usage.input_tokens:,} in, {usage.output_tokens:,} out" if some else ""
        starting = [name for name, state in self.watcher.servers.items() if state == "starting"]
        waits = bool(self._waits_with and starting)
        doing = "waiting, Ctrl-C skips" if waits else "working, Ctrl-C stops" if self._scopes else ""
        region.opening = (
            (f"› {self._waits_with}", f"  waiting for {', '.join(starting)} (Ctrl-C skips)") if waits else ()
        )
        region.status = _joined(model, servers, tokens, doing)
        region.shorter = (_joined(model, servers, doing), _joined(model, doing), doing or model)
        self.screen.refresh()

    def _servers(self) -> str:
        states = self.watcher.servers
        named = {
            state: [name for name, now in states.items() if now == state] for state in ("starting", "failed", "lost")
        }
        ready = sum(state == "ready" for state in states.values())
        troubled = [f"{', '.join(names)} {state}" for state, names in named.items() if names]
        if not states:
            return "no servers"
        return ", ".join([f"{ready} of {len(states)} server{'s' * (len(states) != 1)} ready", *troubled])


def _joined(*parts: str) -> str:
    return " · ".join(map(clean_line, filter(None, parts)))
