"""The state of one call across its runs: the questions it asked, the answers, and the values of `once`, by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import anyio
from pydantic_core import from_json, to_json

from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS
from agent.mcp.server.seal import digest

Json = dict[str, Any]

_EFFECTS = count(1)
_WITHIN: ContextVar[frozenset[int]] = ContextVar("the effects that this task is part of", default=frozenset())


class ChangedQuestion(RuntimeError):
    """A function that was run again asked another question: it must depend on arguments and answers alone."""


@dataclass(slots=True)
class Ledger:
    """`asked` has the digest of each question, `answers` the answers, `done` the values of `once`."""

    asked: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    done: dict[str, Any] = field(default_factory=dict)
    _named: set[str] = field(default_factory=set)
    _turns: dict[str, anyio.Lock] = field(default_factory=dict)
    _working: set[int] = field(default_factory=set)
    _worked: anyio.Event | None = None  # set when the next effect ends

    def again(self) -> Ledger:
        """The same state for another run of the function."""
        return Ledger(self.asked, self.answers, self.done)

    def name(self, key: str | None) -> str:
        """The name of the next question: its `key`, or its position in the order of calls."""
        name, number = key or "question-1", 1
        while name in self._named:
            number += 1
            name = f"{key or 'question'}-{number}"
        self._named.add(name)
        return name

    def recall(self, name: str, question: Json) -> Any | None:
        """The answer to a question, or None if there is none yet.

        Raises:
            ChangedQuestion: there was a different question of that name.
        """
        now = digest(question)
        if self.asked.setdefault(name, now) != now:
            raise ChangedQuestion(f"The question {name!r} is another one than when it was asked; give questions a key.")
        return self.answers.get(name)

    async def once(self, key: str, compute: Callable[[], Awaitable[Any]]) -> Any:
        """The stored value of `compute`, as JSON represents it; it runs only if it has not completed before."""
        async with self._turns.setdefault(key, anyio.Lock()):
            if key not in self.done:
                self.done[key] = from_json(to_json(await self._worked_out(compute)))
            return self.done[key]

    async def effects(self) -> None:
        """Wait until no other task runs in `once`: an effect that is interrupted would be run again."""
        while self.has_effects:
            self._worked = self._worked or anyio.Event()
            await self._worked.wait()

    @property
    def has_effects(self) -> bool:
        """Whether other tasks run in `once`; those that enclose the current task do not count."""
        return bool(self._working - _WITHIN.get())

    async def _worked_out(self, compute: Callable[[], Awaitable[Any]]) -> Any:
        effect = next(_EFFECTS)
        self._working.add(effect)
        outside = _WITHIN.set(_WITHIN.get() | {effect})
        try:
            return await compute()
        finally:
            _WITHIN.reset(outside)
            self._working.discard(effect)
            if self._worked:
                self._worked.set()
                self._worked = None


def checked(name: str, question: Json, answer: Any) -> Any:
    """The answer, if it has the shape that its question demands.

    Raises:
        McpError: it has not.
    """
    fits: Mapping[str, Callable[[Json], bool]] = {
        "elicitation/create": lambda given: given.get("action") in ("accept", "decline", "cancel"),
        "sampling/createMessage": lambda given: "content" in given,
        "roots/list": lambda given: isinstance(given.get("roots"), list),
    }
    method = question["method"]
    if not isinstance(answer, dict) or not fits[method](answer):
        raise McpError(INVALID_PARAMS, f"inputResponses.{name} is no answer to {method}")
    return answer
