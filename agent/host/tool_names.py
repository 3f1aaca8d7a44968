"""Names for tools that every model accepts, unique among all servers and the same at every start."""

from __future__ import annotations

import hashlib
import re

LONGEST = 64
_ACCEPTED = re.compile(rf"[A-Za-z_][A-Za-z0-9_-]{{0,{LONGEST - 1}}}")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_DIGITS = 8


def shown_name(server: str, tool: str) -> str:
    """`server__tool`, or that with a hash where it does not fit.

    A server whose own name holds the separator, or ends with a part of it, always gets the hash: so no two pairs can
    meet in one name, whatever other servers there are.
    """
    plain = f"{server}__{tool}"
    if "__" in server or server.endswith("_") or not _ACCEPTED.fullmatch(plain):
        return _hashed(plain, f"{server}\0{tool}")
    return plain


def accepted_name(name: str) -> str:
    """`name` if every model accepts it, else one like it with a hash."""
    return name if _ACCEPTED.fullmatch(name) else _hashed(name, name)


def _hashed(name: str, identity: str) -> str:
    fit = _UNFIT.sub("_", name)
    if not re.match(r"[A-Za-z_]", fit):
        fit = f"_{fit}"
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{fit[: LONGEST - _DIGITS - 1]}_{digest}"
