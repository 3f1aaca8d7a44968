"""A server of the stateless era that tells its clients of changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio

from agent.mcp.jsonrpc import Message, Notification, Request, Result
from tests.mcp.foreign_server import ForeignServer
from tests.mcp.modern_server import META, complete, discovered


class Broadcaster(ForeignServer):
    """Agrees to everything that is subscribed to, or to `honoured`; `listening` are the requests that are open."""

    def __init__(self, capabilities: Mapping[str, Any], honoured: Any = None, **answers: Any) -> None:
        super().__init__({"server/discover": discovered(capabilities=capabilities)} | answers)
        self.honoured = honoured
        self.listening: dict[Any, Mapping[str, Any]] = {}
        self.heard = anyio.Event()

    def _answer(self, request: Request) -> Message:
        if request.method != "subscriptions/listen" or request.method in self.answers:
            return super()._answer(request)
        assert request.params
        self.listening[request.id] = wanted = request.params["notifications"]
        self.heard.set()
        self.heard = anyio.Event()
        agreed = wanted if self.honoured is None else self.honoured
        return tagged(request.id, "notifications/subscriptions/acknowledged", notifications=agreed)

    async def end(self, id: Any) -> None:
        del self.listening[id]
        await self.say(Result(id, complete(_meta={META + "subscriptionId": id})))


def tagged(id: Any, method: str, **params: Any) -> Notification:
    return Notification(method, params | {"_meta": {META + "subscriptionId": id}})
