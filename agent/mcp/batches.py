"""The responses to the requests of one batch, which are sent together (revision 2025-03-26, section "Batching")."""

from __future__ import annotations

from agent.mcp.jsonrpc import Failure, Result

Reply = Result | Failure


class Batch:
    """Each `ask` is settled once: by the response, or by None if the request was cancelled.

    Requests are counted, not told apart by id: that of a cancelled one may be used again before its handler has ended.
    """

    def __init__(self) -> None:
        self._open = 0
        self._replies: list[Reply] = []
        self._sealed = False

    def ask(self) -> None:
        self._open += 1

    def settle(self, reply: Reply | None) -> tuple[Reply, ...]:
        """What is to be sent now: nothing, until the last request is settled."""
        self._open -= 1
        if reply is not None:
            self._replies.append(reply)
        return self._due()

    def seal(self) -> tuple[Reply, ...]:
        """All of it was read; what is to be sent now."""
        self._sealed = True
        return self._due()

    def _due(self) -> tuple[Reply, ...]:
        return () if self._open or not self._sealed else tuple(self._replies)
