"""The example configuration: complete, and fit to be used."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent.host.config.config import resolve
from agent.host.config.models import ProviderTable, ServerTable, Settings
from agent.host.options import Options

EXAMPLE = Path(__file__).parents[3] / "config.example.toml"


def keys(model: type[BaseModel]) -> set[str]:
    found = set()
    for name, field in model.model_fields.items():
        nested = field.annotation
        is_table = isinstance(nested, type) and issubclass(nested, BaseModel)
        found |= {f"{name}.{key}" for key in keys(nested)} if is_table else {name}  # type: ignore[arg-type]
    return found


def stated(table: dict[str, Any], model: type[BaseModel]) -> set[str]:
    found = set()
    for name, value in table.items():
        nested = model.model_fields[name].annotation
        is_table = isinstance(nested, type) and issubclass(nested, BaseModel)
        found |= {f"{name}.{key}" for key in stated(value, nested)} if is_table else {name}  # type: ignore[arg-type]
    return found


def test_it_shows_every_key_there_is() -> None:
    tables = tomllib.loads(EXAMPLE.read_text("utf-8"))
    for section, model in (("providers", ProviderTable), ("servers", ServerTable)):
        shown = set().union(*(stated(table, model) for table in tables.pop(section).values()))
        assert shown == keys(model)
    assert stated(tables, Settings) == keys(Settings)


def test_it_can_be_used_as_it_is(tmp_path: Path) -> None:
    environ = {"MCP_CHAT_DATA_DIR": str(tmp_path)}
    config = resolve(Options(config=EXAMPLE), environ, tmp_path)
    assert config.model == "openai/gpt-6.1-terra"
    assert list(config.servers) == ["demo", "mine", "remote", "shared", "robot"]
    assert config.disabled == ()
