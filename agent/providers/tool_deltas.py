"""Puts streamed pieces of tool calls together, as the many servers of Chat Completions send them."""

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
        """Do the arguments so far make a JSON object? Only then may the next piece begin another call."""
        return bool(self.pieces) and ToolCall.parse("", "", self.raw).arguments is not None


class ToolDeltas:
    """An id says where a piece belongs, else its index does, else it goes to the call that came last."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []

    def feed(self, deltas: Iterable[Json]) -> None:
        """The pieces of one chunk."""
        for place, delta in enumerate(deltas):
            function = delta.get("function") or {}
            name, piece = function.get("name") or "", _written(function.get("arguments"))
            slot = self._slot(delta.get("id") or "", delta.get("index"), name, piece, is_first=place == 0)
            slot.id, slot.name = slot.id or delta.get("id") or "", slot.name or name
            slot.pieces.append(piece)
            slot.extra |= {key: value for key, value in delta.items() if key not in ("index", "id", "type", "function")}

    def calls(self, ids: CallIds) -> list[tuple[ToolCall, Json]]:
        """Each call, with what its server added beyond the format and wants back."""
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
        return None if is_another else found  # some servers give all calls one id

    def _at(self, index: int | None) -> _Slot | None:
        return next((slot for slot in reversed(self._slots) if index is not None and slot.index == index), None)

    @property
    def _last(self) -> _Slot | None:
        return self._slots[-1] if self._slots else None


def _written(arguments: object) -> str:
    """Some servers send an object where the format has its text."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else to_json(arguments).decode()
