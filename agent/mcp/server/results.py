"""Tool results: the output schema from a return annotation, and the result from a value."""

from __future__ import annotations

import types
import typing
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from agent.mcp.jsonrpc import has_json_numbers
from agent.mcp.lifecycle import at_least
from agent.mcp.server.content import Audio, Image, ToolResult, as_json_text, block_for, blocks, plain, text
from agent.mcp.server.signature import SignatureError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Json = dict[str, Any]


class ResultFault(ValueError):
    """A tool returned a value that does not match its return annotation. The text says how."""


class Returns:
    """The return annotation of the function `name`.

    Data becomes structured content beside its JSON as text: models, dataclasses, TypedDict and dict as they are,
    numbers, lists and unions wrapped as `{"result": …}`, since the root must be an object. Prose is not data: `-> str`
    gives text alone (the official SDK wraps it too, and sends every text twice), as do content blocks, `Image`,
    `None` and `Any`. `structured` overrides this: False for never, True for always.
    """

    def __init__(self, name: str, hint: Any, structured: bool | None = None) -> None:
        self._name, self._hint, self._structured = name, hint, structured

    @cached_property
    def schema(self) -> Json | None:
        """`Tool.outputSchema`, or None where the result is content alone."""
        return self._shape[1] if self._shape else None

    def result(self, value: Any, revision: str) -> Json:
        """The result of `tools/call` in the form of `revision`.

        Raises:
            ResultFault: the value does not match the annotation.
        """
        value = _whole(plain(value))
        if isinstance(value, ToolResult):
            result = _unfolded(value)
        elif self._shape is None:
            result = {"content": blocks(value)}
        else:
            result = self._data(value)
        result["content"] = [block_for(block, revision) for block in result["content"]]
        if not at_least(revision, "2025-06-18"):
            result.pop("structuredContent", None)
        return result

    def _data(self, value: Any) -> Json:
        from pydantic import ValidationError

        assert self._shape is not None
        adapter, _schema, wrapped = self._shape
        try:
            checked = adapter.validate_python({"result": value} if wrapped else value)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            where = ".".join(map(str, fault["loc"])) or "the value"
            raise ResultFault(f"{self._name} returned what it does not declare: {where}: {fault['msg']}") from error
        structured = adapter.dump_python(checked, mode="json", by_alias=True)
        if not has_json_numbers(structured):
            raise ResultFault(f"{self._name} returned NaN or an infinite number, which JSON has not.")
        shown = structured["result"] if wrapped else structured
        words = shown if isinstance(shown, str) else as_json_text(shown)
        return {"content": [text(words)], "structuredContent": structured}

    @cached_property
    def _shape(self) -> tuple[TypeAdapter[Any], Json, bool] | None:
        """(the adapter, the schema, whether the value is wrapped), or None for content alone."""
        if self._structured is False or (self._structured is None and _is_content(self._hint)):
            return None
        try:
            return self._described()
        except SignatureError:
            if self._structured:
                raise
            return None

    def _described(self) -> tuple[TypeAdapter[Any], Json, bool]:
        from agent.mcp.server.schemas import adapter_of, json_schema, readable, typed_dict

        adapter = adapter_of(self._hint, self._name)
        schema = _root(json_schema(adapter, self._name, "serialization"))
        if schema.get("type") == "object":
            return adapter, schema, False
        adapter = adapter_of(typed_dict(self._name, {"result": readable(self._hint)}, ["result"]), self._name)
        schema = json_schema(adapter, self._name, "serialization")
        return adapter, {key: schema[key] for key in schema if key not in ("title", "additionalProperties")}, True


def _is_content(hint: Any) -> bool:
    """Whether values of this type are content, and not data."""
    arguments = typing.get_args(hint)
    match typing.get_origin(hint):
        case None:
            return hint in (Any, str, bytes, None, type(None), Image, Audio, ToolResult) or _of_the_protocol(hint)
        case types.UnionType | typing.Union:
            return all(map(_is_content, arguments)) or any(map(_is_block, arguments))
        case origin if origin is Annotated:
            return _is_content(arguments[0])
    return any(map(_is_block, arguments))


def _is_block(hint: Any) -> bool:
    return hint in (Image, Audio, bytes) or _of_the_protocol(hint) or any(map(_is_block, typing.get_args(hint)))


def _of_the_protocol(hint: Any) -> bool:
    return str(getattr(hint, "__module__", "")).startswith("mcp_types")


def _root(schema: Json) -> Json:
    """The schema with a reference at its root, as recursive types have it, resolved: the root must be an object."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return {**schema["$defs"][name], "$defs": schema["$defs"]} if name else schema


def _whole(value: Any) -> Any:
    """A result object in the protocol's form as a `ToolResult`."""
    if isinstance(value, dict) and isinstance(value.get("content"), list) and "isError" in value:
        return ToolResult(value["content"], value.get("structuredContent"), value["isError"], value.get("_meta"))
    return value


def _unfolded(result: ToolResult) -> Json:
    content = blocks(result.content)
    if result.structured is not None and not content:
        content = [text(as_json_text(result.structured))]
    return {
        "content": content,
        **({} if result.structured is None else {"structuredContent": result.structured}),
        **({"isError": True} if result.is_error else {}),
        **({} if result.meta is None else {"_meta": result.meta}),
    }
