"""Revisions, the handshake, and capabilities, with no I/O (section "Lifecycle").

In the handshake era the revision is negotiated by `initialize`: the client offers one, the server answers with the same
or another, the client accepts it or disconnects. The capabilities declared there limit what may be sent afterwards:
`offers` and `objection` tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.mcp.envelope import ConnectionLost
from agent.mcp.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Params
from agent.mcp.protocol import CAPABILITIES_KEY, CLIENT_KEY, REVISION_KEY, TASKS_EXTENSION

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISIONS = ("2026-07-28",)
REVISIONS = (*HANDSHAKE_REVISIONS, *STATELESS_REVISIONS)
NEWEST_HANDSHAKE = HANDSHAKE_REVISIONS[-1]

BEFORE_RETRY = "mcp-chat/beforeRetry"
"""Set in the `_meta` of a URL elicitation that the client itself creates for an error URL_ELICITATION_REQUIRED: the
call is retried as soon as the elicitation is answered."""

Capabilities = Mapping[str, Any]
"""As on the wire: `{"tools": {"listChanged": True}}`."""


class HandshakeFailed(ConnectionLost):
    """No common revision. The text is a sentence that says why."""


class NotOffered(Exception):
    """The server did not declare the capability that the call requires. Raised locally: nothing was sent."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What was negotiated. `server` is the other side's `serverInfo`, `capabilities` what it declared.

    `declared` is False for a server that declared nothing at all: then every method may be tried.
    """

    revision: str
    capabilities: Capabilities = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    instructions: str | None = None
    declared: bool = True


def at_least(revision: str, minimum: str) -> bool:
    """Whether a revision is known, and not older than `minimum`, by the order of REVISIONS."""
    return revision in REVISIONS and REVISIONS.index(revision) >= REVISIONS.index(minimum)


# The client's part of the handshake.


def offer(revision: str, capabilities: Capabilities, client: Mapping[str, Any]) -> Params:
    """The params of `initialize`."""
    return {
        "protocolVersion": revision,
        "capabilities": declared_for(revision, capabilities),
        "clientInfo": dict(client),
    }


def accept(answer: Any, wanted: str | None = None) -> Agreement:
    """Read the result of `initialize`. Optional members may be missing or malformed.

    Raises:
        HandshakeFailed: its revision is missing, unknown, or not the one that is wanted.
    """
    result = answer if isinstance(answer, dict) else {}
    revision = result.get("protocolVersion")
    if revision not in HANDSHAKE_REVISIONS:
        named = f"answered with protocol version {revision!r}" if revision else "answered without a protocol version"
        raise HandshakeFailed(f"The server {named}; this program speaks {_listed(HANDSHAKE_REVISIONS)}.")
    if wanted and revision != wanted:
        raise HandshakeFailed(f"The server speaks protocol version {revision}, and {wanted} was asked for.")
    return read_agreement(revision, result, result.get("serverInfo"))


def read_agreement(revision: str, said: Mapping[str, Any], server: Any) -> Agreement:
    """Read the members that the results of `initialize` and `server/discover` have in common."""
    instructions = said.get("instructions")
    return Agreement(
        revision,
        _read_capabilities(said.get("capabilities")),
        _object(server),
        instructions if isinstance(instructions, str) else None,
    )


def next_offer(message: str, data: Any, offered: Sequence[str]) -> str | None:
    """The revision to try after `initialize` was refused with this error; None if it was not about the revision.

    Servers name what they support in `data.supported`, or only in the text; those that name nothing get the next
    older one.
    """
    supported = _object(data).get("supported")
    named = supported if isinstance(supported, list) else re.findall(r"\b\d{4}-\d{2}-\d{2}\b", message)
    if not named and "version" not in message.lower():
        return None
    others = [name for name in named if name not in offered]
    candidates = [known for known in HANDSHAKE_REVISIONS if known not in offered and (known in others or not others)]
    return candidates[-1] if candidates else None


def refused(message: str, offered: Sequence[str]) -> HandshakeFailed:
    """The error for a server that refused every offer."""
    return HandshakeFailed(f"The server refused protocol version {_listed(offered)}: {message}")


# The stateless era has no handshake: every request carries client info, capabilities and revision.


def request_meta(revision: str, capabilities: Capabilities, client: Mapping[str, Any]) -> dict[str, Any]:
    """The `_meta` of each request (section "Overview, `_meta`", 2026-07-28)."""
    return {
        REVISION_KEY: revision,
        CAPABILITIES_KEY: declared_for(revision, capabilities),
        CLIENT_KEY: dict(client),
    }


# The server's part.


def settle(requested: object) -> str:
    """The revision a server responds with to an offer: the same if it supports it, else its newest."""
    return requested if isinstance(requested, str) and requested in HANDSHAKE_REVISIONS else NEWEST_HANDSHAKE


# Capabilities.

NEEDED: Mapping[str, tuple[str, ...]] = {
    "tools/list": ("tools",),
    "tools/call": ("tools",),
    "resources/list": ("resources",),
    "resources/templates/list": ("resources",),
    "resources/read": ("resources",),
    "resources/subscribe": ("resources", "subscribe"),
    "resources/unsubscribe": ("resources", "subscribe"),
    "prompts/list": ("prompts",),
    "prompts/get": ("prompts",),
    "logging/setLevel": ("logging",),
    "completion/complete": ("completions",),
    "tasks/cancel": ("tasks", "cancel"),  # as 2025-11-25 has it
}
"""The server capability that a client's request requires, as a path. Other methods require none."""


def offers(agreement: Agreement, method: str) -> bool:
    """Whether the server declared the capability that `method` requires."""
    if not agreement.declared:
        return True
    if method == "completion/complete" and not at_least(agreement.revision, "2025-03-26"):
        return True  # the first revision has completion, and no capability for it
    return declares(agreement.capabilities, *NEEDED.get(method, ()))


def declares(capabilities: Capabilities, *path: str) -> bool:
    """Whether the capability at this path was declared: `declares(c, "resources", "subscribe")`."""
    value: Any = capabilities
    for name in path:
        value = _object(value).get(name)
        if value is None or value is False:
            return False
    return True


def declared_for(revision: str, capabilities: Capabilities) -> dict[str, Any]:
    """A client's capabilities in the shape `revision` has for them."""
    shaped = {name: value for name, value in capabilities.items() if value is not None}
    if not at_least(revision, "2025-06-18"):
        shaped.pop("elicitation", None)
    if revision in STATELESS_REVISIONS:
        shaped |= {"roots": {}} if "roots" in shaped else {}
        shaped["extensions"] = {TASKS_EXTENSION: {}, **_object(shaped.get("extensions"))}
        shaped.pop("tasks", None)
    if not at_least(revision, "2025-11-25"):
        shaped |= {name: {} for name in ("sampling", "elicitation") if name in shaped}
        shaped.pop("tasks", None)
    return shaped


def objection(method: str, params: Params, capabilities: Capabilities, revision: str) -> tuple[int, str] | None:
    """Error code and text if a client that declared `capabilities` refuses this request of the server; None if not."""
    declared = declared_for(revision, capabilities)
    capability = CLIENT_METHODS.get(method)
    if capability is None or not declares(declared, capability):
        return METHOD_NOT_FOUND, f"this client does not offer {method}"
    mode = params.get("mode") or "form"
    if capability == "elicitation" and not _takes_mode(mode, declared[capability]):
        return INVALID_PARAMS, f"this client did not declare elicitation mode {mode!r}"
    wants_tools = capability == "sampling" and (params.get("tools") or params.get("toolChoice"))
    if wants_tools and not declares(declared, "sampling", "tools"):
        return INVALID_PARAMS, "this client did not declare sampling.tools"
    return None


def shaped(method: str, result: Mapping[str, Any], revision: str) -> Mapping[str, Any]:
    """A client's result in the shape of `revision`: before 2025-11-25 a sampled message has one block, not a list."""
    content = result.get("content")
    if method != "sampling/createMessage" or at_least(revision, "2025-11-25") or not isinstance(content, list):
        return result
    texts = [block["text"] for block in content if block.get("type") == "text"]
    return {**result, "content": content[0] if len(content) == 1 else {"type": "text", "text": "\n".join(texts)}}


CLIENT_METHODS: Mapping[str, str] = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
"""The client capability that a server's request requires."""


def _takes_mode(mode: object, elicitation: Any) -> bool:
    """An empty capability means forms only."""
    return mode in list(_object(elicitation) or {"form": {}})


def _read_capabilities(value: Any) -> dict[str, Any]:
    """A peer's capabilities: null and false count as not declared, true as an empty object."""
    return {
        name: {} if settings is True else settings
        for name, settings in _object(value).items()
        if settings is not None and settings is not False
    }


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(revisions: Sequence[str]) -> str:
    return ", ".join(revisions)
