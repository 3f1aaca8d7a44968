"""Credentials kept between runs: in the system's keyring if there is one, else in a file readable by its owner only.

They are stored by authorization server and server: credentials issued by one are never sent to another (section
"Authorization, Authorization Server Binding"). The current authorization server of each server, and the metadata of
both, are not secret and are stored in separate files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.host import remembered

SERVICE = "mcp-chat"
DESCRIPTIONS = {"metadata", "resource"}
"""Fields that are not secret, and would be too long for some keyrings."""


class Credentials(BaseModel):
    """What is known about one server with OAuth.

    `expires_at` is in seconds since the epoch; `scope` was granted, `requested` was asked for. `client` is the
    registration, `metadata` the authorization server's metadata, `resource` the protected resource metadata: each as
    received, so that a later run need not request it again. `demanded` is a scope that the server required while nobody
    could be asked to sign in.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    server: str
    issuer: str
    access_token: str = Field("", repr=False)
    refresh_token: str | None = Field(None, repr=False)
    expires_at: float | None = None
    scope: str | None = None
    requested: str | None = None
    demanded: str | None = None
    client: dict[str, Any] = Field(default_factory=dict, repr=False)
    metadata: dict[str, Any] | None = Field(None, repr=False)
    resource: dict[str, Any] | None = Field(None, repr=False)

    def is_usable(self, now: float) -> bool:
        """Whether there is a token that, as far as is known, has not expired."""
        return bool(self.access_token) and (self.expires_at is None or now < self.expires_at)

    def covers(self, scope: str | None) -> bool:
        """Whether all of a scope was granted; False for None, as an unnamed scope may be larger."""
        return scope is not None and set(scope.split()) <= set((self.scope or "").split())

    @property
    def secrets(self) -> set[str]:
        """All secret values."""
        client = self.client.get("client_secret"), self.client.get("registration_access_token")
        return {text for text in (self.access_token, self.refresh_token, *client) if isinstance(text, str) and text}


class Vault(Protocol):
    """A storage of secrets by key. The methods may block."""

    def read(self, key: str) -> str | None: ...

    def write(self, key: str, secret: str) -> None: ...

    def erase(self, key: str) -> None: ...


class FileVault:
    """A file readable by its owner only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, key: str) -> str | None:
        secret = remembered.read(self._path).get(key)
        return secret if isinstance(secret, str) else None

    def write(self, key: str, secret: str) -> None:
        """Raises OSError."""
        remembered.write(self._path, remembered.read(self._path) | {key: secret})

    def erase(self, key: str) -> None:
        """Raises OSError."""
        secrets = remembered.read(self._path)
        if secrets.pop(key, None) is not None:
            remembered.write(self._path, secrets)


class KeyringVault:
    """The system's keyring, by means of the package `keyring`."""

    def __init__(self, keyring: Any) -> None:
        self._keyring = keyring

    def read(self, key: str) -> str | None:
        try:
            secret = self._keyring.get_password(SERVICE, key)
        except Exception:  # locked and not unlocked; each backend has its own exceptions
            return None
        return secret if isinstance(secret, str) else None

    def write(self, key: str, secret: str) -> None:
        """Raises OSError."""
        try:
            self._keyring.set_password(SERVICE, key, secret)
        except Exception as error:  # see `read`
            raise OSError(f"the keyring does not take it: {error}") from error

    def erase(self, key: str) -> None:
        with suppress(Exception):  # it is not there, or as in `read`
            self._keyring.delete_password(SERVICE, key)


class Store:
    """The methods may block. Data that cannot be read is treated as absent.

    A secret that the keyring rejects (locked, or too long) is stored in the file; if both have one, the file's is
    newer.
    """

    def __init__(self, data_folder: Path, keyring: Callable[[], Any]) -> None:
        self._index, self._descriptions = data_folder / "sign-ins.json", data_folder / "descriptions.json"
        self._tokens = data_folder / "tokens.json"
        self._file, self._keyring = FileVault(self._tokens), keyring

    @cached_property
    def _ring(self) -> Vault | None:
        keyring = self._keyring()
        return KeyringVault(keyring) if keyring else None

    def damaged(self) -> Path | None:
        """A file that exists but cannot be read, so that its contents are lost."""
        return next((path for path in (self._index, self._tokens) if _is_damaged(path)), None)

    def read(self, server: str) -> Credentials | None:
        """The stored credentials for a server and the authorization server last used with it."""
        issuer = remembered.read(self._index).get(server)
        if not isinstance(issuer, str):
            return None
        key = _key(issuer, server)
        secret = self._file.read(key) or (self._ring.read(key) if self._ring else None)
        described = remembered.read(self._descriptions).get(key)
        try:
            kept = Credentials.model_validate_json(secret) if secret else None
            return Credentials.model_validate({**dict(kept), **described}) if kept and described else kept
        except (ValidationError, TypeError):
            return None

    def write(self, credentials: Credentials) -> None:
        """Raises OSError."""
        key = _key(credentials.issuer, credentials.server)
        self._write_secret(key, credentials.model_dump_json(exclude=DESCRIPTIONS, exclude_none=True))
        _change(self._descriptions, key, credentials.model_dump(include=DESCRIPTIONS, exclude_none=True) or None)
        _change(self._index, credentials.server, credentials.issuer)

    def _write_secret(self, key: str, secret: str) -> None:
        if self._ring:
            try:
                self._ring.write(key, secret)
            except OSError:
                self._ring.erase(key)
            else:
                self._file.erase(key)
                return
        self._file.write(key, secret)

    def erase(self, server: str) -> bool:
        """Returns whether there was anything to delete. Raises OSError."""
        issuer = remembered.read(self._index).get(server)
        if not isinstance(issuer, str):
            return False
        key = _key(issuer, server)
        self._file.erase(key)
        if self._ring:
            self._ring.erase(key)
        _change(self._descriptions, key, None)
        _change(self._index, server, None)
        return True


def open_store(data_folder: Path, keyring: Callable[[], Any] | None = None) -> Store:
    """The store for this system. `keyring` returns the module of that name, or None if it cannot be used."""
    return Store(data_folder, keyring or usable_keyring)


def usable_keyring() -> Any:
    """The package `keyring`, if it is installed and has a usable backend. Importing it is slow."""
    try:
        keyring = import_module("keyring")
        return keyring if keyring.get_keyring().priority >= 1 else None
    except Exception:  # not installed, or the backend of this system fails in its own way
        return None


def _key(issuer: str, server: str) -> str:
    return f"{issuer} {server}"


def _is_damaged(path: Path) -> bool:
    try:
        return not isinstance(json.loads(path.read_text("utf-8")), dict)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, RecursionError):
        return True


def _change(path: Path, key: str, value: object) -> None:
    """Set a value, or delete it if it is None. Raises OSError."""
    before = remembered.read(path)
    after = {name: each for name, each in {**before, key: value}.items() if each is not None}
    if after != before:
        remembered.write(path, after)
