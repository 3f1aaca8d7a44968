"""A single answer (`-p`): runs one prompt, and always ends with a result and an exit code."""

from __future__ import annotations

import time
from typing import Literal, Protocol

import anyio

from agent.chat.events import Event, TurnEnded
from agent.chat.messages import Stop, user
from agent.chat.outbox import Outbox, Pending
from agent.chat.provider import ProviderError
from agent.chat.report import Report
from agent.host.config.config import Config, ConfigError
from agent.host.host import Host, HostError, open_host
from agent.host.policies import headless_policy
from agent.host.prices import Prices
from agent.ui.environment import Environment
from agent.ui.exit_codes import ExitCode, exit_code
from agent.ui.failures import failure_code, failure_kind
from agent.ui.jsonl import JsonLines, json_line
from agent.ui.plain import Plain
from agent.ui.result import result_object
from agent.ui.signals import listen


class Renderer(Protocol):
    """`shows_cost`: whether `finish` wants the cost, which takes time to find out."""

    shows_cost: bool

    def show(self, event: Event) -> None: ...

    def finish(self, report: Report, seconds: float, cost: float | None = None) -> None:
        """Called exactly once, at the end of every run. `cost` is in US dollars; None if it is unknown."""


class Json:
    """Prints one JSON object at the end, and with `lines` every event before it."""

    shows_cost = True

    def __init__(self, environment: Environment, *, lines: bool) -> None:
        self._out = environment.stdout
        self._lines = JsonLines(environment.stdout) if lines else None

    def show(self, event: Event) -> None:
        if self._lines:
            self._lines.show(event)

    def finish(self, report: Report, seconds: float, cost: float | None = None) -> None:
        self._out.write(json_line(result_object(report, seconds, cost)) + "\n")
        self._out.flush()


def renderer(output: Literal["text", "json", "jsonl"], environment: Environment, *, verbose: bool) -> Renderer:
    if output == "text":
        return Plain(environment, verbose=verbose)
    return Json(environment, lines=output == "jsonl")


class _Silent:
    """Prints nothing; used once the reader of stdout is gone."""

    shows_cost = False

    def show(self, event: Event) -> None:
        pass

    def finish(self, report: Report, seconds: float, cost: float | None = None) -> None:
        pass


async def answer_once(config: Config, prompt: str, shown: Renderer, environment: Environment, ask: bool) -> ExitCode:
    """Run one prompt. With `ask`, the user answers questions; else the configured policy does."""
    return await _OneShot(config, shown, environment, ask=ask).run(prompt)


class _OneShot:
    """The state of one run."""

    def __init__(self, config: Config, shown: Renderer, environment: Environment, *, ask: bool) -> None:
        self._config, self._shown, self._environment, self._ask = config, shown, environment, ask
        self._report = Report()
        self._code: ExitCode | None = None
        self._work = anyio.CancelScope()
        self._host: Host | None = None

    async def run(self, prompt: str) -> ExitCode:
        """Run the turn, and print the answer or the error."""
        started = time.monotonic()
        outbox = Outbox(None if self._ask else headless_policy(self._config))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow, outbox)
            async with anyio.create_task_group() as ears:
                ears.start_soon(listen, self._end)
                with self._work:
                    await self._answer(prompt, outbox)
                ears.cancel_scope.cancel()
            outbox.close()
        seconds = time.monotonic() - started
        self._shown.finish(self._report, seconds, await self._cost())
        return exit_code(self._report.stop) if self._code is None else self._code

    async def _answer(self, prompt: str, outbox: Outbox) -> None:
        with anyio.move_on_after(self._config.settings.chat.timeout) as limit:
            try:
                async with open_host(self._config, outbox, interactive=self._ask) as host:
                    self._host = host
                    await host.settled()
                    await host.agent.turn(user(prompt))
            except (HostError, ConfigError, ProviderError) as error:
                self._code = failure_code(error)
                outbox.emit(TurnEnded(Stop.ERROR, str(error), failure_kind(error)))
        if limit.cancelled_caught:
            outbox.emit(TurnEnded(Stop.TIMEOUT, "The time for the whole run was up."))

    async def _cost(self) -> float | None:
        if self._host is None or not self._shown.shows_cost:
            return None
        return await Prices(self._config).total(self._host.model, self._report)

    def _end(self, code: ExitCode) -> None:
        """A signal cancels the run as Ctrl-C cancels a turn: the partial result is still reported."""
        self._code = code
        self._work.cancel()

    async def _follow(self, outbox: Outbox) -> None:
        async for item in outbox.items:
            if isinstance(item, Pending):
                from agent.ui.terminal.asking import answer_beside

                await answer_beside(item, self._environment, self._host)
                continue
            self._report.add(item)
            try:
                self._shown.show(item)
            except BrokenPipeError:
                self._shown, self._code = _Silent(), ExitCode.ANSWERED
                self._work.cancel()
