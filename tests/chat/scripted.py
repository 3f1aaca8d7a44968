"""A provider and tools that do as a test says, for tests of the loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from agent.chat.events import Event
from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, Usage
from agent.chat.outbox import Outbox
from agent.chat.provider import Finished, ProviderError, ProviderItem, Request, TextDelta, ThinkingDelta, ToolSpec
from agent.chat.questions import Answer
from agent.chat.toolbox import OnProgress, ToolOutput

Piece = str | ToolCall | ThinkingDelta | ProviderError | Stop
USAGE = Usage(10, 2)


class ScriptedProvider:
    """One entry of the script is one reply; `heard` keeps every request."""

    name = "scripted/model"

    def __init__(self, *replies: Sequence[Piece]) -> None:
        self._replies = list(replies)
        self.heard: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[ProviderItem, None]:
        self.heard.append(request)
        content: list[Text | ToolCall] = []
        stop = Stop.END
        for piece in self._replies.pop(0):
            await anyio.lowlevel.checkpoint()
            match piece:
                case Stop():
                    stop = piece
                case str():
                    content.append(Text(piece))
                    yield TextDelta(piece)
                case ToolCall():
                    content.append(piece)
                    stop = Stop.TOOL_USE
                case ThinkingDelta():
                    yield piece
                case ProviderError():
                    raise piece
        yield Finished(AssistantMessage(tuple(content), stop), USAGE, "model-1")

    async def aclose(self) -> None:
        pass


@dataclass
class Adder:
    """Adds; can hang, raise, report progress and be refused, and knows whether it ran."""

    name: str = "add"
    server: str = "sums"
    harmless: bool = True
    hang: bool = False
    raises: Exception | None = None
    description: str = "Add two numbers."
    ran: list[dict[str, object]] = field(default_factory=list)
    started: anyio.Event = field(default_factory=anyio.Event)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(f"{self.server}__{self.name}", self.description, {"type": "object", "properties": {}})

    def fault(self, arguments: dict[str, object]) -> str | None:
        return None if "a" in arguments else "a is missing"

    async def __call__(self, arguments: dict[str, object], on_progress: OnProgress) -> ToolOutput:
        self.ran.append(arguments)
        self.started.set()
        on_progress(1, 2, "half")
        if self.raises:
            raise self.raises
        if self.hang:
            await anyio.sleep_forever()
        await anyio.lowlevel.checkpoint()
        return ToolOutput((Text(str(sum(int(str(value)) for value in arguments.values()))),))


class Tools:
    def __init__(self, *tools: Adder, system: str = "Be kind.") -> None:
        self._tools, self.prompt = list(tools), system

    def tools(self) -> list[Adder]:
        return self._tools

    def find(self, name: str) -> Adder | None:
        return next((tool for tool in self._tools if tool.spec.name == name), None)

    def system(self) -> str:
        return self.prompt


class InterruptingOutbox(Outbox):
    """Cancels `scope` in the middle of emitting event number `at`: the worst moment there is."""

    def __init__(self, at: int, answer: Answer) -> None:
        super().__init__(lambda question: answer)
        self.scope = anyio.CancelScope()
        self.emitted: list[Event] = []
        self._at = at

    def emit(self, event: Event) -> None:
        super().emit(event)
        self.emitted.append(event)
        if len(self.emitted) == self._at:
            self.scope.cancel()
