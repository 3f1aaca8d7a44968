"""A mock model without key or network: answers plain text (`demo`) or follows a TOML file (`script`)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio

from agent.chat.provider import Finished, ProviderError, ProviderItem, Request, TextDelta
from agent.providers.mock.demo import answer
from agent.providers.mock.reply import Reply, count, limit
from agent.providers.mock.script import Script


class MockProvider:
    """`mock/demo` matches plain requests to the available tools; `mock/script` plays back the TOML file `script`.

    Deterministic: the same sequence of requests gets the same replies, ids and usage (a word counts as a token).
    A script is read at the first request, and each of its turns is used once.
    """

    def __init__(self, model: str, script: Path | None = None) -> None:
        self._model = model
        self._path = script
        self._script: Script | None = None

    @property
    def name(self) -> str:
        return f"mock/{self._model}"

    async def stream(self, request: Request) -> AsyncGenerator[ProviderItem, None]:
        """See `agent.chat.provider.Provider`. Raises ProviderError if the script is invalid or specifies a failure."""
        reply = limit(self._reply(request), request)
        pause = reply.wait / (len(reply.pieces) + 1)
        for piece in reply.pieces:
            await anyio.sleep(pause)
            yield TextDelta(piece)
        await anyio.sleep(pause)
        if reply.failure is not None:
            raise reply.failure
        yield Finished(reply.message, count(request, reply), self.name)

    async def aclose(self) -> None:
        """Nothing to close."""

    def _reply(self, request: Request) -> Reply:
        match self._model:
            case "demo":
                return answer(request)
            case "script":
                return self._open_script().play(request)
            case _:
                raise ProviderError("not_found", f"There is no model {self.name}: use mock/demo or mock/script.")

    def _open_script(self) -> Script:
        if self._path is None:
            raise ProviderError(
                "missing", "mock/script has no script: set `script` under [providers.mock], or use mock/demo."
            )
        if self._script is None:
            self._script = Script.read(self._path)
        return self._script
