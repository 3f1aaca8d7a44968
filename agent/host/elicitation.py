"""Elicitation: a server requests a form or the opening of a page (section "Client Features, Elicitation")."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import anyio

from agent.chat.events import Noticed, QuestionAsked, QuestionSettled
from agent.chat.outbox import Outbox
from agent.chat.questions import Answer, AwaitPage, FillForm, OpenUrl, Question
from agent.host.browser import OpenPage
from agent.host.config.config import Config
from agent.host.form_rules import LONGEST_MESSAGE, form_objection
from agent.host.policies import configured_answer, form_fault, refused
from agent.host.web_addresses import UnsafeAddress, read_address
from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INVALID_PARAMS, INVALID_REQUEST
from agent.mcp.lifecycle import BEFORE_RETRY

MOST_QUESTIONS = 50
"""Maximum number of requests of one server in one turn, answered or not; further ones are refused."""
PAGES_KEPT = 100


class _Page:
    """A page that was opened; `finished` is set by the server's completion notification."""

    def __init__(self, question: OpenUrl, turn: object) -> None:
        self.question, self.turn, self.finished = question, turn, anyio.Event()


class Elicitation:
    """`turn` identifies the turn: when its value changes, the count of requests starts again."""

    def __init__(
        self, config: Config, outbox: Outbox, turn: Callable[[], object], open_page: OpenPage, *, interactive: bool
    ) -> None:
        self._config, self._outbox, self._turn, self._open_page = config, outbox, turn, open_page
        self._interactive = interactive
        self._asked, self._counted = Counter[str](), object()
        self._pages: OrderedDict[tuple[str, str], _Page] = OrderedDict()

    def capability(self, server: str) -> dict[str, Any]:
        """The elicitation modes in which a request of `server` can be answered; empty if none."""
        answer = self._config.form_answer(server)
        refuses = answer in ("decline", "cancel")
        fills = answer == "defaults" or server in self._config.answers.get(answer, {})
        modes: dict[str, Any] = {"form": {}} if self._interactive or refuses or fills else {}
        return modes | ({"url": {}} if self._interactive or refuses else {})

    async def answer(self, server: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of `elicitation/create`.

        Raises:
            McpError: -32602 if the request is invalid or not allowed.
        """
        self._count(server)
        message = params.get("message")
        if not isinstance(message, str):
            raise McpError(INVALID_PARAMS, "an elicitation needs a message")
        match params.get("mode") or "form":
            case "form":
                return await self._fill(server, message, params.get("requestedSchema"))
            case "url":
                return await self._visit(server, message, params)
            case mode:
                raise McpError(INVALID_PARAMS, f"there is no elicitation mode {mode!r}")

    def complete(self, server: str, params: Mapping[str, Any]) -> None:
        """Handle `notifications/elicitation/complete` for a page of this server; ignored for any other."""
        page = self._pages.get((server, str(params.get("elicitationId"))))
        if page and not page.finished.is_set():
            page.finished.set()
            self._outbox.emit(Noticed(server, "notice", f"The page on {page.question.host} is finished."))

    async def _fill(self, server: str, message: str, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, dict):
            raise McpError(INVALID_PARAMS, "a form needs a requestedSchema")
        if objection := form_objection(message, schema):
            self._refuse(server, f"the form {objection}")
        form = FillForm(server, message, schema)
        answer = self._settled(form, configured_answer(self._config, form)) or await self._outbox.ask(form)
        if answer.verdict != "accept":
            return {"action": answer.verdict}
        if fault := form_fault(form, answer.content or {}):
            said = f"The answer does not fit the form and was not sent: {fault}."
            self._outbox.emit(Noticed(server, "warning", said))
            return {"action": "cancel"}
        return {"action": "accept", "content": answer.content or {}}

    async def _visit(self, server: str, message: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask for consent, then open the browser. The server is only told that the person agreed."""
        url, id = params.get("url"), params.get("elicitationId")
        if not isinstance(url, str):
            raise McpError(INVALID_PARAMS, "a page needs a url")
        if len(message) > LONGEST_MESSAGE:
            self._refuse(server, f"a message may have {LONGEST_MESSAGE:,} characters, and this has {len(message):,}")
        try:
            address = read_address(url)
        except UnsafeAddress as unsafe:
            self._refuse(server, f"the address {unsafe}")
        question = OpenUrl(server, message, address.url, address.place, address.warnings)
        if (page := self._pages.get((server, url))) and page.turn == self._turn():
            return {"action": (await self._await_page(page)).verdict}  # a repeated request: the server cannot wait
        answer = self._settled(question, refused(self._config, server)) or await self._outbox.ask(question)
        if answer.verdict != "accept":
            return {"action": answer.verdict}
        page = self._keep(server, url if id is None else str(id), question)
        if (answer.content or {}).get("open") is not False:
            await self._open(page)
        if id is None or BEFORE_RETRY in (params.get("_meta") or {}):  # the call is only repeated after our response
            return {"action": (await self._await_page(page)).verdict}
        said = f"As long as the call goes on, it waits until you are done on {question.host}: {question.url}"
        self._outbox.emit(Noticed(server, "notice", said))
        return {"action": "accept"}

    async def _await_page(self, page: _Page) -> Answer:
        """Wait until the person says that they are done or gives up, or the server's completion notification."""
        asked = page.question
        question = AwaitPage(asked.server, asked.message, asked.url, asked.host)
        given: list[Answer] = []

        async def ask() -> None:
            given.append(await self._outbox.ask(question))
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await page.finished.wait()
            tasks.cancel_scope.cancel()
        answer = given[0] if given else Answer("accept")
        if (answer.content or {}).get("open"):
            await self._open(page)
            return await self._await_page(page)
        return answer

    async def _open(self, page: _Page) -> None:
        if not await self._open_page(page.question.url):
            said = f"There is no browser to open it in; open it yourself: {page.question.url}"
            self._outbox.emit(Noticed(page.question.server, "warning", said))

    def _keep(self, server: str, id: str, question: OpenUrl) -> _Page:
        page = self._pages[server, id] = _Page(question, self._turn())
        while len(self._pages) > PAGES_KEPT:
            self._pages.popitem(last=False)
        return page

    def _settled(self, question: Question, answer: Answer | None) -> Answer | None:
        """Report a question answered by the configuration like any other, with an event."""
        if answer is not None:
            self._outbox.emit(QuestionAsked(question))
            self._outbox.emit(QuestionSettled(question, answer.verdict, "policy", answer.why))
        return answer

    def _count(self, server: str) -> None:
        if (turn := self._turn()) != self._counted:
            self._asked, self._counted = Counter(), turn
        self._asked[server] += 1
        if (asked := self._asked[server]) <= MOST_QUESTIONS:
            return
        why = f"{MOST_QUESTIONS} questions were asked in one turn already"
        if asked == MOST_QUESTIONS + 1:
            self._outbox.emit(Noticed(server, "warning", f"It is not listened to any more: {why}."))
        raise McpError(INVALID_REQUEST, why)

    def _refuse(self, server: str, objection: str) -> NoReturn:
        self._outbox.emit(Noticed(server, "warning", f"It asked for something and was refused: {objection}."))
        raise McpError(INVALID_PARAMS, f"Refused by the host: {objection}")
