"""The skill and the file that a model means, where it does not write their names as they are."""

import posixpath
from collections.abc import Mapping
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

from registry.services.skill_files import PackagedFile


def meant_skill(arguments: Mapping[str, Any], *, has_versions: bool) -> dict[str, Any]:
    """Return the arguments of a tool with the id in small letters.

    Where the tool `has_versions`, that of `id@version` becomes an argument.
    """
    name = arguments.get("id")
    if not isinstance(name, str):
        return dict(arguments)
    skill_id, _, version = name.strip().lower().partition("@")
    if not (version and has_versions):
        return {**arguments, "id": name.strip().lower()}
    return {"version": version, **arguments, "id": skill_id}


def meant_file(files: Mapping[str, PackagedFile], name: str) -> PackagedFile | None:
    """Return the file with a name, or the only one that a link with this text leads to; None if there is none.

    A link may begin with `./`, end with an anchor, and have percent signs. Letters of a name can be composed or not:
    the systems on which it was made and is read differ in that, as in the cases that they tell apart.
    """
    if (file := files.get(name)) is not None:
        return file
    wanted = {_plain(name), _plain(unquote(name.partition("#")[0]))}
    meant = [file for path, file in files.items() if _plain(path) in wanted]
    return meant[0] if len(meant) == 1 else None


def _plain(path: str) -> str:
    return normalize("NFC", posixpath.normpath(path.replace("\\", "/")).lstrip("/")).casefold()
