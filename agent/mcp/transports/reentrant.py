"""The base class of the client transports: each time one is entered, it opens a new connection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from agent.mcp.envelope import Channel


class ReentrantTransport(ABC):
    """May be entered again after it was left, but not twice at the same time."""

    _running: AbstractAsyncContextManager[Channel]

    @abstractmethod
    def _run(self) -> AbstractAsyncContextManager[Channel]:
        """Open a connection, and close it at the end of the block."""

    async def __aenter__(self) -> Channel:
        self._running = self._run()
        return await self._running.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._running.__aexit__(kind, error, traceback)
