"""The signature of a registered function: the JSON Schema of its arguments, and their validation."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union

from agent.mcp.callables import name_of
from agent.mcp.server.docstrings import read_docstring

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

Json = dict[str, Any]
_MISSING = inspect.Parameter.empty
_TYPE_FAULTS = ("enum", "literal_error", "none_required", "is_instance_of", "sequence_str")
"""Error types of pydantic for a wrong type, besides those that end in `_type`."""


class Header:
    """Annotation for an argument that clients mirror in the HTTP header `Mcp-Param-{name}`, for routing.

    `region: Annotated[str, Header("Region")]`; the argument is a string, an integer or a boolean, and not a secret
    (section "Streamable HTTP, Custom Headers", since 2026-07-28).
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> Json:
        """The schema of an optional argument without null: `x-mcp-header` needs a single type."""
        schema: Json = handler.resolve_ref_schema(handler(core_schema))
        choices = [choice for choice in schema.get("anyOf", []) if choice.get("type") != "null"]
        if len(choices) == 1:
            schema = choices[0] | {key: value for key, value in schema.items() if key != "anyOf"}
        return schema | {"x-mcp-header": self.name}


class SignatureError(TypeError):
    """A function cannot be registered as it is. The text says which, and what to change."""


class ArgumentFault(ValueError):
    """The arguments are invalid. The text names each fault, for the model to correct."""


class Signature:
    """The parameters of `function`, except those annotated with `context_type`, which are injected.

    Types are resolved on first use, not at decoration: an annotation may name a class that is defined later, and
    starting a server stays fast.
    """

    def __init__(self, function: Callable[..., Any], context_type: type) -> None:
        self.function, self._context_type = function, context_type
        self.name = name_of(function)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise SignatureError(f"{self.name}: a generator has no single result; return one, and report progress.")
        self._documented = read_docstring(inspect.getdoc(function))
        self.description = self._documented.summary
        self.parameters = _named_parameters(function, self.name)

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The resolved annotations.

        Raises:
            SignatureError: one cannot be resolved.
        """
        try:
            return typing.get_type_hints(_annotated(self.function), include_extras=True)
        except NameError as error:
            raise SignatureError(
                f"{self.name}: an annotation cannot be resolved ({error}); define what it names in the module."
            ) from error

    @cached_property
    def context_parameters(self) -> tuple[str, ...]:
        return tuple(name for name in self.parameters if self._is_context(self.hints.get(name)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters that are arguments of the call, in order."""
        return tuple(name for name in self.parameters if name not in self.context_parameters)

    @cached_property
    def required(self) -> frozenset[str]:
        return frozenset(name for name in self.names if self._default(name) is _MISSING)

    @cached_property
    def schema(self) -> Json:
        """JSON Schema (2020-12) of the arguments: an object, as `Tool.inputSchema` must be."""
        from agent.mcp.server.schemas import json_schema

        schema = json_schema(self._adapter, self.name)
        return {"type": "object"} | {key: schema[key] for key in schema if key != "title"}

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, validated and converted, with the defaults of `Field(…)`.

        Raises:
            ArgumentFault: one is missing, unknown, or invalid.
        """
        from pydantic import ValidationError

        try:
            bound: dict[str, Any] = self._adapter.validate_python(dict(arguments))
        except ValidationError as error:
            raise ArgumentFault(_explain(error)) from None
        for name, field in self._fields.items():
            if name not in bound and not field.is_required():
                bound[name] = field.get_default(call_default_factory=True, validated_data=bound)
        return bound

    def reads_text(self, name: str) -> bool:
        """Whether a parameter can be validated from some string."""
        schema = self.schema["properties"][name]
        texts = ["1", *_choices([schema, self.schema.get("$defs", {})])]
        return schema.get("type") == "string" or any(self._reads(name, text) for text in texts)

    def _reads(self, name: str, text: str) -> bool:
        """Whether a string is accepted, or refused for its value and not for its type."""
        from pydantic import ValidationError

        try:
            self._adapter.validate_python({name: text})
        except ValidationError as error:
            faults = [fault for fault in error.errors(include_url=False) if fault["loc"][0] == name]
            return not faults or any(fault["input"] != text or not _wants_another_type(fault) for fault in faults)
        return True

    @cached_property
    def _fields(self) -> dict[str, FieldInfo]:
        """Defaults of the form `Field(…)`, which Python itself would pass on as they are."""
        from pydantic.fields import FieldInfo

        defaults = {name: self.parameters[name].default for name in self.names}
        return {name: default for name, default in defaults.items() if isinstance(default, FieldInfo)}

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        """Over a TypedDict, whose keys may have any name; a model's may not be `schema` or `_x`."""
        from agent.mcp.server.schemas import adapter_of, readable, typed_dict

        fields = {name: readable(self._field(name)) for name in self.names}
        return adapter_of(typed_dict(self.name, fields, self.required), self.name)

    def _field(self, name: str) -> Any:
        from pydantic import Field

        hint: Any = self.hints.get(name, Any)
        if name in self._fields:
            hint = Annotated[hint, self._fields[name]]
        if hint is not Any and typing.get_origin(hint) is Annotated:
            notes = [note for note in hint.__metadata__ if isinstance(note, str)]
            hint = Annotated[hint, Field(description=notes[0])] if notes else hint
        described = self._documented.parameters.get(name)
        if described and not _describes_itself(hint):
            hint = Annotated[hint, Field(description=described)]
        return Annotated[hint, Field(json_schema_extra=self._shown_default(name))]

    def _default(self, name: str) -> Any:
        default = self.parameters[name].default
        if name in self._fields and self._fields[name].is_required():
            return _MISSING
        return default

    def _shown_default(self, name: str) -> Json:
        """The `default` of the schema, unless JSON cannot represent it."""
        from pydantic_core import PydanticSerializationError, to_jsonable_python

        default = self._fields[name].default if name in self._fields else self.parameters[name].default
        if default is _MISSING or name in self.required:
            return {}
        try:
            return {"default": to_jsonable_python(default)}
        except PydanticSerializationError:
            return {}

    def _is_context(self, hint: Any) -> bool:
        if typing.get_origin(hint) in (Union, UnionType, Annotated):
            return any(self._is_context(part) for part in typing.get_args(hint))
        return isinstance(hint, type) and issubclass(hint, self._context_type)


def _named_parameters(function: Callable[..., Any], name: str) -> Mapping[str, inspect.Parameter]:
    if not callable(function):
        raise SignatureError(f"{function!r} is no function that could be called; a name is given as name=.")
    parameters = inspect.signature(function).parameters
    for position, parameter in enumerate(parameters.values()):
        if position == 0 and parameter.name in ("self", "cls") and parameter.annotation is _MISSING:
            raise SignatureError(f"{name}: this is a method without its object; register the method of an object.")
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise SignatureError(f"{name}: parameter {parameter} has no name a client could give; write it out.")
    return parameters


def _annotated(function: Any) -> Any:
    """The function that has the annotations: the one inside a partial, the `__call__` of an object."""
    while hasattr(function, "func"):
        function = function.func
    return function if inspect.isroutine(function) else function.__call__


def _choices(schema: Any) -> Iterator[str]:
    """Every `enum` and `const` value of a schema, as text."""
    if isinstance(schema, dict):
        yield from map(str, [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())])
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _choices(part)


def _wants_another_type(fault: ErrorDetails) -> bool:
    return fault["type"].endswith("_type") or fault["type"] in _TYPE_FAULTS


def _describes_itself(hint: Any) -> bool:
    return any(getattr(note, "description", None) for note in getattr(hint, "__metadata__", ()))


def _explain(error: ValidationError) -> str:
    return "; ".join(_fault(dict(fault)) for fault in error.errors(include_url=False, include_context=False))


def _fault(fault: Json) -> str:
    where = ".".join(str(part) for part in fault["loc"])
    match fault["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"{where} is not a parameter"
    return f"{where}: {fault['msg']} (got {_shortened(fault['input'])})"


def _shortened(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:79] + "…"
