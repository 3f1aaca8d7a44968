"""Python types to JSON Schema, over pydantic: no made-up titles, and one sentence where a type has no schema."""

from __future__ import annotations

import typing
from collections.abc import Collection, Mapping
from typing import Annotated, Any, NotRequired, Required

import typing_extensions
from pydantic import ConfigDict, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from agent.mcp.signature import SignatureError

Json = dict[str, Any]


class _Untitled(GenerateJsonSchema):
    """A title derived from a name tells a model nothing the name does not."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema(adapter: TypeAdapter[Any], name: str, mode: JsonSchemaMode = "validation") -> Json:
    """The schema of what `adapter` reads, or writes with `mode="serialization"`; `name` is for the error.

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
        SignatureError: pydantic cannot read or write such a type.
    """
    try:
        return TypeAdapter(readable(hint))
    except RecursionError as error:
        raise SignatureError(f"{name}: a TypedDict that contains itself must come from typing_extensions.") from error
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise SignatureError(f"{name}: {_first_line(error)}") from error


def typed_dict(
    name: str, fields: Mapping[str, Any], required: Collection[str], config: ConfigDict | None = None
) -> Any:
    """A TypedDict that takes exactly these fields."""
    hints = {key: readable(hint) for key, hint in fields.items()}
    qualified = {key: Required[hint] if key in required else NotRequired[hint] for key, hint in hints.items()}
    made = typing_extensions.TypedDict(name, qualified)  # type: ignore[misc]  # built at run time
    made.__pydantic_config__ = ConfigDict(extra="forbid") if config is None else config  # type: ignore[attr-defined]  # what pydantic looks for
    return made


def readable(hint: Any) -> Any:
    """The type with every `typing.TypedDict` in it made anew: below Python 3.12 pydantic reads only the other kind."""
    if typing_extensions.is_typeddict(hint):
        return _modern(hint) if type(hint).__module__ == "typing" else hint
    arguments = typing.get_args(hint)
    if not arguments or typing.get_origin(hint) is typing.Literal:
        return hint
    if typing.get_origin(hint) is Annotated:
        return Annotated[readable(arguments[0]), *hint.__metadata__]
    modern = tuple(readable(argument) for argument in arguments)
    if all(new is old for new, old in zip(modern, arguments, strict=True)):
        return hint
    return _rebuilt(hint, modern)


def _modern(hint: Any) -> Any:
    fields = typing.get_type_hints(hint, include_extras=True)
    bare = {key: _unqualified(field) for key, field in fields.items()}
    config = getattr(hint, "__pydantic_config__", ConfigDict())
    made = typed_dict(hint.__name__, bare, hint.__required_keys__, config)
    made.__doc__ = hint.__doc__
    return made


def _unqualified(field: Any) -> Any:
    return typing.get_args(field)[0] if typing.get_origin(field) in (Required, NotRequired) else field


def _rebuilt(hint: Any, arguments: tuple[Any, ...]) -> Any:
    origin = typing.get_origin(hint)
    if origin is typing.Union or isinstance(hint, type(int | str)):
        return typing.Union[arguments]  # noqa: UP007  # the members are only known at run time
    return origin[arguments]


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
