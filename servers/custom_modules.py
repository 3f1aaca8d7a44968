"""Imports the Python modules beside a configuration file, and imports them again when one of their files changed."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

Function = Callable[..., Any]


class Modules:
    """The modules imported for a configuration file in `folder`, which is put first on `sys.path`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: set[str] = set()
        self._files: set[Path] = set()
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))

    @property
    def files(self) -> frozenset[Path]:
        """Every file that was imported, or would be imported if it existed and were valid."""
        return frozenset(self._files)

    @contextmanager
    def importing(self, *, anew: bool) -> Iterator[None]:
        """Import modules within this block, again if `anew`. If it fails, the old modules are restored."""
        others = sys.modules.keys() - self._names
        old = {name: sys.modules[name] for name in self._names if name in sys.modules}
        for name in old if anew else ():
            del sys.modules[name]
        writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # stale .pyc after a quick edit
        importlib.invalidate_caches()
        try:
            yield
            self._names = self._ours(others)
            self._files |= {Path(str(sys.modules[name].__file__)) for name in self._names}
        except BaseException:
            for name in self._ours(others):
                self._files.add(Path(str(sys.modules.pop(name).__file__)))
            sys.modules.update(old)
            raise
        finally:
            sys.dont_write_bytecode = writes_bytecode

    def function(self, spec: str) -> Function:
        """The function named by `package.module:function`.

        Raises:
            ValueError: there is no such function. The text says why.
        """
        module_name, _, name = spec.partition(":")
        if not (module_name and name):
            raise ValueError(f'{spec!r} is not like "package.module:function"')
        module = self._module(module_name)
        function = getattr(module, name, None)
        if not inspect.isroutine(function):
            raise ValueError(f"{module_name} has no function {name}")
        return function

    def _module(self, name: str) -> ModuleType:
        stem = self._folder.joinpath(*name.split("."))
        self._files |= {stem.with_name(f"{stem.name}.py"), stem / "__init__.py"}
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name and f"{name}.".startswith(f"{error.name}."):
                raise ValueError(f"there is no module {name} in {self._folder}") from error
            raise ValueError(f"importing {name} failed: {error}") from error
        except (Exception, SystemExit) as error:  # importing runs the author's code, which may raise anything
            raise ValueError(f"importing {name} failed: {self._located(error)}") from error

    def _located(self, error: BaseException) -> str:
        """The error, with its location in the folder; the files of its traceback are watched from now on."""
        frames = [(Path(frame.f_code.co_filename), line) for frame, line in walk_tb(error.__traceback__)]
        if isinstance(error, SyntaxError) and error.filename:
            frames.append((Path(error.filename), error.lineno or 0))
        places = [(file, line) for file, line in frames if self._is_ours(file)]
        self._files |= {file for file, _ in places}
        words = error.msg if isinstance(error, SyntaxError) else str(error)
        said = f"{type(error).__name__}: {words}" if words else type(error).__name__
        return said + (f" ({places[-1][0].name}, line {places[-1][1]})" if places else "")

    def _ours(self, others: set[str]) -> set[str]:
        fresh = [(name, module) for name, module in list(sys.modules.items()) if name not in others]
        return {
            name for name, module in fresh if (file := getattr(module, "__file__", None)) and self._is_ours(Path(file))
        }

    def _is_ours(self, file: Path) -> bool:
        """Whether the file is in the folder but not in site-packages, whose packages seldom support a second import."""
        return file.is_relative_to(self._folder) and "site-packages" not in file.parts
