"""The queue of events and questions from the agent to the user interface.

Events and questions are delivered in order to a single reader, which alone uses the screen and the keyboard. While
the reader waits for an answer from the user, later items stay in the queue.

`emit` never blocks and never raises, so that the loop can report from places where it must not await. To bound the
queue while nobody reads, adjacent pieces of text are joined, only the newest progress of each call is kept, and
notices beyond a limit are counted instead of stored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Literal

import anyio

from agent.chat.events import (
    Event,
    Noticed,
    QuestionAsked,
    QuestionSettled,
    TextArrived,
    ThinkingArrived,
    ToolFinished,
    ToolProgressed,
)
from agent.chat.questions import Answer, Question

NOTICES_KEPT = 1_000
NOBODY = Answer("cancel", why="nobody is there to ask")

Policy = Callable[[Question], Answer | None]
"""Answers a question without asking the person; None passes the question on to the reader."""


@dataclass(slots=True, eq=False)
class Pending:
    """A question in the queue: settled by the first reply, or withdrawn if the asker is cancelled."""

    question: Question
    withdrawn: anyio.Event = field(default_factory=anyio.Event)
    answer: Answer | None = None
    _answered: anyio.Event = field(default_factory=anyio.Event)

    @property
    def open(self) -> bool:
        """False once it has been answered or withdrawn, and need not be shown any more."""
        return self.answer is None and not self.withdrawn.is_set()

    def reply(self, answer: Answer) -> None:
        """The first reply counts; a reply to a settled or withdrawn question is ignored."""
        if self.open:
            self.answer = answer
            self._answered.set()

    async def wait(self) -> Answer:
        try:
            await self._answered.wait()
        finally:
            if self.answer is None:
                self.withdrawn.set()
        assert self.answer is not None
        return self.answer


class _JoinedText:
    """Adjacent text of one kind and origin, joined only when it is read."""

    __slots__ = ("kind", "origin", "pieces")

    def __init__(self, event: TextArrived | ThinkingArrived) -> None:
        self.kind, self.origin, self.pieces = type(event), event.origin, [event.text]

    def take(self, event: TextArrived | ThinkingArrived) -> bool:
        if type(event) is not self.kind or event.origin != self.origin:
            return False
        self.pieces.append(event.text)
        return True

    def event(self) -> Event:
        return self.kind("".join(self.pieces), self.origin)


class _NewestProgress:
    """The newest progress of one call, at the queue position of the first unread one."""

    __slots__ = ("latest",)

    def __init__(self, event: ToolProgressed) -> None:
        self.latest = event


Item = Event | Pending


class Outbox:
    def __init__(self, policy: Policy | None = None) -> None:
        self._policy = policy
        self._queue: deque[Item | _JoinedText | _NewestProgress] = deque()
        self._progress: dict[str, _NewestProgress] = {}
        self._notices = self._dropped = 0
        self._last_dropped = ""
        self._asked: list[Pending] = []
        self._closed = False
        self._arrived = anyio.Event()

    def emit(self, event: Event) -> None:
        """Add an event. Synchronous, never raises, safe in a `finally`."""
        if self._closed:
            return
        match event:
            case TextArrived() | ThinkingArrived():
                last = self._queue[-1] if self._queue else None
                if isinstance(last, _JoinedText) and last.take(event):
                    return
                self._put(_JoinedText(event))
            case ToolProgressed(call=call):
                if waiting := self._progress.get(call.id):
                    waiting.latest = event
                    return
                self._progress[call.id] = newest = _NewestProgress(event)
                self._put(newest)
            case Noticed():
                if self._notices >= NOTICES_KEPT:
                    self._dropped, self._last_dropped = self._dropped + 1, event.server
                    return
                self._notices += 1
                self._put(event)
            case _:
                if isinstance(event, ToolFinished):
                    self._progress.pop(event.call.id, None)
                self._put(event)

    async def ask(self, question: Question) -> Answer:
        """Ask a question and wait for the answer. Cancelling the caller withdraws the question."""
        self.emit(QuestionAsked(question))
        if self._policy is not None and (answer := self._policy(question)) is not None:
            self.emit(QuestionSettled(question, answer.verdict, "policy", answer.why))
            return answer
        if self._closed:
            return NOBODY
        pending = Pending(question)
        self._asked.append(pending)
        self._put(pending)
        try:
            answer = await pending.wait()
        except BaseException:
            self.emit(QuestionSettled(question, "cancel", "withdrawn"))
            raise
        finally:
            self._asked.remove(pending)
        self.emit(QuestionSettled(question, answer.verdict, "person", answer.why))
        return answer

    def close(self) -> None:
        """End the reader's iteration after the items already in the queue.

        Open questions, read or not, and later ones are answered with "cancel", since the reader may have ended while
        showing one. Their settlement is emitted here, because nothing can be emitted once the asker resumes.
        """
        for pending in () if self._closed else self._asked:
            by: Literal["person", "withdrawn"] = "withdrawn" if pending.open else "person"
            pending.reply(NOBODY)
            if answer := pending.answer:
                self.emit(QuestionSettled(pending.question, answer.verdict, by, answer.why))
        self._closed = True
        self._arrived.set()

    @property
    def items(self) -> AsyncIterator[Item]:
        """All items, in order, for the single reader."""
        return self._read()

    def drain(self) -> list[Item]:
        """The items in the queue now, without waiting."""
        items = []
        while self._queue:
            items.append(self._take())
        return items

    async def _read(self) -> AsyncIterator[Item]:
        while True:
            while self._queue:
                yield self._take()
            if self._closed:
                return
            self._arrived = anyio.Event()
            await self._arrived.wait()

    def _put(self, item: Item | _JoinedText | _NewestProgress) -> None:
        self._queue.append(item)
        self._arrived.set()

    def _take(self) -> Item:
        item = self._queue.popleft()
        match item:
            case _JoinedText():
                return item.event()
            case _NewestProgress(latest=latest):
                if self._progress.get(latest.call.id) is item:
                    del self._progress[latest.call.id]
                return latest
            case Noticed():
                self._notices -= 1
                if self._dropped and not self._notices:
                    last = f"the last from {self._last_dropped or 'here'}"
                    self._put(Noticed("", "warning", f"{self._dropped} more notices were dropped, {last}."))
                    self._notices, self._dropped = 1, 0
        return item
