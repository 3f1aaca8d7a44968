"""Finds and reads the configuration files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_config_path, user_data_path
from pydantic import ValidationError

from agent.host.config.errors import ConfigError, fault, line_of, nearest
from agent.host.config.models import Settings
from agent.host.config.values import absolute, anchor_answers

APP = "mcp-chat"
USER_FILE = "config.toml"
PROJECT_FILE = "mcp-chat.toml"
SECTIONS = (*Settings.model_fields, "providers", "servers")


@dataclass(frozen=True, slots=True)
class Layer:
    """One file. `project` marks one found in the working directory instead of named by the user."""

    path: Path
    text: str
    tables: dict[str, Any]
    project: bool = False

    @property
    def folder(self) -> Path:
        return self.path.parent

    def entries(self, section: str) -> dict[str, Any]:
        """The tables below `section`, by name, not yet validated."""
        found = self.tables.get(section, {})
        if not isinstance(found, dict):
            raise ConfigError(f"{self.path}: {section}{line_of(self.text, section)}: must be a table.")
        return found


def config_folder(environ: Mapping[str, str]) -> Path:
    return Path(environ["MCP_CHAT_CONFIG_DIR"]) if "MCP_CHAT_CONFIG_DIR" in environ else user_config_path(APP)


def data_folder(environ: Mapping[str, str]) -> Path:
    return Path(environ["MCP_CHAT_DATA_DIR"]) if "MCP_CHAT_DATA_DIR" in environ else user_data_path(APP)


def find_layers(asked: Path | None, environ: Mapping[str, str], cwd: Path) -> list[Layer]:
    """The file named by the user; else the user's and the project's, if they exist.

    Raises:
        ConfigError: a file cannot be read, is not TOML, or has an unknown table.
    """
    if asked is not None:
        return [read_layer(cwd / asked.expanduser())]
    user, project = config_folder(environ) / USER_FILE, cwd / PROJECT_FILE
    layers = [read_layer(user)] if user.exists() else []
    return [*layers, read_layer(project, project=True)] if project.exists() else layers


def read_layer(path: Path, *, project: bool = False) -> Layer:
    try:
        text = path.read_text("utf-8-sig")
        tables = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from error
    unknown = [name for name in tables if name not in SECTIONS]
    if unknown:
        said = (f"{name}{line_of(text, name)}: there is no such table.{nearest(name, SECTIONS)}" for name in unknown)
        raise ConfigError(f"{path}: {' '.join(said)}")
    return Layer(path, text, tables, project)


def settings_of(layer: Layer) -> Settings:
    """The settings of one file, without providers and servers.

    Raises:
        ConfigError: a key is unknown or has an invalid value.
    """
    tables = {name: table for name, table in layer.tables.items() if name in Settings.model_fields}
    try:
        settings = Settings.model_validate(tables)
    except ValidationError as error:
        raise ConfigError(f"{layer.path}: {fault(Settings, '', error, layer.text)}") from error
    return _anchored(settings, layer.folder)


def _anchored(settings: Settings, folder: Path) -> Settings:
    """Resolve relative paths against the folder of the file."""
    changes: dict[str, Any] = {}
    if "roots" in settings.chat.model_fields_set:
        roots = tuple(str(absolute(root, folder)) for root in settings.chat.roots)
        changes["chat"] = settings.chat.model_copy(update={"roots": roots})
    if "answer" in settings.elicitation.model_fields_set:
        answer = anchor_answers(settings.elicitation.answer, folder)
        changes["elicitation"] = settings.elicitation.model_copy(update={"answer": answer})
    return settings.model_copy(update=changes)
