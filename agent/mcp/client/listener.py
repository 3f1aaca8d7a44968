"""The client's handler of server messages: answers requests, forwards notifications, reports invalid input."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent.mcp import lifecycle
from agent.mcp.client.deprecations import deprecated
from agent.mcp.envelope import Garbled
from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import Failure, Notification, Params, Request
from agent.mcp.peer import PROGRESS, Stray
from agent.mcp.protocol import RELATED_TASK

Answer = Callable[[str, Params], Awaitable[Mapping[str, Any]]]
OnNotification = Callable[[str, Params], None]
OnNotice = Callable[[str], None]
Intercept = Callable[[str, Params], Params | None]
"""Called first with each notification; returns the params to pass on, or None to drop it."""

TROUBLES = 20  # kinds of invalid input that are reported, each once


class Listener:
    """The `Handler` of a client's session. `declared` are its capabilities, as the newest revision has them."""

    def __init__(
        self,
        declared: lifecycle.Capabilities,
        answer: Answer | None,
        on_notification: OnNotification | None,
        on_notice: OnNotice | None,
        on_deprecated: OnNotice | None = None,
    ) -> None:
        self.declared, self.revision = declared, lifecycle.NEWEST_HANDSHAKE
        self._answer, self._on_notification, self._on_notice = answer, on_notification, on_notice
        self._on_deprecated = on_deprecated or on_notice
        self.intercept: Intercept | None = None
        self._reported: set[str] = set()

    def has_batches(self) -> bool:
        return self.revision == "2025-03-26"

    async def on_request(self, request: Request, context: Mapping[str, Any]) -> Any:
        if request.method == "ping":
            return {}
        params = request.params or {}
        if refusal := lifecycle.objection(request.method, params, self.declared, self.revision):
            raise McpError(*refusal)
        assert self._answer, "without it nothing is declared, and everything was refused"
        self.note_deprecated(deprecated(request.method, params, self.revision))
        answer = lifecycle.shaped(request.method, await self._answer(request.method, params), self.revision)
        return _within_task(answer, params)

    def on_notification(self, notification: Notification) -> None:
        method, said = notification.method, notification.params or {}
        params = self.intercept(method, said) if self.intercept else said
        if params is None or method == PROGRESS:  # of a request that has ended
            return
        if method == "notifications/message":
            self.note_deprecated(deprecated(method, params, self.revision))
        if self._on_notification:
            self._on_notification(method, params)

    def on_trouble(self, trouble: Garbled | Stray) -> None:
        kind, text = _describe(trouble)
        if kind not in self._reported and len(self._reported) < TROUBLES:
            self._reported.add(kind)
            self.notice(text)

    def note_deprecated(self, sentence: str | None) -> None:
        """Report a use of a deprecated feature, each once; None is not reported."""
        if sentence and sentence not in self._reported:
            self._reported.add(sentence)
            if self._on_deprecated:
                self._on_deprecated(sentence)

    def notice(self, text: str) -> None:
        if self._on_notice:
            self._on_notice(text)


def _within_task(answer: Mapping[str, Any], params: Params) -> Mapping[str, Any]:
    """The answer, with the related task of the request in its `_meta` (section "Tasks", 2025-11-25)."""
    asked, own = params.get("_meta"), answer.get("_meta") or {}
    if not isinstance(asked, dict) or RELATED_TASK not in asked:
        return answer
    return {**answer, "_meta": {RELATED_TASK: asked[RELATED_TASK], **own}}


def _describe(trouble: Garbled | Stray) -> tuple[str, str]:
    """A key that is equal for input of the same kind, and a sentence about it."""
    match trouble:
        case Stray(Failure(code=code, message=message)):
            return message, f"The server reports an error that belongs to no request: {message} (code {code})."
        case Stray(outcome):
            return "stray", f"The server answered a request that is not open (id {outcome.id!r})."
        case Garbled(lost=True, reason=reason):
            return "lost", f"A message of the server was dropped: {reason}."
        case Garbled(kind="unknown", excerpt=excerpt):
            return "noise", f"The server prints on stdout what is no message, as in {excerpt!r}; that was skipped."
        case Garbled(reason=reason, excerpt=excerpt):
            return "unreadable", f"The server sent a message that cannot be read ({reason}): {excerpt!r}."
