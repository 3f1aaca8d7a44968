"""A server defined by a configuration file with tools, prompts and resources, which is reloaded when it is edited.

Run it with `python -m servers.custom CONFIG.toml`; `examples/custom.toml` shows everything such a file may contain.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import ObjectStream

from agent.mcp import Server
from servers.custom_config import Config, ConfigFault, Prompt, Resource, Tool, read_config
from servers.custom_features import Feature, offer, withdraw
from servers.custom_modules import Function, Modules

POLL_SECONDS = 0.3  # between two polls of the files

Stamp = tuple[int, int, int] | None
"""Modification time, size and inode of a file, or None if it does not exist; a replaced file has another inode."""


class Custom:
    """A configuration file and the server built from it.

    Raises:
        ConfigFault: the file, or something it refers to, cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._modules = Modules(self._path.parent)
        self._features: dict[str, Feature] = {}
        self._fault: str | None = None
        self._turn = anyio.Lock()
        self._stamps = self._seen = stamps([self._path])
        config, features = self._load(anew=True)
        self.server = Server(
            config.name,
            title=config.title,
            instructions=config.instructions,
            lifespan=self._lifespan,
            offers=("tools", "prompts", "resources"),  # declared now: the file may get its first of a kind later
        )
        self._apply(features)

    def _load(self, *, anew: bool) -> tuple[Config, dict[str, Feature]]:
        """Read and validate the whole file. The running server is not changed."""
        config = read_config(self._path)
        with self._modules.importing(anew=anew):
            features = {feature.key: feature for feature in self._read(config)}
            anyio.run(try_out, self._path, features.values())
        return config, features

    def _read(self, config: Config) -> Iterable[Feature]:
        tables: Mapping[str, Mapping[str, Tool | Prompt | Resource]]
        tables = {"tools": config.tools, "prompts": config.prompts, "resources": config.resources}
        for kind, named in tables.items():
            for name, table in named.items():
                key = f"{kind}.{name}"
                yield Feature(key, table, self._path.parent, self._imported(key, table))

    def _imported(self, key: str, table: Tool | Prompt | Resource) -> Function | None:
        if not isinstance(table, Tool) or table.imported is None:
            return None
        try:
            return self._modules.function(table.imported)
        except ValueError as error:
            raise ConfigFault(f"{self._path}: {key}.import: {error}.") from error

    def _apply(self, features: Mapping[str, Feature]) -> None:
        """Apply the changes without an await in between, so that no client sees only some of them."""
        for key, feature in self._features.items():
            if features.get(key) != feature:
                withdraw(self.server, feature)
        for key, feature in features.items():
            if self._features.get(key) != feature:
                offer(self.server, feature)
        self._features = dict(features)
        self._stamps = self._seen = stamps(self._watched()) | self._stamps

    async def _watch(self) -> None:
        while True:
            await anyio.sleep(POLL_SECONDS)
            async with self._turn:
                await self._look()

    async def _look(self) -> None:
        """A change is applied once it is the same in two polls, because editors write files in several steps."""
        seen = await anyio.to_thread.run_sync(stamps, self._watched())
        settled, self._seen = seen == self._seen, seen
        changed = {file for file, stamp in seen.items() if stamp != self._stamps.get(file)}
        if not (settled and changed):
            return
        self._stamps = seen
        if changed & {self._path, *self._modules.files}:
            await self._reload(anew=self._fault is not None or bool(changed & self._modules.files))
        for feature in self._features.values():
            if feature.file in changed:
                self.server.notify_resource_updated(feature.uri)

    async def _reload(self, *, anew: bool) -> None:
        try:
            _, features = await anyio.to_thread.run_sync(partial(self._load, anew=anew))
        except ConfigFault as fault:
            self._fault = f"{fault} What was there before stays in use."
            self._stamps = self._seen = stamps(self._watched()) | self._stamps
            sys.stderr.write(f"custom: {self._fault}\n")
            self.server.log("warning", self._fault, logger="custom")
        else:
            self._fault = None
            self._apply(features)

    def _watched(self) -> set[Path]:
        shown = {feature.file for feature in self._features.values() if feature.file}
        return {self._path, *self._modules.files, *shown}

    @asynccontextmanager
    async def _lifespan(self, _: Server) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            yield
            tasks.cancel_scope.cancel()


async def try_out(path: Path, features: Iterable[Feature]) -> None:
    """Register every feature on a trial server, to find those that the server rejects.

    Raises:
        ConfigFault: the server rejects one of them.
    """
    server = Server("trial")
    for feature in features:
        try:
            offer(server, feature)
            await server.serve(Nobody())
        except (TypeError, ValueError) as error:
            raise ConfigFault(f"{path}: {feature.key}: {str(error).rstrip('.')}.") from error


class Nobody(ObjectStream[Any]):
    """A connection that is closed from the start."""

    async def receive(self) -> Any:
        raise anyio.EndOfStream

    async def send(self, item: Any) -> None:
        raise anyio.BrokenResourceError

    async def send_eof(self) -> None: ...

    async def aclose(self) -> None: ...


def stamps(files: Iterable[Path]) -> dict[Path, Stamp]:
    return {file: _stamp(file) for file in files}


def _stamp(file: Path) -> Stamp:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the server. Raises SystemExit: 2 if the file cannot be used, and as `Server.run` does."""
    parser = ArgumentParser("python -m servers.custom", description="An MCP server from a file.", allow_abbrev=False)
    parser.add_argument("config", type=Path, metavar="CONFIG.toml", help="tools, prompts and resources")
    known, rest = parser.parse_known_args(arguments)
    try:
        with redirect_stdout(sys.stderr):  # a module's prints on import must not reach stdout, the protocol
            custom = Custom(known.config)
    except ConfigFault as fault:
        sys.stderr.write(f"custom: {fault}\n")
        raise SystemExit(2) from None
    custom.server.run(rest)


if __name__ == "__main__":
    main()
