"""Joins the page's ES modules into two scripts, so that a visit takes a few requests instead of one for each module.

The first script has what the page needs at once, the second what it imports later. Each module stays a scope of its
own: a function, which returns what the module exports. Understood are the statements that `ui/` uses: imports and
exports by name, each at the beginning of a line, and `import("…")` of a module.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.[^"]+)";$', re.M)
_LATER = re.compile(r'\bimport\("(\.[^"]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.M)
_EXPORTS = re.compile(r"\bexport ?\{([^}]*)\};?\s*$")
_UNKNOWN = re.compile(r"^(?:import|export)\b.*", re.M)


def bundles(modules: Mapping[str, str], first: str, later: str) -> dict[str, str]:
    """Return the scripts `first` and `later` by their paths, made of modules by their paths.

    `first` is the path of the module that the page starts with. Raises ValueError for a statement that is not
    understood, a module that does not exist, and modules that import each other.
    """
    at_once = _in_order(modules, [first], ())
    deferred = [path for name in at_once for path in _paths(_LATER, modules, name)]
    afterwards = _in_order(modules, deferred, at_once)
    place = posixpath.relpath(later, posixpath.dirname(first))
    opening = f'import {{ __modules }} from "./{posixpath.relpath(first, posixpath.dirname(later))}";\n'
    return {
        first: "export const __modules = {};\n" + "".join(_part(modules, path, first, place) for path in at_once),
        later: opening + "".join(_part(modules, path, later, place) for path in afterwards),
    }


def _in_order(modules: Mapping[str, str], roots: Iterable[str], earlier: Iterable[str]) -> list[str]:
    """Return the paths of some modules and of all that they import and that are not known, each behind its imports."""
    visited = dict.fromkeys(earlier)
    paths: list[str] = []

    def add(path: str, importing: tuple[str, ...]) -> None:
        if path in importing:
            raise ValueError(f"modules import each other: {' > '.join((*importing, path))}")
        if path in visited:
            return
        if path not in modules:
            raise ValueError(f"there is no module {path}, which {importing[-1]} imports")
        for imported in _paths(_IMPORT, modules, path):
            add(imported, (*importing, path))
        visited[path] = None
        paths.append(path)

    for path in roots:
        add(path, ())
    return paths


def _paths(statement: re.Pattern[str], modules: Mapping[str, str], path: str) -> list[str]:
    return [_path(path, match[match.re.groups]) for match in statement.finditer(modules[path])]


def _path(importing: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(importing), name))


def _part(modules: Mapping[str, str], path: str, bundle: str, later: str) -> str:
    """Return the function of one module, whose own address is as it would be alone."""
    text = modules[path]
    exported = [match[1] for match in _EXPORT.finditer(text)]
    if listed := _EXPORTS.search(text):
        exported += [": ".join(reversed(name.split(" as "))) for name in listed[1].split(",")]
    text = _EXPORTS.sub("", _EXPORT.sub("", text))
    text = _IMPORT.sub(lambda match: f'const {_unpacked(match[1])} = __modules["{_path(path, match[2])}"];', text)
    text = _LATER.sub(lambda match: f'import("./{later}").then(() => __modules["{_path(path, match[1])}"])', text)
    if unknown := _UNKNOWN.search(text):
        raise ValueError(f"{path}: this statement cannot be joined: {unknown[0]}")
    place = posixpath.relpath(path, posixpath.dirname(bundle))
    text = text.replace("import.meta.url", f'new URL("{place}", import.meta.url)')
    return f'\n__modules["{path}"] = (() => {{\n{text}\nreturn {{ {", ".join(exported)} }};\n}})();\n'


def _unpacked(names: str) -> str:
    return names.replace(" as ", ": ")
