"""`subscriptions/listen`: the requests that are open, and the notifications sent on them (section "Subscriptions")."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent.mcp.jsonrpc import Params
from agent.mcp.lifecycle import declares
from agent.mcp.protocol import ACKNOWLEDGED, SUBSCRIPTION_KEY, TASK_CHANGED
from agent.mcp.server.event_loop import EventLoop
from agent.mcp.server.kept_tasks import require_tasks
from agent.mcp.server.service import Service
from agent.mcp.server.stateless_calls import Call
from agent.mcp.server.subscribers import Change, Subscriber, Wanted, read_wanted


class Listening:
    """All open `subscriptions/listen` requests of a server or of one connection."""

    def __init__(self, service: Service) -> None:
        self._service, self._loop = service, EventLoop()
        self._subscribers: dict[Subscriber, None] = {}  # ordered, as a set is not

    def announce(self, change: Change) -> None:
        """Notify the subscribers of a change. Thread-safe."""
        self._loop.run(self._note, change)

    def end(self) -> None:
        """End all subscriptions with a result."""
        for subscriber in self._subscribers:
            subscriber.end()

    async def listen(self, call: Call) -> dict[str, Any]:
        """Acknowledge, and send notifications until the subscription ends. Raises McpError."""
        wanted = await self._honoured(read_wanted(call.params), call)
        tag = {"_meta": {SUBSCRIPTION_KEY: call.request.id}}
        subscriber = Subscriber(wanted)
        self._subscribers[subscriber] = None  # before the acknowledgement, so that no change is missed
        try:
            await call.tell(ACKNOWLEDGED, {"notifications": wanted.shown(), **tag})
            while changes := await subscriber.changes():
                for change in changes:
                    if (news := await self._news(change, call)) is not None:
                        await call.tell(change[0], news | tag)
        finally:
            del self._subscribers[subscriber]
        return tag

    def _note(self, change: Change) -> None:
        for subscriber in self._subscribers:
            subscriber.note(change)

    async def _honoured(self, asked: Wanted, call: Call) -> Wanted:
        """The part of the filter that this server can honour."""
        if asked.tasks:
            require_tasks(call.caller.capabilities)
        declared = self._service.catalogue.capabilities(call.caller.revision)
        lists = tuple(name for name in asked.lists if declares(declared, name.removesuffix("ListChanged")))
        uris = tuple(uri for uri in asked.uris if self._service.catalogue.find_resource(uri))
        kept = [id for id in asked.tasks if await self._service.tasks.peek(id, call.principal)]
        return replace(asked, lists=lists, uris=uris, tasks=tuple(kept))

    async def _news(self, change: Change, call: Call) -> Params | None:
        """The params of the notification; None if the task does not exist any more."""
        method, name = change
        if method == TASK_CHANGED:
            record = await self._service.tasks.peek(name, call.principal)
            return record.details() if record else None
        return {} if name is None else {"uri": name}
