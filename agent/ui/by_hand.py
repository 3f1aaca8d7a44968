"""The commands that query servers directly, without a model: lists, tool calls, reading resources, getting prompts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio

from agent.chat.events import ServerChanged
from agent.chat.messages import Text
from agent.chat.outbox import Outbox, Pending
from agent.chat.provider import ProviderError
from agent.host.config.config import Config, ConfigError
from agent.host.host import Host, HostError, open_host
from agent.host.policies import headless_policy
from agent.ui.arguments import ArgumentsError, read_arguments, read_texts
from agent.ui.environment import Environment
from agent.ui.escapes import clean
from agent.ui.exit_codes import ExitCode
from agent.ui.failures import failure_code
from agent.ui.jsonl import json_line, record
from agent.ui.listings import (
    prompts_text,
    reading_text,
    resources_text,
    result_text,
    schema_of,
    servers_text,
    tools_text,
)
from agent.ui.plain import Plain
from agent.ui.signals import listen

if TYPE_CHECKING:
    from agent.ui.cli import Invocation


async def by_hand(config: Config, invocation: Invocation, environment: Environment) -> ExitCode:
    """Run one command. Its result goes to stdout; events and errors go to stderr."""
    ended_by: list[ExitCode] = []
    said, code = None, ExitCode.INTERRUPTED
    work = anyio.CancelScope()

    def end(signalled: ExitCode) -> None:
        ended_by.append(signalled)
        work.cancel()

    async with anyio.create_task_group() as ears:
        ears.start_soon(listen, end)
        with work:
            said, code = await _ask(config, invocation, environment)
        ears.cancel_scope.cancel()
    if ended_by:
        environment.say("Interrupted.")
        return ended_by[0]
    if said is not None:
        environment.stdout.write(f"{said}\n")
        environment.stdout.flush()
    return code


async def _ask(config: Config, invocation: Invocation, environment: Environment) -> tuple[str | None, ExitCode]:
    ask = environment.can_ask
    outbox = Outbox(None if ask else headless_policy(config))
    shown = Plain(environment, verbose=invocation.options.verbose > 0)
    said: str | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_follow, outbox, shown, environment, invocation.command == "servers")
        try:
            async with open_host(config, outbox, interactive=ask) as host:
                said, code = await _run(host, invocation, environment)
        except (HostError, ConfigError, ProviderError, ArgumentsError) as error:
            environment.say(clean(str(error)))
            code = ExitCode.USAGE if isinstance(error, ArgumentsError) else failure_code(error)
        outbox.close()
    return said, code


async def _run(host: Host, invocation: Invocation, environment: Environment) -> tuple[str | None, ExitCode]:
    try:
        await host.settled()
    except HostError:
        if invocation.command != "servers":  # the command `servers` shows each server's error in its list
            raise
    try:
        return await _COMMANDS[invocation.command](host, invocation)
    except HostError as error:
        environment.say(clean(str(error)))
        return None, ExitCode.FAILED


async def _follow(outbox: Outbox, shown: Plain, environment: Environment, lists_servers: bool) -> None:
    """Show events on stderr; changes of server state are left out where the command's own output lists them."""
    async for item in outbox.items:
        if isinstance(item, Pending):
            from agent.ui.terminal.asking import answer_beside

            await answer_beside(item, environment)
        elif not (lists_servers and isinstance(item, ServerChanged)):
            shown.show(item)


_AROUND = ("resultType", "ttlMs", "cacheScope")
_OWN_META = "io.modelcontextprotocol/"

Outcome = tuple[str, ExitCode]


async def _servers(host: Host, invocation: Invocation) -> Outcome:
    views = host.servers()
    unreached = any(view.required and view.state != "ready" for view in views)
    code = ExitCode.SERVER_MISSING if unreached else ExitCode.ANSWERED
    if any(view.state != "ready" for view in views) and not unreached:
        code = ExitCode.FAILED
    said = json_line([_untyped(view) for view in views]) if invocation.json else servers_text(views)
    return said, code


async def _tools(host: Host, invocation: Invocation) -> Outcome:
    tools = host.tools(_only(invocation))
    return _offered(host, invocation, [tool.as_json() for tool in tools], tools_text(tools))


async def _resources(host: Host, invocation: Invocation) -> Outcome:
    resources, templates = host.resources(_only(invocation)), host.templates(_only(invocation))
    data = [*(one.as_json() for one in resources), *(one.as_json() for one in templates)]
    return _offered(host, invocation, data, resources_text(resources, templates))


async def _prompts(host: Host, invocation: Invocation) -> Outcome:
    prompts = host.prompts(_only(invocation))
    return _offered(host, invocation, [one.as_json() for one in prompts], prompts_text(prompts))


async def _call(host: Host, invocation: Invocation) -> Outcome:
    name, *words = invocation.arguments
    result = await host.call_tool(name, read_arguments(words, schema_of(host, name)))
    said = json_line(_plain(result.raw) | {"isError": result.is_error}) if invocation.json else result_text(result)
    return said, ExitCode.FAILED if result.is_error else ExitCode.ANSWERED


async def _read(host: Host, invocation: Invocation) -> Outcome:
    reading = await host.read(invocation.arguments[0])
    return _listed(invocation, _plain(reading.raw), reading_text(reading))


async def _prompt(host: Host, invocation: Invocation) -> Outcome:
    from agent.host.content import messages_of

    name, *words = invocation.arguments
    result = await host.prompt(name, read_texts(words))
    said = [
        f"{type(message).__name__.removesuffix('Message').lower()}: {part.text}"
        for message in messages_of(result)
        for part in message.content
        if isinstance(part, Text)
    ]
    return _listed(invocation, _plain(result.raw), clean("\n".join(said)))


def _only(invocation: Invocation) -> str | None:
    return invocation.arguments[0] if invocation.arguments else None


def _offered(host: Host, invocation: Invocation, data: Any, text: str) -> Outcome:
    """What servers offer; a failure if none of the servers asked is ready."""
    only, views = _only(invocation), host.servers()
    asked = [view.state == "ready" for view in views if only in (None, view.name)]
    said, code = _listed(invocation, data, text)
    return said, code if any(asked) or not asked else ExitCode.FAILED


def _listed(invocation: Invocation, data: Any, text: str) -> Outcome:
    return json_line(data) if invocation.json else text, ExitCode.ANSWERED


def _plain(result: Any) -> dict[str, Any]:
    """The result object of the protocol without the fields that newer revisions add around it, such as `resultType`."""
    whole = dict(result) if isinstance(result, dict) else {}
    meta = whole.pop("_meta", None)
    kept = (
        {key: value for key, value in meta.items() if not key.startswith(_OWN_META)} if isinstance(meta, dict) else {}
    )
    return {key: value for key, value in whole.items() if key not in _AROUND} | ({"_meta": kept} if kept else {})


def _untyped(value: Any) -> dict[str, Any]:
    return {key: item for key, item in record(value).items() if key != "type"}


_COMMANDS: dict[str, Callable[[Host, Invocation], Awaitable[Outcome]]] = {
    "servers": _servers,
    "tools": _tools,
    "call": _call,
    "resources": _resources,
    "read": _read,
    "prompts": _prompts,
    "prompt": _prompt,
}
