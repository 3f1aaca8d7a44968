"""Replies read from a TOML file: one `[[turn]]` is one reply of the model."""

from __future__ import annotations

import re
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.chat.messages import ToolMessage, ToolResult
from agent.chat.provider import RETRYABLE, ErrorKind, ProviderError, Request
from agent.providers.mock.reply import Reply, last_user_text, number_calls, plain_text, write_arguments
from agent.providers.mock.words import find_by_name, find_nearest

RESULT = "{{result}}"


class Call(BaseModel):
    """If `arguments` is a string, it is used as the raw arguments, valid JSON or not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str = Field(min_length=1)
    arguments: dict[str, Any] | str = {}


class Turn(BaseModel):
    """`match` is searched for in the last user text; `wait` is in seconds; `fail` ends the reply with that error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    match: re.Pattern[str] | None = None
    text: str = ""
    calls: tuple[Call, ...] = ()
    wait: float = Field(default=0, ge=0, le=3600)
    fail: ErrorKind | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    turn: list[Turn] = Field(min_length=1)


class Script:
    """The turns not used yet, and the path of the script."""

    def __init__(self, path: Path, turns: list[Turn]) -> None:
        self._path = path
        self._left = dict(enumerate(turns, start=1))
        self._at = 0

    @classmethod
    def read(cls, path: Path) -> Script:
        """Raises ProviderError: "missing" for a file that cannot be read, else "bad_request"."""
        try:
            content = tomllib.loads(path.read_text("utf-8-sig"))
            return cls(path, _File.model_validate(content).turn)
        except OSError as error:
            raise ProviderError("missing", f"The script {path} cannot be read: {error.strerror}.") from error
        except ValidationError as error:
            raise ProviderError("bad_request", f"The script {path} has a fault: {_explain(error)}.") from error
        except ValueError as error:
            raise ProviderError("bad_request", f"The script {path} is no TOML: {error}.") from error

    def play(self, request: Request) -> Reply:
        """The next reply; its turn is not used again.

        A user message gets the next turn whose `match` occurs in it, else the next without `match`. A tool result, or a
        sampling request sent while a tool runs, gets the next turn of either kind, so that the script continues.
        """
        number = self._choose(request)
        if number is None:
            raise ProviderError("bad_request", f"The script {self._path} has no turn left for this: add a [[turn]].")
        self._at, turn = number, self._left.pop(number)
        where = f"Turn {number} of {self._path}"
        wanted = [self._call(call, request, where) for call in turn.calls]
        text = _insert_result(turn.text, request, where)
        return Reply(text, number_calls(request, wanted), turn.wait, _failure(turn.fail, where))

    def _choose(self, request: Request) -> int | None:
        text = last_user_text(request)
        ahead = sorted(self._left, key=lambda number: (number < self._at, number))
        matching = [n for n in ahead if (pattern := self._left[n].match) and pattern.search(text)]
        plain = [n for n in ahead if self._left[n].match is None]
        if request.effort == "lowest" or isinstance(next(reversed(request.messages), None), ToolMessage):
            return next((n for n in ahead if n in matching or n in plain), None)
        return next(iter(matching + plain), None)

    def _call(self, call: Call, request: Request, where: str) -> tuple[str, str]:
        tool = find_by_name(call.tool, request.tools)
        if tool is None:
            nearest = find_nearest(call.tool, request.tools)
            others = f"{len(request.tools)} others are there" if request.tools else "no tools are connected"
            hint = f"the nearest is {nearest}" if nearest else others
            raise ProviderError("bad_request", f"{where} calls {call.tool!r}, but there is no such tool; {hint}.")
        if isinstance(call.arguments, str):
            return tool.name, _insert_result(call.arguments, request, where)
        return tool.name, write_arguments(_insert_everywhere(call.arguments, request, where))


def _insert_everywhere(value: Any, request: Request, where: str) -> Any:
    match value:
        case str():
            return _insert_result(value, request, where)
        case dict():
            return {key: _insert_everywhere(item, request, where) for key, item in value.items()}
        case list():
            return [_insert_everywhere(item, request, where) for item in value]
    return value


def _insert_result(text: str, request: Request, where: str) -> str:
    if RESULT not in text:
        return text
    result = _last_result(request)
    if result is None:
        raise ProviderError("bad_request", f"{where} uses {RESULT}, but no tool has run in this conversation.")
    return text.replace(RESULT, plain_text(result.content))


def _last_result(request: Request) -> ToolResult | None:
    said = [message for message in request.messages if isinstance(message, ToolMessage) and message.results]
    return said[-1].results[-1] if said else None


def _failure(kind: ErrorKind | None, where: str) -> ProviderError | None:
    if kind is None:
        return None
    return ProviderError(
        kind, f"{where} plays the error {kind!r}: it is part of the script.", retryable=kind in RETRYABLE
    )


def _explain(error: ValidationError) -> str:
    """One error (an unknown key first), with its position in the form a person would write."""
    faults = error.errors(include_url=False)
    fault = next((each for each in faults if each["type"] == "extra_forbidden"), faults[0])
    keys = {*_File.model_fields, *Turn.model_fields, *Call.model_fields}
    place = [part + 1 if isinstance(part, int) else part for part in fault["loc"]]
    if fault["type"] != "extra_forbidden":
        return f"{' '.join(str(part) for part in place if isinstance(part, int) or part in keys)}: {fault['msg']}"
    *path, key = map(str, place)
    near = get_close_matches(key, keys, n=1)
    return f"{' '.join(path) or 'it'} has no key {key!r}" + (f", did you mean {near[0]!r}?" if near else "")
