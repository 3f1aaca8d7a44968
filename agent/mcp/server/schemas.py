"""JSON Schema of Python types, with pydantic: without generated titles, and with errors in one sentence."""

from __future__ import annotations

import typing
from collections.abc import Collection, Mapping
from typing import Annotated, Any, NotRequired, Required

import typing_extensions
from pydantic import ConfigDict, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from agent.mcp.server.signature import SignatureError

Json = dict[str, Any]


class _Untitled(GenerateJsonSchema):
    """Without titles that are derived from names: they repeat the name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema(adapter: TypeAdapter[Any], name: str, mode: JsonSchemaMode = "validation") -> Json:
    """The schema of an adapter's input, or of its output with `mode="serialization"`; `name` is for the error.

    Raises:
        SignatureError: the type has no schema.
    """
    try:
        return adapter.json_schema(schema_generator=_Untitled, mode=mode)
    except PydanticInvalidForJsonSchema as error:
        raise SignatureError(f"{name}: {_first_line(error)}.") from error


def adapter_of(hint: Any, name: str) -> TypeAdapter[Any]:
    """The adapter of a type.

    Raises:
        SignatureError: pydantic does not support the type.
    """
    try:
        return TypeAdapter(readable(hint))
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise SignatureError(f"{name}: {_first_line(error)}") from error


def typed_dict(
    name: str, fields: Mapping[str, Any], required: Collection[str], config: ConfigDict | None = None
) -> Any:
    """A TypedDict with exactly these fields."""
    qualified = {key: Required[hint] if key in required else NotRequired[hint] for key, hint in fields.items()}
    made = typing_extensions.TypedDict(name, qualified)  # type: ignore[misc]  # built at run time
    made.__pydantic_config__ = ConfigDict(extra="forbid") if config is None else config  # type: ignore[attr-defined]  # read by pydantic
    return made


def readable(hint: Any, within: tuple[Any, ...] = ()) -> Any:
    """The type with each `typing.TypedDict` in it replaced: below Python 3.12 pydantic needs typing_extensions'.

    Raises:
        SignatureError: one contains itself (`within` are the enclosing ones).
    """
    if typing_extensions.is_typeddict(hint):
        return _modern(hint, within) if type(hint).__module__ == "typing" else hint
    arguments = typing.get_args(hint)
    if not arguments or typing.get_origin(hint) is typing.Literal:
        return hint
    if typing.get_origin(hint) is Annotated:
        return Annotated[readable(arguments[0], within), *hint.__metadata__]
    modern = tuple(readable(argument, within) for argument in arguments)
    if all(new is old for new, old in zip(modern, arguments, strict=True)):
        return hint
    return _rebuilt(hint, modern)


def _modern(hint: Any, within: tuple[Any, ...]) -> Any:
    if hint in within:
        raise SignatureError(f"{hint.__name__}: a TypedDict that contains itself must come from typing_extensions.")
    fields = typing.get_type_hints(hint, include_extras=True)
    bare = {key: readable(_unqualified(field), (*within, hint)) for key, field in fields.items()}
    config = getattr(hint, "__pydantic_config__", ConfigDict())
    required = [key for key, field in fields.items() if _is_required(key, field, hint)]
    made = typed_dict(hint.__name__, bare, required, config)
    made.__doc__ = hint.__doc__
    return made


def _is_required(key: str, field: Any, hint: Any) -> bool:
    """Whether a key is required; with postponed annotations Python does not evaluate `NotRequired`."""
    qualifier = typing.get_origin(field)
    return qualifier is Required or (qualifier is not NotRequired and key in hint.__required_keys__)


def _unqualified(field: Any) -> Any:
    return typing.get_args(field)[0] if typing.get_origin(field) in (Required, NotRequired) else field


def _rebuilt(hint: Any, arguments: tuple[Any, ...]) -> Any:
    origin = typing.get_origin(hint)
    if origin is typing.Union or isinstance(hint, type(int | str)):
        return typing.Union[arguments]  # noqa: UP007  # the members are only known at run time
    return origin[arguments]


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
