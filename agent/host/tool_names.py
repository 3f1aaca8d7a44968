"""Tool names that every model accepts, unique among all servers and the same in every run."""

from __future__ import annotations

import hashlib
import re

LONGEST = 64
_ACCEPTED = re.compile(rf"[A-Za-z_][A-Za-z0-9_-]{{0,{LONGEST - 1}}}")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_DIGITS = 8


def shown_name(server: str, tool: str) -> str:
    """`server__tool`, or a shortened form with a hash if that is not a valid name.

    If the server's name contains the separator or ends with a part of it, a hash is always added, so that two different
    pairs never get the same name, whatever other servers there are.
    """
    plain = f"{server}__{tool}"
    if "__" in server or server.endswith("_") or not _ACCEPTED.fullmatch(plain):
        return _hashed(plain, f"{server}\0{tool}")
    return plain


def accepted_name(name: str) -> str:
    """`name` if every model accepts it, else a similar name with a hash."""
    return name if _ACCEPTED.fullmatch(name) else _hashed(name, name)


def _hashed(name: str, identity: str) -> str:
    fit = _UNFIT.sub("_", name)
    if not re.match(r"[A-Za-z_]", fit):
        fit = f"_{fit}"
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{fit[: LONGEST - _DIGITS - 1]}_{digest}"
