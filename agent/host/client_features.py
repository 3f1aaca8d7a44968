"""The other direction: what a server may ask of us, answered by one function whatever the revision."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.chat.events import Noticed, QuestionAsked, QuestionSettled
from agent.chat.outbox import Outbox
from agent.chat.questions import Answer, FillForm
from agent.host.config import Config
from agent.host.policies import configured_answer, form_fault
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from agent.mcp.session import McpError

if TYPE_CHECKING:
    from agent.chat.provider import Provider
    from agent.host.sampling import Sampling

AnswerServer = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Answers one server: (method, params) to a result. Raises McpError to refuse."""


class ClientFeatures:
    """`interactive`: a person reads the outbox, and can be asked. `turn` tells turns apart, for `Sampling`."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        provider_for: Callable[[str | None], Provider],
        turn: Callable[[], object],
        *,
        interactive: bool,
    ) -> None:
        self._config, self._outbox, self._interactive = config, outbox, interactive
        self._provider_for, self._turn = provider_for, turn

    @cached_property
    def _sampling(self) -> Sampling:
        from agent.host.sampling import Sampling  # not before the servers have been started

        return Sampling(self._config, self._outbox, self._provider_for, self._turn, interactive=self._interactive)

    def capabilities(self, server: str) -> dict[str, Any]:
        """What is declared to `server`: only what a person or the configuration can answer."""
        declared: dict[str, Any] = {}
        approval = self._config.approval(server)
        if approval == "allow" or (self._interactive and approval != "deny"):
            declared["sampling"] = {"tools": {}}
        if self._interactive or self._config.form_answer(server) != "ask":
            declared["elicitation"] = {"form": {}}
        if self._roots(server):
            declared["roots"] = {}
        return declared

    def answer(self, server: str) -> AnswerServer:
        """What answers the requests of `server`."""

        async def answer(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
            match method:
                case "sampling/createMessage":
                    return await self._sampling.answer(server, params)
                case "elicitation/create":
                    return await self._fill_form(server, params)
                case "roots/list":
                    return {"roots": self._roots(server)}
                case "ping":
                    return {}
                case _:
                    raise McpError(METHOD_NOT_FOUND, f"this client does not offer {method}")

        return answer

    def _roots(self, server: str) -> list[dict[str, str]]:
        """Only the folders that the configuration names for this server (specification, client/roots)."""
        table = self._config.servers.get(server)
        folders = [Path(root) for root in table.roots] if table else []
        return [{"uri": folder.as_uri(), "name": folder.name or str(folder)} for folder in folders]

    async def _fill_form(self, server: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of `elicitation/create` (specification, client/elicitation)."""
        message, schema = params.get("message"), params.get("requestedSchema")
        if (params.get("mode") or "form") != "form":
            raise McpError(INVALID_PARAMS, f"this client did not declare elicitation mode {params['mode']!r}")
        if not isinstance(message, str) or not isinstance(schema, dict):
            raise McpError(INVALID_PARAMS, "a form needs a message and a requestedSchema")
        form = FillForm(server, message, schema)
        answer = self._settle(form) or await self._outbox.ask(form)
        if answer.verdict != "accept":
            return {"action": answer.verdict}
        if fault := form_fault(form, answer.content or {}):
            self._outbox.emit(
                Noticed(server, "warning", f"The answer does not fit the form and was not sent: {fault}.")
            )
            return {"action": "cancel"}
        return {"action": "accept", "content": answer.content or {}}

    def _settle(self, form: FillForm) -> Answer | None:
        answer = configured_answer(self._config, form)
        if answer is not None:
            self._outbox.emit(QuestionAsked(form))
            self._outbox.emit(QuestionSettled(form, answer.verdict, "policy", answer.why))
        return answer
