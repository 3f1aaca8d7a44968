"""Assembles streamed tool calls from the deltas of the various Chat Completions servers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json

from agent.chat.messages import ToolCall
from agent.providers.content import CallIds

Json = dict[str, Any]


@dataclass(slots=True)
class _Slot:
    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extra: Json = field(default_factory=dict)

    @property
    def raw(self) -> str:
        return "".join(self.pieces)

    @property
    def is_whole(self) -> bool:
        """Whether the arguments so far are complete JSON. Only then may the next delta begin another call."""
        return bool(self.pieces) and ToolCall.parse("", "", self.raw).arguments is not None


class ToolDeltas:
    """A delta is assigned by its id, else by its index, else to the most recent call."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []

    def feed(self, deltas: Iterable[Json]) -> None:
        """Add the deltas of one chunk."""
        for place, delta in enumerate(deltas):
            function = delta.get("function") or {}
            name, piece = function.get("name") or "", _written(function.get("arguments"))
            slot = self._slot(delta.get("id") or "", delta.get("index"), name, piece, is_first=place == 0)
            slot.id, slot.name = slot.id or delta.get("id") or "", slot.name or name
            slot.pieces.append(piece)
            slot.extra |= {key: value for key, value in delta.items() if key not in ("index", "id", "type", "function")}

    def calls(self, ids: CallIds) -> list[tuple[ToolCall, Json]]:
        """Each call, with the non-standard fields that its server sent and requires back."""
        return [(ToolCall.parse(ids.claim(slot.id), slot.name, slot.raw), slot.extra) for slot in self._slots]

    def _slot(self, id: str, index: int | None, name: str, piece: str, *, is_first: bool) -> _Slot:
        if id:
            found = self._of_id(id, index, name, piece)
        elif index is not None:
            found = self._at(index) or (None if name else self._last)
        else:
            begins = name and not (is_first and (self._last is None or not self._last.is_whole))
            found = None if begins else self._last
        if found is None:
            found = _Slot(index)
            self._slots.append(found)
        return found

    def _of_id(self, id: str, index: int | None, name: str, piece: str) -> _Slot | None:
        found = next((slot for slot in reversed(self._slots) if slot.id == id), None)
        if found is None:
            unnamed = self._at(index)
            return unnamed if unnamed is not None and not unnamed.id and not name else None
        if index is not None:
            is_another = bool(name) and index != found.index
        else:
            is_another = bool(name and piece) and found.is_whole
        return None if is_another else found  # some servers give all calls the same id

    def _at(self, index: int | None) -> _Slot | None:
        return next((slot for slot in reversed(self._slots) if index is not None and slot.index == index), None)

    @property
    def _last(self) -> _Slot | None:
        return self._slots[-1] if self._slots else None


def _written(arguments: object) -> str:
    """Some servers send an object where the format requires a JSON string."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else to_json(arguments).decode()
