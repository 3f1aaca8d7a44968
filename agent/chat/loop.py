"""One turn: request a reply, run its tool calls, and repeat until the model calls no more tools."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio

from agent.chat.attempt import Heard, attempt
from agent.chat.conversation import Conversation
from agent.chat.events import (
    MessageFinished,
    Noticed,
    QuestionSettled,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, ToolMessage, ToolResult, UserMessage
from agent.chat.outbox import Outbox
from agent.chat.policy import Permission, ToolPolicy
from agent.chat.provider import Capped, Finished, Provider, ProviderError
from agent.chat.questions import ApproveTool
from agent.chat.toolbox import Tool, Toolbox

CANCELLED = "Cancelled by the user."
DECLINED = "The user declined this call."
FORBIDDEN = "The user's settings do not allow this call."
EMPTY = "The model's reply is empty."
BROKEN = "Something went wrong inside mcp-chat"

ENDINGS = {
    Stop.MAX_TOKENS: "The reply reached its token limit; say “go on”, or raise max_tokens.",
    Stop.REFUSAL: "The model refused to answer.",
}


@dataclass(frozen=True, slots=True)
class _Step:
    """A tool call, with either the tool that will run it or a result that is already known."""

    call: ToolCall
    tool: Tool | None = None
    refusal: ToolResult | None = None


class Agent:
    """A conversation with a model that may use tools. `provider` and `policy` may be changed between turns."""

    def __init__(
        self,
        provider: Provider,
        toolbox: Toolbox,
        outbox: Outbox,
        policy: ToolPolicy | None = None,
        *,
        max_turns: int = 30,
        max_tokens: int | None = None,
    ) -> None:
        self.conversation = Conversation()
        self.provider = provider
        self.policy = policy or ToolPolicy()
        self._toolbox, self._outbox = toolbox, outbox
        self._max_turns, self._max_tokens = max_turns, max_tokens
        self._approved: set[str] = set()
        self._told_of_limit = ""

    async def turn(self, message: UserMessage) -> TurnEnded:
        """Run until the model has finished. In every case the history stays valid and `TurnEnded` is emitted.

        Raises:
            Exception: a bug in this program; `TurnEnded` reports it with the kind "internal".
        """
        ended = TurnEnded(Stop.INTERRUPTED)
        try:
            self._begin(message)
            ended = await self._run()
        except ProviderError as error:
            ended = TurnEnded(Stop.ERROR, str(error), error.kind)
        except Exception as error:  # re-raised below, but it must be reported as an error, not as an interruption
            ended = TurnEnded(Stop.ERROR, f"{BROKEN}: {type(error).__name__}: {error}.", "internal")
            raise
        finally:
            self._outbox.emit(ended)
        return ended

    def _begin(self, message: UserMessage) -> None:
        tools = tuple(tool.spec for tool in self._shown_tools())
        if self.conversation.begin(self.provider.name, self._toolbox.system(), tools):
            self._outbox.emit(Noticed("", "info", "The model or its tools changed: the provider's cache starts anew."))
        self.conversation.add(message)
        self._outbox.emit(TurnStarted(message))

    def _shown_tools(self) -> Sequence[Tool]:
        """All tools; if the provider accepts fewer, the first of those that the policy does not deny."""
        tools, provider = self._toolbox.tools(), self.provider
        limit = provider.max_tools if isinstance(provider, Capped) else None
        if limit is None or len(tools) <= limit:
            return tools
        usable = [tool for tool in tools if self.policy.decide(tool.server, tool.name) != "deny"]
        told = f"{provider.name} takes {limit} tools, and there are {len(usable)}: it is not shown the last ones"
        if len(usable) > limit and told != self._told_of_limit:
            names = f"from {usable[limit].server}/{usable[limit].name} on"
            advice = "Start fewer servers with --only, or leave tools out with tools.deny."
            self._outbox.emit(Noticed("", "warning", f"{told}, {names}. {advice}"))
            self._told_of_limit = told
        return usable[:limit]

    async def _run(self) -> TurnEnded:
        for _ in range(self._max_turns):
            reply = await self._reply()
            if not reply.tool_calls:
                stop = Stop.END if reply.stop is Stop.STOP_SEQUENCE else reply.stop
                if stop is Stop.END and not reply.text.strip():
                    self._outbox.emit(Noticed("", "warning", EMPTY))
                return TurnEnded(stop, ENDINGS.get(stop, ""))
            # No await between adding the reply to the history and the try in _use: every call must get a result.
            if not await self._use(reply.tool_calls):
                return TurnEnded(Stop.INTERRUPTED)
        limit = f"{self._max_turns} request{'s' * (self._max_turns != 1)}"
        words = f"The turn reached its limit of {limit} to the model; say “go on”, or raise max_turns."
        return TurnEnded(Stop.MAX_TURNS, words)

    async def _reply(self) -> AssistantMessage:
        heard = Heard()
        try:
            finished = await self._ask(heard)
        except BaseException:
            if heard.pieces:  # the user has seen this text, so it belongs in the history
                self._keep(Finished(AssistantMessage((Text(heard.text),), Stop.INTERRUPTED), None, ""))
            raise
        return self._keep(finished)

    async def _ask(self, heard: Heard) -> Finished:
        while True:
            request = self.conversation.request(self._max_tokens)
            try:
                return await attempt(self.provider, request, self._outbox, heard=heard)
            except ProviderError as error:
                if not self.conversation.leave_out(error.tool):
                    raise
                self._outbox.emit(Noticed("", "warning", f"{error} The chat goes on without this tool."))

    def _keep(self, finished: Finished) -> AssistantMessage:
        message = finished.message
        if message.content:  # some APIs return an empty reply, but none accepts one in a request
            self.conversation.add(message)
        self._outbox.emit(MessageFinished(message, finished.usage, finished.model or self.provider.name))
        return message

    async def _use(self, calls: Sequence[ToolCall]) -> bool:
        """Prepare calls one by one, run them concurrently, add results in call order. False if the user cancelled."""
        results: dict[str, ToolResult] = {}
        try:
            steps: list[_Step] = []
            for call in calls:
                if (step := await self._prepare(call)) is None:
                    return False
                steps.append(step)
                if step.refusal:
                    results[call.id] = step.refusal
            async with anyio.create_task_group() as tasks:
                for step in steps:
                    if step.tool:
                        tasks.start_soon(self._execute, step.call, step.tool, results)
        finally:
            self.conversation.add(
                ToolMessage(tuple(results.get(call.id) or _failed(call, CANCELLED) for call in calls))
            )
        return True

    async def _prepare(self, call: ToolCall) -> _Step | None:
        """Decide what to do with a call; None if the user cancelled the approval question."""
        tool = self._toolbox.find(call.tool)
        if fault := _fault(call, tool):
            refusal = _failed(call, fault)
            server, name = (tool.server, tool.name) if tool else ("", "")
            self._outbox.emit(ToolFinished(call, server, name, refusal, 0.0))
            return _Step(call, refusal=refusal)
        assert tool is not None
        question = ApproveTool(call, tool.server, tool.name)
        permission = self._permission(tool)
        if permission == "deny":
            self._outbox.emit(QuestionSettled(question, "decline", "policy", FORBIDDEN))
            return _Step(call, refusal=_failed(call, FORBIDDEN))
        if permission == "allow" or (definition := _definition(tool)) in self._approved:
            return _Step(call, tool)
        answer = await self._outbox.ask(question)
        if answer.verdict == "accept":
            if answer.remember != "once":
                self._approved.add(definition)
            return _Step(call, tool)
        return None if answer.verdict == "cancel" else _Step(call, refusal=_failed(call, answer.why or DECLINED))

    def _permission(self, tool: Tool) -> Permission:
        """Whether the call is allowed. `harmless` may be slow to compute, so it is checked last."""
        permission = self.policy.decide(tool.server, tool.name)
        return "allow" if permission == "ask" and tool.harmless else permission

    async def _execute(self, call: ToolCall, tool: Tool, results: dict[str, ToolResult]) -> None:
        self._outbox.emit(ToolStarted(call, tool.server, tool.name))
        started, result = time.monotonic(), _failed(call, CANCELLED)
        try:
            output = await tool(call.arguments or {}, self._progress_of(call))
            results[call.id] = result = ToolResult(call.id, output.content, output.is_error)
        except Exception as error:  # a tool's failure is reported to the model, not raised
            results[call.id] = result = _failed(call, str(error) or type(error).__name__)
        finally:
            self._outbox.emit(ToolFinished(call, tool.server, tool.name, result, time.monotonic() - started))

    def _progress_of(self, call: ToolCall) -> Callable[[float, float | None, str], None]:
        return lambda done, total, note: self._outbox.emit(ToolProgressed(call, done, total, note))


def _fault(call: ToolCall, tool: Tool | None) -> str | None:
    """Why a call cannot be run, as a text for the model."""
    if tool is None:
        return f"There is no tool named {call.tool!r}."
    if call.arguments is None:
        return f"The arguments are not a JSON object: {call.raw[:200]}"
    return tool.fault(call.arguments)


def _failed(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call.id, (Text(text),), is_error=True)


def _definition(tool: Tool) -> str:
    """What an approval applies to: if a tool's description or schema changes, it must be approved again."""
    return json.dumps([tool.server, tool.name, tool.spec.description, tool.spec.schema], sort_keys=True)
