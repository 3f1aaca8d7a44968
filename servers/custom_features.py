"""Converts the tables of a configuration file to the functions that a server registers."""

from __future__ import annotations

import mimetypes
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, Signature
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import anyio

from agent.mcp import Server
from servers.custom_config import Argument, Prompt, Resource, Tool
from servers.custom_modules import Function

LARGEST_FILE = 16 * 1024 * 1024  # bytes; a file is sent whole, in one message
SHOWN_PATHS = 100  # files of a folder that are returned as completions
VISITED_PATHS = 10_000

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class Feature:
    """One table: `key` is its path in the file, `folder` the file's folder, `imported` the function that it names.

    Features that are equal look the same to a client.
    """

    key: str
    table: Tool | Prompt | Resource
    folder: Path
    imported: Function | None = None

    @property
    def name(self) -> str:
        return self.key.partition(".")[2]

    @property
    def uri(self) -> str:
        """The URI of a resource; a folder's is a template that ends with the path of a file."""
        assert isinstance(self.table, Resource)
        uri = self.table.uri or f"custom://{self.name}"
        return uri if self.table.folder is None else uri.rstrip("/") + "/{+path}"

    @property
    def file(self) -> Path | None:
        """The one file that a resource returns."""
        return self._at(self.table.path) if isinstance(self.table, Resource) else None

    @property
    def directory(self) -> Path | None:
        """The folder whose files a resource returns."""
        return self._at(self.table.folder) if isinstance(self.table, Resource) else None

    def _at(self, path: str | None) -> Path | None:
        return None if path is None else self.folder / Path(path).expanduser()


def offer(server: Server, feature: Feature) -> None:
    """Register a feature on the server.

    Raises:
        ValueError, TypeError: it cannot be registered. The text says why.
    """
    table = feature.table
    about: dict[str, Any] = {"title": table.title, "description": table.description}
    match table:
        case Tool():
            function = feature.imported or _shaped(
                _command(table, feature.folder), table.command or [], table.arguments
            )
            server.tool(name=feature.name, annotations=table.annotations or None, **about)(function)
        case Prompt():
            function = _shaped(partial(fill, table.template), [table.template], table.arguments)
            server.prompt(name=feature.name, **about)(function)
        case Resource():
            mime_type = table.mime_type or _guessed(table)
            register = server.resource(feature.uri, name=feature.name, mime_type=mime_type, **about)
            register(_reader(feature, table))
            if folder := feature.directory:
                server.completion(feature.uri, "path")(partial(_paths_in, folder))


def withdraw(server: Server, feature: Feature) -> None:
    match feature.table:
        case Tool():
            server.remove_tool(feature.name)
        case Prompt():
            server.remove_prompt(feature.name)
        case Resource():
            server.remove_resource(feature.uri)


def fill(template: str, /, **values: str) -> str:
    """The template with values for its `{placeholders}`. Other braces are kept, also those within values."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], template)


def _shaped(function: Function, templates: list[str], described: Mapping[str, Argument]) -> Function:
    """Give the function a signature with one string parameter for each placeholder."""
    names = list(dict.fromkeys(name for template in templates for name in _PLACEHOLDER.findall(template)))
    if unused := described.keys() - names:
        raise ValueError(f"arguments.{min(unused)}: there is no {{{min(unused)}}} to put it in")
    arguments = {name: described.get(name, Argument()) for name in names}

    defaults = {name: argument.default for name, argument in arguments.items() if argument.default is not None}

    def shaped(**values: str) -> Any:
        return function(**defaults | values)

    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name, Parameter.empty)) for name in names
    ]
    made: Any = shaped
    made.__signature__ = Signature(parameters)
    made.__annotations__ = {
        name: Annotated[str, argument.description] if argument.description else str
        for name, argument in arguments.items()
    }
    return shaped


def _command(tool: Tool, folder: Path) -> Function:
    """Run the command without a shell: a value is one argument, or a part of one, whatever characters it contains."""

    async def run(**values: str) -> str:
        command = [fill(item, **values) for item in tool.command or []]
        try:
            with anyio.fail_after(tool.timeout):
                ended = await anyio.run_process(command, stdin=subprocess.DEVNULL, check=False, cwd=folder)
        except TimeoutError:
            raise TimeoutError(f"{command[0]} was stopped after {tool.timeout:g} seconds.") from None
        except OSError as error:
            raise OSError(f"{command[0]} cannot be started: {error.strerror}.") from error
        if ended.returncode:
            words = (ended.stderr or ended.stdout).decode("utf-8", "replace").strip()
            raise RuntimeError(f"{command[0]} ended with code {ended.returncode}. {words}".strip())
        return ended.stdout.decode("utf-8", "replace")

    return run


def _reader(feature: Feature, resource: Resource) -> Function:
    if file := feature.file:
        return lambda: _contents(file)
    if folder := feature.directory:
        return _folder_reader(folder)
    return lambda: resource.text


def _folder_reader(folder: Path) -> Function:
    def read(path: str) -> str | bytes | None:
        file = (folder / path).resolve()  # symbolic links are resolved before the check
        hidden = any(part.startswith(".") for part in Path(path).parts)
        return None if hidden or not file.is_relative_to(folder.resolve()) else _contents(file)

    return read


def _contents(file: Path) -> str | bytes | None:
    """The file as text if it is UTF-8, else as bytes; None if there is no such file."""
    if not file.is_file():
        return None
    if (size := file.stat().st_size) > LARGEST_FILE:
        raise ValueError(f"{file.name} has {size:,} bytes, more than the {LARGEST_FILE:,} that are sent")
    data = file.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _paths_in(folder: Path, value: str) -> list[str]:
    """The files in a folder whose relative path begins with `value`."""
    paths = (path for path in islice(_visible(folder), VISITED_PATHS) if path.startswith(value))
    return sorted(islice(paths, SHOWN_PATHS))


def _visible(folder: Path) -> Iterator[str]:
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(where, name).relative_to(folder).as_posix() for name in sorted(files) if name[0] != ".")


def _guessed(resource: Resource) -> str | None:
    if resource.text is not None:
        return "text/plain"
    return mimetypes.guess_type(resource.path)[0] if resource.path else None
