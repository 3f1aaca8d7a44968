"""Tools, resources, prompts and completions: their definitions in lists, and how each is run."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from agent.mcp.errors import McpError
from agent.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from agent.mcp.lifecycle import at_least
from agent.mcp.protocol import MISSING_CAPABILITY
from agent.mcp.routing import Mirrored, mirrored_arguments
from agent.mcp.server.content import contents, message_for, messages, text
from agent.mcp.server.context import Context
from agent.mcp.server.dialogue import ClientRefused
from agent.mcp.server.results import Returns
from agent.mcp.server.running import Function, invoke, message_of, run
from agent.mcp.server.signature import ArgumentFault, Json, Signature, SignatureError
from agent.mcp.uri_templates import UriTemplate

logger = logging.getLogger(__name__)


TaskSupport = Literal["optional", "required"]

_SINCE = {
    "annotations": "2025-03-26",
    "title": "2025-06-18",
    "outputSchema": "2025-06-18",
    "_meta": "2025-06-18",
    "icons": "2025-11-25",
}
"""The revision in which a field of a definition appeared."""


@dataclass(frozen=True, slots=True)
class About:
    """The descriptive fields of a definition. `meta` becomes `_meta`; `icons` are as in the specification."""

    name: str
    title: str | None = None
    description: str | None = None
    icons: Sequence[Mapping[str, Any]] | None = None
    meta: Mapping[str, Any] | None = None

    def definition(self, revision: str, **own: Any) -> Json:
        """The definition in a list, with the fields that `revision` has."""
        shown = {"name": self.name, "title": self.title, "description": self.description} | own
        shown |= {"icons": self.icons, "_meta": self.meta}
        return {
            key: value
            for key, value in shown.items()
            if value is not None and (key not in _SINCE or at_least(revision, _SINCE[key]))
        }


@dataclass(frozen=True)
class Tool:
    about: About
    function: Function
    structured: bool | None = None
    annotations: Mapping[str, Any] | None = None
    input_schema: Mapping[str, Any] | None = None
    task: TaskSupport | None = None
    asks_first: bool = False

    @cached_property
    def signature(self) -> Signature:
        return Signature(self.function, Context)

    @property
    def shown_schema(self) -> Mapping[str, Any]:
        return self.signature.schema if self.input_schema is None else self.input_schema

    @cached_property
    def mirrored(self) -> tuple[Mirrored, ...]:
        """The arguments that clients mirror in HTTP headers (`x-mcp-header`). Raises SignatureError."""
        try:
            return mirrored_arguments(self.shown_schema)
        except ValueError as error:
            raise SignatureError(f"{self.about.name}: {error}.") from error

    @cached_property
    def returns(self) -> Returns:
        return Returns(self.about.name, self.signature.hints.get("return"), self.structured)

    def prepare(self) -> None:
        """Validate the types. Raises SignatureError."""
        _ = self.signature.schema, self.returns.schema, self.mirrored

    def definition(self, revision: str) -> Json:
        return self.about.definition(
            revision,
            inputSchema=self.shown_schema,
            outputSchema=self.returns.schema,
            annotations=self.annotations,
        )

    async def call(self, arguments: Mapping[str, Any], context: Context) -> Json:
        """The result of `tools/call`; an exception of the tool is a result with `isError`.

        Raises:
            McpError: the tool raised one, or the client lacks a capability (stateless era).
        """
        try:
            value = await run(self.signature, arguments, context)
            return self.returns.result(value, context.revision)
        except ArgumentFault as fault:
            return _failed(f"Invalid arguments for {self.about.name}: {fault}.")
        except ClientRefused as refusal:
            if refusal.code == MISSING_CAPABILITY:
                raise
            return _failed(refusal.message)
        except McpError:
            raise
        except Exception as error:  # the tool may raise anything; the text goes to the model
            logger.debug("tool %s", self.about.name, exc_info=True)
            return _failed(message_of(error))


@dataclass(frozen=True)
class Resource:
    """One resource, or with a `template` all resources that match it."""

    about: About
    function: Function
    uri: str
    template: UriTemplate | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Mapping[str, Any] | None = None

    @cached_property
    def signature(self) -> Signature:
        return Signature(self.function, Context)

    def prepare(self) -> None:
        """Raises SignatureError."""
        _ = self.signature.schema
        if unknown := self.signature.required - set(self.template.names if self.template else ()):
            raise SignatureError(f"{self.uri}: nothing in the URI says what {', '.join(sorted(unknown))} is.")

    def definition(self, revision: str) -> Json:
        where = {"uriTemplate": self.uri} if self.template else {"uri": self.uri, "size": self.size}
        own = {"mimeType": self.mime_type, "annotations": self.annotations}
        return self.about.definition(revision, **where, **own)

    def match(self, uri: str) -> Mapping[str, str] | None:
        """The template variables in `uri`, or None if it does not match."""
        if self.template:
            return self.template.match(uri)
        return {} if uri == self.uri else None

    async def read(self, uri: str, arguments: Mapping[str, str], context: Context) -> list[Json] | None:
        """The contents, or None if the function returned None: no such resource. Raises McpError."""
        value = await _attempted(f"reading {uri}", self.signature, arguments, context)
        return None if value is None else contents(value, uri, self.mime_type)


@dataclass(frozen=True)
class Prompt:
    about: About
    function: Function

    @cached_property
    def signature(self) -> Signature:
        return Signature(self.function, Context)

    def prepare(self) -> None:
        """Raises SignatureError."""
        for name in self.signature.names:
            if not self.signature.reads_text(name):
                raise SignatureError(
                    f"{self.about.name}: a prompt is given its arguments as text, and no text can be read as {name}."
                )

    def definition(self, revision: str) -> Json:
        schema = self.signature.schema
        listed = [self._argument(name, schema["properties"][name]) for name in self.signature.names]
        return self.about.definition(revision, **({"arguments": listed} if listed else {}))

    async def get(self, arguments: Mapping[str, str], context: Context) -> Json:
        """The result of `prompts/get`. Raises McpError."""
        subject = f"prompt {self.about.name}"
        value = await _attempted(subject, self.signature, arguments, context)
        described = {"description": self.about.description} if self.about.description else {}
        return {**described, "messages": [message_for(message, context.revision) for message in messages(value)]}

    def _argument(self, name: str, schema: Json) -> Json:
        described = {"description": schema["description"]} if schema.get("description") else {}
        return {"name": name, **described, "required": name in self.signature.required}


@dataclass(frozen=True)
class Completion:
    """Suggestions for one argument of a prompt (by its name) or of a resource template (by its URI)."""

    function: Function

    @cached_property
    def signature(self) -> Signature:
        return Signature(self.function, Context)

    def prepare(self) -> None:
        """Raises SignatureError."""
        if not 1 <= len(self.signature.names) <= 2:
            raise SignatureError(f"{self.signature.name}: a completion takes the text so far, and the known arguments.")

    async def values(self, value: str, known: Mapping[str, str], context: Context) -> list[str]:
        """Suggestions for `value`; `known` are the arguments that are resolved already."""
        given: Json = dict(zip(self.signature.names, (value, dict(known)), strict=False))
        given |= dict.fromkeys(self.signature.context_parameters, context)
        found = await invoke(self.function, given)
        return [str(item) for item in found or ()]


async def _attempted(subject: str, signature: Signature, arguments: Mapping[str, Any], context: Context) -> Any:
    """Run a function whose failure is a JSON-RPC error, since its result has no `isError`. Raises McpError."""
    try:
        return await run(signature, arguments, context)
    except McpError:
        raise
    except ArgumentFault as fault:
        raise McpError(INVALID_PARAMS, f"Invalid arguments for {subject}: {fault}.") from None
    except Exception as error:  # the function may raise anything; the error says why
        logger.debug("%s", subject, exc_info=True)
        raise McpError(INTERNAL_ERROR, f"{subject} failed: {message_of(error)}") from error


def _failed(words: str) -> Json:
    return {"content": [text(words)], "isError": True}
