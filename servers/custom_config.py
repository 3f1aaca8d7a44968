"""The schema of the configuration file of `servers.custom`, and the messages for an invalid one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator


class ConfigFault(Exception):
    """The configuration cannot be used. The message is a sentence that names the file and the key."""


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str | None = None
    description: str | None = None


class Argument(BaseModel):
    """The argument for a `{placeholder}`. Without a default it is required."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str | None = None
    default: str | None = None


def _argument(value: Any) -> Any:
    return {"description": value} if isinstance(value, str) else value


Arguments = dict[str, Annotated[Argument, BeforeValidator(_argument)]]


class Tool(Table):
    """A Python function, or a command whose items may contain `{placeholders}`; `timeout` is in seconds."""

    imported: str | None = Field(None, alias="import")
    command: list[str] | None = Field(None, min_length=1)
    arguments: Arguments = {}
    timeout: float = Field(60, gt=0, le=86_400)
    annotations: dict[str, bool | str] = {}

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        _one_of(self, {"import": self.imported, "command": self.command})
        if self.imported is not None and "arguments" in self.model_fields_set:
            raise ValueError("the arguments of a function are its parameters; describe them in its docstring")
        return self


class Prompt(Table):
    """A text with `{placeholders}`."""

    template: str
    arguments: Arguments = {}


class Resource(Table):
    """A file, a text, or a folder whose files are read by their relative path."""

    uri: str | None = None
    mime_type: str | None = None
    path: str | None = None
    text: str | None = None
    folder: str | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        _one_of(self, {"path": self.path, "text": self.text, "folder": self.folder})
        return self


class Config(BaseModel):
    """A whole file. Keys outside its tables describe the server, and are read only when it starts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = "custom"
    title: str | None = None
    instructions: str | None = None
    tools: dict[str, Tool] = {}
    prompts: dict[str, Prompt] = {}
    resources: dict[str, Resource] = {}


def read_config(path: Path) -> Config:
    """Read and validate the file. Raises ConfigFault."""
    try:
        return Config.model_validate(tomllib.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        raise ConfigFault(f"{path}: there is no such file.") from None
    except OSError as error:
        raise ConfigFault(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigFault(f"{path} is not UTF-8 at byte {error.start}.") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigFault(f"{path} is no TOML: {error}.") from error
    except ValidationError as error:
        raise ConfigFault(f"{path}: {_explained(error)}") from None


def _one_of(table: Table, choices: Mapping[str, object]) -> None:
    given = [name for name, value in choices.items() if value is not None]
    if len(given) != 1:
        listed = ", ".join(choices)
        raise ValueError(f"needs one of {listed}" if not given else f"takes only one of {listed}")


def _explained(error: ValidationError) -> str:
    """The first validation error only; further ones are seldom of help."""
    fault = error.errors(include_url=False)[0]
    where = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        *parents, wrong = fault["loc"]
        close = get_close_matches(str(wrong), _keys(parents), n=1, cutoff=0.5)
        return f"{where}: there is no such key{f'; did you mean {close[0]}?' if close else '.'}"
    words = fault["msg"].removeprefix("Value error, ")
    return f"{where}: {words[0].lower()}{words[1:]}."


def _keys(parents: list[int | str]) -> list[str]:
    """The valid keys of the table at this location."""
    kinds: dict[str, type[BaseModel]] = {"tools": Tool, "prompts": Prompt, "resources": Resource}
    kind = Argument if "arguments" in parents[2:] else kinds[str(parents[0])] if parents else Config
    return [field.alias or name for name, field in kind.model_fields.items()]
