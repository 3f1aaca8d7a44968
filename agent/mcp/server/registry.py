"""Registration of tools, resources, prompts and completions, and their removal."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from agent.mcp.callables import name_of
from agent.mcp.server.catalogue import Catalogue
from agent.mcp.server.docstrings import read_docstring
from agent.mcp.server.features import About, Completion, Prompt, Resource, TaskSupport, Tool
from agent.mcp.server.subscribers import Change
from agent.mcp.uri_templates import check_uri, is_template, parse_template

F = TypeVar("F", bound=Callable[..., Any])
Meta = Mapping[str, Any]
Icons = Sequence[Mapping[str, Any]]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class Registry(ABC):
    """The decorators of a `Server`. Connected clients are notified of changes (`list_changed`)."""

    def __init__(self, name: str, catalogue: Catalogue) -> None:
        self.name, self._catalogue = name, catalogue

    @property
    @abstractmethod
    def is_serving(self) -> bool:
        """Whether clients may be connected: then registrations are validated at once."""

    @abstractmethod
    def _announce(self, change: Change) -> None:
        """Notify the clients that subscribed to such a change."""

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        structured: bool | None = None,
        icons: Icons | None = None,
        meta: Meta | None = None,
        input_schema: Mapping[str, Any] | None = None,
        task: TaskSupport | None = None,
        asks_first: bool = False,
    ) -> Callable[[F], F]: ...
    def tool(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        structured: bool | None = None,
        icons: Icons | None = None,
        meta: Meta | None = None,
        input_schema: Mapping[str, Any] | None = None,
        task: TaskSupport | None = None,
        asks_first: bool = False,
    ) -> Any:
        """Register a function as a tool (section "Server Features, Tools").

        Its name, its docstring and its type hints become the tool's `name`, `description` and schemas; `annotations`
        are the protocol's hints, `{"readOnlyHint": True}`. Whether the result is also sent as structured content
        follows from the return type, unless `structured` says it (see `Returns`). An exception becomes a result with
        `isError`, its text for the model to read; a `McpError` becomes a JSON-RPC error.

        `input_schema` replaces the generated schema in the definition; arguments are still validated by the hints.

        `task` runs the tool as a task for clients that support it (extension `io.modelcontextprotocol/tasks`): they are
        sent the task and poll for the result. "required" refuses other clients, "optional" lets them wait. With
        `asks_first` the call becomes a task when the function calls `Context.begin_task`.

        Raises:
            ValueError: the name is taken, or invalid.
            SignatureError: the function cannot be a tool. Types without a schema are found when the server starts, or
                at once if clients are connected.
        """

        def register(function: F) -> F:
            about = _about(function, name, title, description, icons, meta)
            made = Tool(about, function, structured, annotations, input_schema, task, asks_first)
            _ = made.signature
            self._add(self._catalogue.tools, made.about.name, made, "tools")
            return function

        return register if function is None else register(function)

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Icons | None = None,
        meta: Meta | None = None,
    ) -> Callable[[F], F]: ...
    def prompt(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Icons | None = None,
        meta: Meta | None = None,
    ) -> Any:
        """Register a function as a prompt (section "Server Features, Prompts").

        It returns the user's message as text, or a list of messages: `[("user", "…"), ("assistant", "…")]`. Clients
        send arguments as text; type hints convert it.

        Raises:
            ValueError: the name is taken, or invalid.
            SignatureError: the function cannot be a prompt. A parameter type that cannot be read from text is found
                when the server starts, or at once if clients are connected.
        """

        def register(function: F) -> F:
            made = Prompt(_about(function, name, title, description, icons, meta), function)
            _ = made.signature
            self._add(self._catalogue.prompts, made.about.name, made, "prompts")
            return function

        return register if function is None else register(function)

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Icons | None = None,
        meta: Meta | None = None,
    ) -> Callable[[F], F]:
        """Register a function as a resource, or with `{variables}` in the URI as a template (section "…, Resources").

        The variables are the function's parameters. It returns text, bytes, or data that is sent as JSON; None means
        that there is no such resource. `size` is in bytes.

        Raises:
            ValueError: the URI is taken, or invalid, or its variables are not the parameters.
        """
        if not isinstance(uri, str):
            raise TypeError('A resource needs its URI: @server.resource("notes://{id}").')
        check_uri(uri)
        template = parse_template(uri) if is_template(uri) else None

        def register(function: F) -> F:
            about = _about(function, name, title, description, icons, meta)
            made = Resource(about, function, uri, template, mime_type, size, annotations)
            _check_names(made)
            self._add(self._catalogue.templates if template else self._catalogue.resources, uri, made, "resources")
            return function

        return register

    def completion(self, of: str, argument: str) -> Callable[[F], F]:
        """Register completions for an argument of a prompt (`of` is its name) or a resource template (its URI).

        The function is called with the partial value and, if it has a second parameter, the resolved arguments, besides
        a `Context` if it has a parameter for one; it returns the suggestions, best first. The first hundred are sent
        (section "Utilities, Completion"). It may be registered before its prompt or template; an argument that does
        not exist is a `SignatureError` when the server starts.
        """

        def register(function: F) -> F:
            self._catalogue.completions[of, argument] = Completion(function)
            return function

        return register

    def remove_tool(self, name: str) -> None:
        """Remove a tool. Raises KeyError if there is none."""
        self._remove(self._catalogue.tools, name, "tools")

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt and its completions. Raises KeyError if there is none."""
        self._remove(self._catalogue.prompts, name, "prompts")

    def remove_resource(self, uri: str) -> None:
        """Remove a resource, or a template and its completions. Raises KeyError if there is none."""
        self._remove(self._catalogue.templates if is_template(uri) else self._catalogue.resources, uri, "resources")

    def remove_completion(self, of: str, argument: str) -> None:
        """Remove a completion. Raises KeyError if there is none."""
        del self._catalogue.completions[of, argument]

    def _add(self, entries: dict[str, Any], key: str, made: Any, kind: str) -> None:
        if key in entries:
            raise ValueError(f"{self.name} offers {key} already; remove it first.")
        if self.is_serving:
            made.prepare()
        entries[key] = made
        self._announce((f"notifications/{kind}/list_changed", None))

    def _remove(self, entries: dict[str, Any], key: str, kind: str) -> None:
        del entries[key]
        if kind != "tools":
            self._catalogue.forget_completions(key)
        self._announce((f"notifications/{kind}/list_changed", None))


def _about(
    function: Any,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    icons: Icons | None = None,
    meta: Meta | None = None,
) -> About:
    name = name or name_of(function)
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name: 1 to 128 letters, digits, '_', '.' or '-', or give one with name=.")
    if description is None:
        description = read_docstring(inspect.getdoc(function)).summary
    return About(name, title, description or None, icons, meta)


def _check_names(resource: Resource) -> None:
    """Raises ValueError if the variables of the template are not parameters of the function."""
    template = resource.template
    known, optional = (set(template.names), template.optional) if template else (set(), frozenset())
    parameters = resource.signature.parameters
    missing = known - parameters.keys()
    if missing:
        raise ValueError(f"{resource.uri}: the function has no parameter {', '.join(sorted(missing))}.")
    if demanding := [name for name in sorted(optional) if parameters[name].default is inspect.Parameter.empty]:
        raise ValueError(f"{resource.uri}: {', '.join(demanding)} may be missing, so the parameter needs a default.")
