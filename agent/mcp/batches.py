"""The responses to the requests of one batch, which are sent together (revision 2025-03-26, section "Batching")."""

from __future__ import annotations

from agent.mcp.jsonrpc import Failure, Result

Reply = Result | Failure


class Batch:
    """Each `ask` is followed by one `settle`, with the response, or with None if the request was cancelled.

    Requests are counted, not tracked by id: the id of a cancelled one may be reused before its handler has ended.
    """

    def __init__(self) -> None:
        self._open = 0
        self._replies: list[Reply] = []
        self._sealed = False

    def ask(self) -> None:
        self._open += 1

    def settle(self, reply: Reply | None) -> tuple[Reply, ...]:
        """The responses to send now: none until the last request is settled."""
        self._open -= 1
        if reply is not None:
            self._replies.append(reply)
        return self._due()

    def seal(self) -> tuple[Reply, ...]:
        """Mark the batch as completely read; gives the responses to send now."""
        self._sealed = True
        return self._due()

    def _due(self) -> tuple[Reply, ...]:
        return () if self._open or not self._sealed else tuple(self._replies)
