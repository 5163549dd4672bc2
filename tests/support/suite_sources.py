"""Reads from the sources of the tests what each of them imports and uses."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path

_IMPORT = re.compile(r"^(?:import ([\w.]+)|from ([\w.]+) import (\([^)]*\)|.*))", re.MULTILINE)
_NAME = re.compile(r"\w+")
_ENTRY = re.compile(r"^([\w.-]+)==", re.MULTILINE)
_INSTALLED = ("core", "languages", "model", "build", "test")
"""The constraints files of what `make test-fast` installs."""
_STARTERS = ("subprocess", "multiprocessing", "pty", "registry.services.container")
"""Modules that start processes: what uses them is outside. The parts of the container do so when it opens."""
_FORKS = frozenset({"fork", "forkpty", "posix_spawn", "system", "import_module"})
"""The functions that do, of `os`, and the one that imports what the source does not show."""
_STARTING = re.compile(r"^(?:import|from) (?:subprocess|multiprocessing)\b", re.MULTILINE)

Symbol = tuple[Path, str]


class SuiteSources:
    """The modules of the tests and of the service, each read once."""

    def __init__(self, tests: Path) -> None:
        self._tests = tests
        self._roots = (tests, tests.parent / "src")
        # A method that is cached by the instance: the process has one.
        self._module = cache(Module)
        self._path = cache(self._path_of)
        self._edges = cache(self._edges_of)
        self._imports = cache(self._imports_of)
        self.loads = cache(self._can_load)
        self._imports_starter = cache(lambda path: bool(_STARTING.search(path.read_text())))

    def is_outside(self, path: Path, name: str) -> bool:
        """Return whether a function, class or value of a test's module, or anything it uses, starts a process."""
        pending, seen = [(path, name)], set[Symbol]()
        while pending:
            symbol = pending.pop()
            if symbol not in seen:
                seen.add(symbol)
                leaves, used = self._edges(symbol)
                if leaves:
                    return True
                pending += used
        return False

    def _edges_of(self, symbol: Symbol) -> tuple[bool, set[Symbol]]:
        """Return whether a definition itself uses what is outside, and the definitions of the tests that it uses."""
        path, name = symbol
        targets = {self._target(path, used) for used in self._module(path).uses(name)}
        return True in targets, {target for target in targets if isinstance(target, tuple)}

    def _target(self, path: Path, used: str) -> Symbol | bool:
        """Return what a name in a module is: a definition in the tests, or whether it is outside."""
        module = self._module(path)
        if used in module.definitions:
            return path, used
        origin = used.removeprefix("import ") if used.startswith("import ") else module.imports.get(used, "builtins")
        holder, _, name = origin.rpartition(".")
        home = self._path(holder)
        if home and home.is_relative_to(self._tests) and self._path(origin) is None:
            return home, name
        return self._is_outside_package(origin)

    def _is_outside_package(self, origin: str) -> bool:
        top = origin.partition(".")[0]
        if f"{origin}.".startswith(tuple(f"{name}." for name in _STARTERS)) or origin.removeprefix("os.") in _FORKS:
            return True
        path = self._path(origin) or self._path(origin.rpartition(".")[0])
        if path is None:
            return self._is_missing(top)
        return not self.loads(path) or (not path.is_relative_to(self._tests) and self._starts(path))

    def _starts(self, path: Path) -> bool:
        """Return whether a module of the service, or one of the same package that it imports, starts processes."""
        near = {module for module in self._imports(path)[0] if module.parent == path.parent}
        return any(map(self._imports_starter, {path} | near))

    def _can_load(self, path: Path) -> bool:
        """Return whether the module can be imported where only the packages of the fast set are installed."""
        pending, seen = {path}, set[Path]()
        while pending:
            module = pending.pop()
            seen.add(module)
            ours, others = self._imports(module)
            if others:
                return False
            pending |= ours - seen
        return True

    def _imports_of(self, path: Path) -> tuple[set[Path], set[str]]:
        """Return the modules of ours that a module imports, and the packages of others that are not there."""
        places = {name: set(self._paths(name)) for name in self._module(path).loads}
        others = {name.partition(".")[0] for name, paths in places.items() if not paths}
        return set().union(*places.values()), {name for name in others if self._is_missing(name)}

    def _paths(self, name: str) -> Iterator[Path]:
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            if path := self._path(".".join(parts[:count])):
                yield path

    def _path_of(self, name: str) -> Path | None:
        places = [root / name.replace(".", "/") for root in self._roots] if name else []
        files = [file for place in places for file in (place.with_name(place.name + ".py"), place / "__init__.py")]
        return next((file for file in files if file.is_file()), None)

    def _is_missing(self, package: str) -> bool:
        return package not in sys.stdlib_module_names and package not in self._installed

    @cached_property
    def _installed(self) -> frozenset[str]:
        folder = self._tests.parent / "constraints"
        locked = {_plain(name) for file in _INSTALLED for name in _ENTRY.findall((folder / f"{file}.txt").read_text())}
        return frozenset(
            package
            for package, distributions in metadata.packages_distributions().items()
            if any(_plain(name) in locked for name in distributions)
        )


class Module:
    """One module: what it imports when it is imported, and what each of its top-level names uses."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text = path.read_text()
        self.loads = frozenset(_imported(self._text))

    @cached_property
    def _statements(self) -> list[ast.stmt]:
        return ast.parse(self._text).body

    @cached_property
    def imports(self) -> dict[str, str]:
        """What each imported name is, dotted."""
        return dict(origin for statement in self._statements for origin in _origins(statement))

    @cached_property
    def definitions(self) -> dict[str, list[ast.stmt]]:
        """The statements that define each top-level name."""
        defined: dict[str, list[ast.stmt]] = {}
        for statement in self._statements:
            for name in _defined(statement):
                defined.setdefault(name, []).append(statement)
        return defined

    def uses(self, name: str) -> set[str]:
        """Return the names that a definition uses; `import a.b` for each import within it."""
        used: set[str] = set()
        for statement in self.definitions.get(name, ()):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name):
                    used.add(node.id)
                elif isinstance(node, ast.Attribute) and node.attr in _FORKS:
                    used.add(f"import os.{node.attr}")
                elif isinstance(node, ast.Import | ast.ImportFrom):
                    used |= {f"import {origin}" for _, origin in _origins(node)}
        return used


def _imported(text: str) -> Iterator[str]:
    for module, holder, names in _IMPORT.findall(text):
        yield module or holder
        yield from (f"{holder}.{name}" for name in _NAME.findall(names) if holder and name)


def _origins(statement: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            yield (alias.asname or alias.name.partition(".")[0], alias.name)
    elif isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            yield (alias.asname or alias.name, f"{statement.module}.{alias.name}")


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif not isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
