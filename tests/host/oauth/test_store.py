"""What signing in gave us, kept: where, by whom it can be read, and what becomes of it when it is damaged."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.host.oauth.store import SERVICE, Credentials, Store, open_store

SERVER, ISSUER = "https://mcp.example/mcp", "https://login.example"


def credentials(issuer: str = ISSUER, token: str = "access-1", server: str = SERVER) -> Credentials:
    return Credentials(
        server=server,
        issuer=issuer,
        access_token=token,
        refresh_token="refresh-1",
        expires_at=1000.0,
        scope="a b",
        client={"client_id": "me", "client_secret": "secret-1"},
    )


class Keyring:
    """The package of that name, as far as it is used; `locked` is one that nobody opens."""

    class errors:
        class KeyringError(Exception):
            pass

    def __init__(self, *, locked: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self._locked = locked

    def get_password(self, service: str, name: str) -> str | None:
        self._open()
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, secret: str) -> None:
        self._open()
        self.kept[service, name] = secret

    def delete_password(self, service: str, name: str) -> None:
        self._open()
        if self.kept.pop((service, name), None) is None:
            raise self.errors.KeyringError("there is no such password")

    def unlock(self) -> None:
        self._locked = False

    def _open(self) -> None:
        if self._locked:
            raise self.errors.KeyringError("it is locked")


def in_file(folder: Path) -> Store:
    return open_store(folder, lambda: None)


def test_what_is_kept_is_found_again_by_its_server(tmp_path: Path) -> None:
    store = in_file(tmp_path)
    assert store.read(SERVER) is None
    store.write(credentials())
    store.write(credentials(server="https://other.example/mcp", token="access-2"))
    assert store.read(SERVER) == credentials()
    assert in_file(tmp_path).read("https://other.example/mcp") == credentials(
        server="https://other.example/mcp", token="access-2"
    )


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    in_file(folder).write(credentials())
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {
        "tokens.json": 0o600,
        "sign-ins.json": 0o600,
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_one_authorization_server_gave_is_not_mixed_up_with_what_another_gave(tmp_path: Path) -> None:
    store = in_file(tmp_path)
    store.write(credentials())
    store.write(credentials("https://new.example", "access-2"))
    assert store.read(SERVER) == credentials("https://new.example", "access-2")
    assert set(json.loads((tmp_path / "tokens.json").read_text())) == {
        f"{ISSUER} {SERVER}",
        f"https://new.example {SERVER}",
    }


def test_what_is_erased_is_gone(tmp_path: Path) -> None:
    store = in_file(tmp_path)
    store.write(credentials())
    assert [store.erase(SERVER), store.erase(SERVER)] == [True, False]
    assert store.read(SERVER) is None
    assert "access-1" not in (tmp_path / "tokens.json").read_text()


KEY = f"{ISSUER} {SERVER}"


@pytest.mark.parametrize("damage", ["", "{", "[]", json.dumps({KEY: 7}), json.dumps({KEY: "{}"})])
def test_a_damaged_memory_is_none(tmp_path: Path, damage: str) -> None:
    store = in_file(tmp_path)
    store.write(credentials())
    (tmp_path / "tokens.json").write_text(damage)
    assert store.read(SERVER) is None
    store.write(credentials())
    assert store.read(SERVER) == credentials()


def test_a_keyring_holds_the_secrets_and_no_file_does(tmp_path: Path) -> None:
    keyring = Keyring()
    store = open_store(tmp_path, lambda: keyring)
    store.write(credentials())
    assert store.read(SERVER) == credentials()
    assert set(keyring.kept) == {(SERVICE, f"{ISSUER} {SERVER}")}
    assert [path.name for path in tmp_path.iterdir()] == ["sign-ins.json"]
    assert json.loads((tmp_path / "sign-ins.json").read_text()) == {SERVER: ISSUER}
    assert store.erase(SERVER)
    assert keyring.kept == {}


def test_what_a_locked_keyring_does_not_take_lies_in_the_file(tmp_path: Path) -> None:
    open_store(tmp_path, Keyring).write(credentials())
    keyring = Keyring(locked=True)
    store = open_store(tmp_path, lambda: keyring)
    assert store.read(SERVER) is None
    store.write(credentials(token="access-2"))
    assert store.read(SERVER) == credentials(token="access-2")
    assert stat.S_IMODE((tmp_path / "tokens.json").stat().st_mode) == 0o600
    keyring.unlock()
    assert store.read(SERVER) == credentials(token="access-2")
    store.write(credentials(token="access-3"))
    assert "access" not in (tmp_path / "tokens.json").read_text()
    assert store.read(SERVER) == credentials(token="access-3")


class Broken(Exception):
    """Of some system's own."""


def test_a_keyring_that_is_broken_in_a_way_of_its_own_is_as_good_as_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise Broken

    keyring = Keyring()
    for name in ("get_password", "set_password", "delete_password"):
        monkeypatch.setattr(keyring, name, refuse)
    store = open_store(tmp_path, lambda: keyring)
    store.write(credentials())
    assert store.read(SERVER) == credentials()
    assert store.erase(SERVER)


def test_what_is_long_and_no_secret_is_not_put_into_the_keyring(tmp_path: Path) -> None:
    keyring = Keyring()
    store = open_store(tmp_path, lambda: keyring)
    described = credentials().model_copy(update={"metadata": {"issuer": ISSUER}, "resource": {"resource": SERVER}})
    store.write(described)
    assert store.read(SERVER) == described
    [secret] = keyring.kept.values()
    assert "metadata" not in secret
    assert len(secret.encode("utf-16-le")) < 2560  # what Windows takes
    assert "access" not in (tmp_path / "descriptions.json").read_text()
    store.erase(SERVER)
    assert (tmp_path / "descriptions.json").read_text() == "{}"


@pytest.mark.parametrize(
    "damage", ["{", json.dumps({f"{ISSUER} {SERVER}": 7}), json.dumps({f"{ISSUER} {SERVER}": {"metadata": 7}})]
)
def test_damaged_descriptions_do_no_harm(tmp_path: Path, damage: str) -> None:
    store = in_file(tmp_path)
    store.write(credentials())
    (tmp_path / "descriptions.json").write_text(damage)
    assert store.read(SERVER) in (None, credentials())


@pytest.mark.parametrize(("priority", "file"), [(0, "tokens.json"), (5, "")])
def test_a_keyring_that_is_none_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, priority: int, file: str
) -> None:
    keyring: Any = Keyring()
    keyring.get_keyring = lambda: SimpleNamespace(priority=priority)
    monkeypatch.setattr("agent.host.oauth.store.import_module", lambda name: keyring)
    open_store(tmp_path).write(credentials())
    assert (tmp_path / "tokens.json").exists() is bool(file)


def test_a_keyring_that_cannot_even_be_looked_for_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(name: str) -> Any:
        raise Broken

    monkeypatch.setattr("agent.host.oauth.store.import_module", look)
    open_store(tmp_path).write(credentials())
    assert (tmp_path / "tokens.json").exists()


def test_no_secret_stands_in_how_it_is_shown() -> None:
    shown = repr(credentials())
    assert credentials().secrets == {"access-1", "refresh-1", "secret-1"}
    assert [secret for secret in credentials().secrets if secret in shown] == []


def test_what_a_scope_covers() -> None:
    assert [credentials().covers(scope) for scope in ("a", "b a", "c", None)] == [True, True, False, False]


@pytest.mark.parametrize(("now", "usable"), [(999.0, True), (1000.0, False)])
def test_a_token_is_usable_until_it_runs_out(now: float, usable: bool) -> None:
    assert credentials().is_usable(now) is usable
    assert credentials().model_copy(update={"expires_at": None}).is_usable(now)
    assert not credentials(token="").is_usable(now)
