"""The era of a server, by its answer to `server/discover`, with no I/O (section "Versioning", 2026-07-28).

A server of the stateless era returns a result. An older one may do anything: any other error, an invalid response or
none means only that the handshake has to be tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent.mcp.jsonrpc import METHOD_NOT_FOUND
from agent.mcp.lifecycle import (
    HANDSHAKE_REVISIONS,
    REVISIONS,
    STATELESS_REVISIONS,
    Agreement,
    HandshakeFailed,
    read_agreement,
)
from agent.mcp.protocol import HEADER_MISMATCH, MISSING_CAPABILITY, SERVER_KEY, UNSUPPORTED_REVISION


@dataclass(frozen=True, slots=True)
class Modern:
    """A server of the stateless era."""

    agreement: Agreement


@dataclass(frozen=True, slots=True)
class Again:
    """A server of the stateless era that requires another revision."""

    revision: str


@dataclass(frozen=True, slots=True)
class Older:
    """No answer of the stateless era. `code` is that of the error, if it was one."""

    code: int | None = None


Finding = Modern | Again | Older


def read_discovery(result: Any) -> Finding:
    """What a result of `server/discover` means.

    Raises:
        HandshakeFailed: the server supports only later revisions.
    """
    said = result if isinstance(result, dict) else {}
    if (said.get("resultType") or "complete") != "complete" or not (supported := revisions(said, "supportedVersions")):
        return Older()
    if revision := newest(supported):
        meta = said.get("_meta")
        return Modern(read_agreement(revision, said, meta.get(SERVER_KEY) if isinstance(meta, dict) else None))
    return _without_ours(supported)


def read_refusal(code: int, message: str, data: Any) -> Finding:
    """What an error in answer to `server/discover` means.

    Raises:
        HandshakeFailed: the server belongs to the stateless era, and there is no common revision of it.
    """
    if code in (HEADER_MISMATCH, MISSING_CAPABILITY):
        return Modern(undeclared())
    if code != UNSUPPORTED_REVISION:
        return Older(code)
    supported = revisions(data, "supported")
    if revision := newest(supported):
        return Again(revision)
    if not supported:
        raise HandshakeFailed(f"The server refused protocol version {STATELESS_REVISIONS[-1]}: {message}")
    return _without_ours(supported)


def is_modern_refusal(code: int, data: Any) -> bool:
    """Whether this error in answer to `initialize` is that of a server of the stateless era."""
    return code == METHOD_NOT_FOUND or (
        code == UNSUPPORTED_REVISION and newest(revisions(data, "supported")) is not None
    )


def undeclared() -> Agreement:
    """The agreement with a server of the stateless era that does not implement `server/discover`."""
    return Agreement(STATELESS_REVISIONS[-1], declared=False)


def newest(supported: Sequence[str]) -> str | None:
    """The newest revision of the stateless era that both sides speak."""
    mutual = [revision for revision in STATELESS_REVISIONS if revision in supported]
    return mutual[-1] if mutual else None


def _without_ours(supported: Sequence[str]) -> Older:
    if any(revision in HANDSHAKE_REVISIONS for revision in supported):
        return Older(UNSUPPORTED_REVISION)
    ours, theirs = ", ".join(REVISIONS), ", ".join(supported)
    raise HandshakeFailed(f"The server speaks protocol version {theirs}; this program speaks {ours}.")


def revisions(holder: Any, name: str) -> list[str]:
    """The revisions listed in a member of `holder`, which may be malformed."""
    found = holder.get(name) if isinstance(holder, dict) else None
    return [revision for revision in found if isinstance(revision, str)] if isinstance(found, list) else []
