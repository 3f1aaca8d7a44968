"""The Python modules beside a configuration file, imported anew when a file of theirs changed."""

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
    """What was imported for a file in `folder`, which comes first on the path, as the folder of a script does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: set[str] = set()
        self._files: set[Path] = set()
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))

    @property
    def files(self) -> frozenset[Path]:
        """Every file that was imported, or would have been if it were there and right."""
        return frozenset(self._files)

    @contextmanager
    def importing(self, *, anew: bool) -> Iterator[None]:
        """In this block modules are imported; `anew`, as their files are now. If it fails, the old ones stay."""
        others = sys.modules.keys() - self._names
        old = {name: sys.modules[name] for name in self._names if name in sys.modules}
        for name in old if anew else ():
            del sys.modules[name]
        writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # it would outlive a quick edit
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
        """The function that `package.module:function` names.

        Raises:
            ValueError: there is none. The text says why.
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
        except (Exception, SystemExit) as error:  # what runs here is the author's module, and it may raise anything
            raise ValueError(f"importing {name} failed: {self._located(error)}") from error

    def _located(self, error: BaseException) -> str:
        """What was raised, and where in the folder; that place is watched from now on."""
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
        """What is installed in the folder belongs to others: such packages seldom bear to be imported twice."""
        return file.is_relative_to(self._folder) and "site-packages" not in file.parts
