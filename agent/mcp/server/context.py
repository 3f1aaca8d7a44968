"""`Context`: how a running tool, resource or prompt notifies the client that called it, and sends it requests."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, overload

from anyio.lowlevel import checkpoint

from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Params, Request, RequestId, as_request_id
from agent.mcp.lifecycle import Capabilities, at_least, declared_for, declares
from agent.mcp.protocol import MISSING_CAPABILITY
from agent.mcp.server.content import Message
from agent.mcp.server.dialogue import Caller, ClientRefused, Dialogue, Level
from agent.mcp.server.elicitation import Form, SchemaForm, Visit, needs_newer, read_visit, visit_params
from agent.mcp.server.sampling import Sample, SampleTools, ToolChoice, read_sample, sampling_params

if TYPE_CHECKING:
    from agent.mcp.transports.http_auth import Token

TOOL_ROUNDS = 10  # sampling requests of one `sample` that calls functions for the model

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Accepted(Generic[T]):
    """The person submitted the form; `content` is an instance of the requested type."""

    content: T
    action: Literal["accept"] = "accept"


@dataclass(frozen=True, slots=True)
class Declined:
    """The person declined (`decline`), or dismissed the form (`cancel`)."""

    action: Literal["decline", "cancel"]
    content: None = None


@dataclass(frozen=True, slots=True)
class Root:
    """A directory or file that the client exposes to servers; `uri` begins with `file://`."""

    uri: str
    name: str | None = None


class Context:
    """The request being served, injected into any parameter that is annotated with `Context`.

    In a plain `def`, which runs in a worker thread, call its methods through `anyio.from_thread.run`.

    `token` is the caller's verified access token, if the server requires one (`asgi(auth=…)`): `subject`, `client`,
    `scopes`, `claims`; else None. `lifespan` is what the server's lifespan yielded.

    In revision 2026-07-28 a function does not wait for the client: one that asks is run again from its start with the
    answers so far, which are matched by the order of the calls, or by `key`. A side effect before a question belongs
    in `once`.
    """

    def __init__(
        self, caller: Caller, dialogue: Dialogue, request: Request, lifespan: Any = None, token: Token | None = None
    ) -> None:
        self._caller, self._dialogue, self._request = caller, dialogue, request
        self.lifespan, self.token = lifespan, token
        self._progressed, self._samples = -math.inf, 0

    @property
    def request_id(self) -> RequestId:
        return self._request.id

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's `_meta`, as on the wire."""
        meta = (self._request.params or {}).get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def revision(self) -> str:
        """The negotiated protocol revision, such as `2025-11-25`."""
        return self._caller.revision

    @property
    def client_info(self) -> Mapping[str, Any]:
        """The client's `clientInfo`: `name`, `version`, …. Not verified; for display only."""
        return self._caller.info

    @property
    def client_capabilities(self) -> Capabilities:
        """What the client declared, as on the wire."""
        return self._caller.capabilities

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress (section "Utilities, Progress").

        `done` must increase from call to call: values that do not are not sent, and nothing is sent if the client did
        not ask for progress. Calls are not rate-limited. In a task it becomes the status message.
        """
        token = as_request_id(self.meta.get("progressToken"))  # it has the types of a request id
        if (token is None and not self._dialogue.is_task) or not self._progressed < done < math.inf:
            await checkpoint()  # a function that only reports progress must be cancellable too
            return
        self._progressed = done
        params: Params = {"progressToken": token, "progress": done}
        if total is not None:
            params["total"] = total
        if message and at_least(self.revision, "2025-03-26"):
            params["message"] = message
        await self._dialogue.tell("notifications/progress", params)

    async def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send a log message, if the client wants that level (section "Utilities, Logging"). `data` is any JSON."""
        if not self._caller.wants_log(level):
            await checkpoint()
            return
        named = {} if logger is None else {"logger": logger}
        await self._dialogue.tell("notifications/message", {"level": level, **named, "data": data})

    @overload
    async def elicit(self, message: str, schema: type[T], *, key: str | None = None) -> Accepted[T] | Declined: ...
    @overload
    async def elicit(
        self, message: str, schema: dict[str, Any], *, key: str | None = None
    ) -> Accepted[dict[str, Any]] | Declined: ...
    async def elicit(self, message: str, schema: Any, *, key: str | None = None) -> Any:
        """Ask the person to fill in a form (section "Client Features, Elicitation").

        `schema` is a flat model, dataclass or TypedDict, of which `content` becomes an instance, or a JSON Schema,
        for which it is a dict. Never ask for passwords or other secrets this way.

        Raises:
            ClientRefused: the client does not support forms, or answered with an error.
            FormFault: its answer does not match the schema.
            SignatureError: the type cannot be a form.
        """
        form: Form[Any] | SchemaForm = SchemaForm(schema) if isinstance(schema, dict) else Form(schema)
        modes = self._declared("elicitation")
        if (modes and "form" not in modes) or needs_newer(form.schema, self.revision):
            self._refuse("a form like this", {"elicitation": {"form": {}}})
        answer = await self._dialogue.ask(
            "elicitation/create", {"message": message, "requestedSchema": form.schema}, key
        )
        match answer:
            case {"action": "accept"}:
                return Accepted(form.read(answer.get("content") or {}))
            case {"action": "decline" | "cancel" as action}:
                return Declined(action)
        raise ClientRefused(INVALID_PARAMS, "The client's answer to the form names no action.")

    async def visit(self, message: str, url: str, *, key: str | None = None) -> Visit:
        """Ask the person to open a page in their browser, for sign-ins, payments and secrets.

        `url` must not contain credentials. Call `finished` when the interaction on the page is complete; for a client
        of revision 2026-07-28 it is the result of the call (section "Client Features, Elicitation, URL mode").

        Raises:
            ClientRefused: the client does not support URL mode, or answered with an error.
        """
        if not declares(self._capabilities, "elicitation", "url"):
            self._refuse("pages to open", {"elicitation": {"url": {}}})
        params = visit_params(message, url, self.revision)
        return read_visit(await self._dialogue.ask("elicitation/create", params, key), params)

    async def finished(self, visit: Visit) -> None:
        """Send `notifications/elicitation/complete`, in revisions that have it."""
        if visit.id is not None:
            await self._dialogue.tell("notifications/elicitation/complete", {"elicitationId": visit.id})

    async def sample(
        self,
        messages: Message | list[Message],
        *,
        max_tokens: int = 1_000,
        system_prompt: str | None = None,
        tools: Sequence[Mapping[str, Any] | Callable[..., Any]] = (),
        tool_choice: ToolChoice | None = None,
        temperature: float | None = None,
        stop_sequences: Sequence[str] | None = None,
        model_preferences: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Sample:
        """Ask the client's model (section "Client Features, Sampling").

        `messages` is a text of the user or a conversation; `max_tokens` limits each completion. `tools` are functions,
        which are called for the model until it answers without them, or definitions as in `tools/list`: if the answer
        has `tool_uses` of those, run them, append `answer.message` and one message of `tool_answer`s, and sample again.

        Raises:
            ClientRefused: the client does not support it, or answered with an error, or with no message.
        """
        offered = self._declared("sampling")
        if (tools or tool_choice) and "tools" not in offered:
            self._refuse("sampling with tools", {"sampling": {"tools": {}}})
        options = {
            "systemPrompt": system_prompt,
            "temperature": temperature,
            "stopSequences": stop_sequences,
            "modelPreferences": model_preferences,
        }
        known = SampleTools(tools, self)
        params = sampling_params(messages, max_tokens, options, known.definitions, tool_choice)
        self._samples += 1
        told = f"answers of the tools in sample {key or self._samples}"
        for number in range(TOOL_ROUNDS):
            asked = key if key is None or not number else f"{key}/{number}"
            sample = read_sample(await self._dialogue.ask("sampling/createMessage", params, asked))
            if not known.can_run(uses := sample.tool_uses):
                break
            answers: Any = await self.once(f"{told}, {number}", partial(known.answers, uses))
            params["messages"] += [sample.message, answers]
            params["toolChoice"] = {"mode": "auto" if number < TOOL_ROUNDS - 2 else "none"}
        return sample

    async def roots(self, *, key: str | None = None) -> list[Root]:
        """The client's roots (section "Client Features, Roots"). Raises ClientRefused."""
        self._declared("roots")
        answer = await self._dialogue.ask("roots/list", None, key)
        found = answer.get("roots") if isinstance(answer, dict) else None
        listed = found if isinstance(found, list) else []
        roots = [root for root in listed if isinstance(root, dict) and str(root.get("uri")).startswith("file://")]
        return [Root(root["uri"], root.get("name")) for root in roots]

    async def once(self, key: str, compute: Callable[[], T | Awaitable[T]]) -> T:
        """The value of `compute`, which completes only once, however often the function is run again.

        The value is stored as JSON under `key`, which must be unique in the function, and returned as JSON represents
        it. In the stateless era it is part of `requestState`, which the client can read but not alter.
        """

        async def computed() -> T:
            value = compute()
            return await value if isawaitable(value) else value

        value: T = await self._dialogue.once(key, computed)
        return value

    async def begin_task(self) -> None:
        """Continue as a task (extension "Tasks"), in a tool that is registered with `asks_first`.

        The client is sent the task and polls for the result; the function is run again from its start, with the
        answers it had. If the client does not support tasks, or the call is a task already, this does nothing.
        """
        await self._dialogue.begin_task()

    async def release(self) -> None:
        """Close the response stream of a client over HTTP, which reconnects for the result, during long work.

        This does nothing where the client could not (section "Streamable HTTP, Sending Messages", since 2025-11-25).
        """
        await self._dialogue.release()

    def _declared(self, capability: str) -> Mapping[str, Any]:
        capabilities = self._capabilities
        if not declares(capabilities, capability):
            self._refuse(capability, {capability: {}})
        settings = capabilities[capability]
        return settings if isinstance(settings, dict) else {}

    @property
    def _capabilities(self) -> Capabilities:
        """The declared capabilities that exist in the revision."""
        return declared_for(self.revision, self._caller.capabilities)

    def _refuse(self, wish: str, needed: Mapping[str, Any]) -> NoReturn:
        words = f"This client does not offer {wish}."
        if at_least(self.revision, "2026-07-28"):
            raise ClientRefused(MISSING_CAPABILITY, words, {"requiredCapabilities": needed})
        raise ClientRefused(METHOD_NOT_FOUND, words)
