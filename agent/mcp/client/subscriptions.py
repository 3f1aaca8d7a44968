"""Subscriptions in the stateless era: a `subscriptions/listen` request for each subject, open as long as it is wanted.

Notifications are not replayed. So after a stream was opened again, all of its subjects are treated as changed.
Section "Utilities, Subscriptions" (2026-07-28).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskGroup

from agent.mcp.client.task_news import TaskNews
from agent.mcp.envelope import ConnectionLost
from agent.mcp.errors import McpError, Unreadable
from agent.mcp.jsonrpc import Params, RequestId, as_request_id
from agent.mcp.lifecycle import NotOffered
from agent.mcp.peer import CANCELLED
from agent.mcp.protocol import ACKNOWLEDGED, RESOURCE_UPDATED, SUBSCRIPTION_KEY, TASK_CHANGED
from agent.mcp.session import OnSending

ACKNOWLEDGE_SECONDS = 10.0  # for the acknowledgement
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 1.0, 30.0  # before a stream that ended is opened again

LISTS: Mapping[str, str] = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
"""The capability whose list may change, and the member of `notifications` that subscribes to it."""

Wanted = Mapping[str, Any]
"""The `notifications` of a `subscriptions/listen`."""
Listen = Callable[[Params, OnSending], Awaitable[Any]]
OnChange = Callable[[str, Params], None]


@dataclass(slots=True, eq=False)
class Subscription:
    """`honoured` is what the server agreed to send. `is_late`: changes of its subject may have been missed.

    `scope` cancels it, `attempt` only its open request. `news` receives notifications about a task. `callers` wait
    for it to be settled: acknowledged, or a `fault`.
    """

    wanted: Wanted
    news: TaskNews | None = None
    honoured: Wanted = field(default_factory=dict)
    is_late: bool = False
    callers: int = 0
    fault: Exception | None = None
    settled: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    attempt: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def settle(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.settled.set()

    def covers(self, uri: str) -> bool:
        """Whether the server agreed to notify changes of this resource."""
        return uri in _resources(self.honoured)


class Subscriptions:
    """`listen` sends the request and returns when it ends; `on_change` is called with what may have been missed."""

    def __init__(self, tasks: TaskGroup, listen: Listen, on_change: OnChange) -> None:
        self._tasks, self._listen, self._on_change = tasks, listen, on_change
        self._open: dict[RequestId, Subscription] = {}
        self._resources: dict[str, Subscription] = {}
        self._lists: Subscription | None = None

    def follow_lists(self, capabilities: Mapping[str, Any]) -> None:
        """Subscribe to changes of the lists for which the server declares `listChanged`."""
        wanted = {
            key: True
            for name, key in LISTS.items()
            if isinstance(settings := capabilities.get(name), dict) and settings.get("listChanged")
        }
        if wanted:
            self._lists = Subscription(wanted)
            self._tasks.start_soon(self._keep, self._lists)

    def note_reading(self) -> None:
        """A list was read. If the subscription is not acknowledged yet, later changes may be missed."""
        if self._lists and not self._lists.settled.is_set():
            self._lists.is_late = True

    async def add(self, uri: str) -> None:
        """Subscribe to updates of a resource.

        Raises:
            NotOffered: the server does not agree.
            McpError, ConnectionLost, Unreadable: the request failed.
        """
        made = self._resources.get(uri) or self._begin(uri)
        made.callers += 1
        try:
            with anyio.move_on_after(ACKNOWLEDGE_SECONDS):
                await made.settled.wait()
        finally:
            made.callers -= 1
            if not made.callers and not made.covers(uri):
                self._drop(uri, made)
        if made.covers(uri):
            return
        if made.fault:
            raise made.fault
        if not made.settled.is_set():
            raise Unreadable(f"The server did not say whether it tells of changes to {uri}.")
        raise NotOffered(f"The server does not tell of changes to {uri}.")

    def remove(self, uri: str) -> None:
        if made := self._resources.get(uri):
            self._drop(uri, made)

    def _begin(self, uri: str) -> Subscription:
        made = self._resources[uri] = Subscription({"resourceSubscriptions": [uri]})
        self._tasks.start_soon(self._keep, made)
        return made

    def _drop(self, uri: str, made: Subscription) -> None:
        made.scope.cancel()
        if self._resources.get(uri) is made:
            del self._resources[uri]

    @contextmanager
    def following(self, task: str) -> Iterator[TaskNews]:
        """Subscribe to a task while the block lasts, if the server supports that."""
        news = TaskNews(task)
        made = Subscription({"taskIds": [task]}, news)
        self._tasks.start_soon(self._keep, made)
        try:
            yield news
        finally:
            made.scope.cancel()

    def hear(self, method: str, params: Params) -> bool:
        """Whether the notification is consumed: it is about a subscription itself, or belongs to an unknown one."""
        if method == CANCELLED:
            return self._end(as_request_id(params.get("requestId")))
        meta = params.get("_meta")
        id = as_request_id(meta.get(SUBSCRIPTION_KEY)) if isinstance(meta, dict) else None
        found = None if id is None else self._open.get(id)
        if method == TASK_CHANGED and found and found.news:
            found.news.tell(params)
            return True
        if method != ACKNOWLEDGED:
            return id is not None and found is None
        if found:
            self._acknowledge(found, params.get("notifications"))
        return True

    def _end(self, id: RequestId | None) -> bool:
        ended = None if id is None else self._open.get(id)
        if ended:
            ended.attempt.cancel()
        return ended is not None

    def _acknowledge(self, subscription: Subscription, honoured: Any) -> None:
        subscription.honoured = honoured if isinstance(honoured, dict) else subscription.wanted
        if subscription.is_late:
            for method, params in missed(subscription.honoured):
                self._on_change(method, params)
        subscription.is_late = True
        subscription.settle()
        if subscription.news:
            if subscription.honoured.get("taskIds"):
                subscription.news.turn(is_told=True)
            else:
                subscription.scope.cancel()  # the server will not send these notifications

    async def _keep(self, subscription: Subscription) -> None:
        """Open the stream again whenever it ends, except after an error of the server, which would be repeated."""
        pause = RETRY_SECONDS / 2
        with subscription.scope:
            while True:
                began = anyio.current_time()
                try:
                    await self._attend(subscription)
                except McpError as error:
                    subscription.settle(error)
                    return
                except (ConnectionLost, Unreadable) as error:
                    subscription.settle(error)
                lasted = anyio.current_time() - began
                pause = RETRY_SECONDS if lasted > LONGEST_RETRY_SECONDS else min(2 * pause, LONGEST_RETRY_SECONDS)
                await anyio.sleep(pause)

    async def _attend(self, subscription: Subscription) -> None:
        """Listen until the stream ends, whichever side ends it."""

        def begin(id: RequestId) -> None:
            self._open[id] = subscription

        subscription.attempt = anyio.CancelScope()
        try:
            with subscription.attempt:
                await self._listen({"notifications": dict(subscription.wanted)}, begin)
        finally:
            self._open = {id: each for id, each in self._open.items() if each is not subscription}
            if subscription.news:
                subscription.news.turn(is_told=False)


def without_tag(params: Params) -> Params:
    """A notification's params without the subscription id."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or SUBSCRIPTION_KEY not in meta:
        return params
    rest = {name: value for name, value in meta.items() if name != SUBSCRIPTION_KEY}
    others = {name: value for name, value in params.items() if name != "_meta"}
    return {**others, "_meta": rest} if rest else others


def missed(honoured: Wanted) -> list[tuple[str, Params]]:
    """The notifications that may have been missed."""
    return [
        *((f"notifications/{name}/list_changed", Params()) for name, key in LISTS.items() if honoured.get(key)),
        *((RESOURCE_UPDATED, {"uri": uri}) for uri in _resources(honoured)),
    ]


def _resources(honoured: Wanted) -> list[Any]:
    uris = honoured.get("resourceSubscriptions")
    return uris if isinstance(uris, list) else []
