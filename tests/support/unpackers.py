"""Other programs that unpack zips: what they see in an archive is compared with what we take out of it."""

import os
import re
import stat
import subprocess
import unicodedata
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

Tree = Mapping[str, bytes]
"""The files and folders below a folder: contents by path. The path of a folder ends with `/`."""

_SECONDS = 60
_UTF8 = 0x0800
_FAT, _HPFS, _NTFS_OF_2000 = 0, 6, (11, 50)
_ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


class Seen(NamedTuple):
    """What a program has unpacked. It `is_whole` unless the program reports an error."""

    tree: Tree
    is_whole: bool


Unpacker = Callable[[Path, Path], Seen]
"""Unpacks an archive into an empty folder."""


def tree(folder: Path) -> Tree:
    """Return the files and folders below a folder; of links and special files, that they are one.

    Letters and their accents are composed, as some programs do. A package has no names that differ only in that.
    """
    found = {}
    for path in folder.rglob("*"):
        name, mode = unicodedata.normalize("NFC", path.relative_to(folder).as_posix()), path.lstat().st_mode
        if stat.S_ISDIR(mode):
            found[f"{name}/"] = b""
        else:
            found[name] = path.read_bytes() if stat.S_ISREG(mode) else b"special: %o" % mode
    return found


def _program(*command: str) -> Unpacker:
    def unpack(archive: Path, folder: Path) -> Seen:
        filled = [part.format(archive=archive, folder=folder) for part in command]
        done = subprocess.run(
            filled, stdin=subprocess.DEVNULL, capture_output=True, env=_ENVIRONMENT, timeout=_SECONDS, check=False
        )
        return Seen(tree(folder), done.returncode == 0)

    return unpack


def _zipfile(archive: Path, folder: Path) -> Seen:
    try:
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                if not info.flag_bits & _UTF8:  # zipfile reads all other names as code page 437
                    info.filename = info.filename.encode("cp437").decode("utf-8")
                opened.extract(info, folder)
    except Exception:  # zipfile raises many kinds of errors for a damaged archive
        return Seen(tree(folder), is_whole=False)
    return Seen(tree(folder), is_whole=True)


UNPACKERS: Mapping[str, Unpacker] = {
    "zipfile": _zipfile,
    "unzip": _program("unzip", "-o", "-q", "{archive}", "-d", "{folder}"),
    "bsdtar": _program("bsdtar", "-xf", "{archive}", "-C", "{folder}"),
    "7z": _program("7z", "x", "-y", "-bd", "-o{folder}", "{archive}"),
}


def _converts_names(archive: Path) -> bool:
    """Return whether `unzip` takes names for those of an old code page, although they are declared as UTF-8."""
    directory = archive.read_bytes()
    for record in re.finditer(rb"PK\x01\x02(.)(.)", directory, re.DOTALL):
        version, system = record[1][0], record[2][0]
        if system in (_FAT, _HPFS) or (system, version) == _NTFS_OF_2000:
            return True
    return False


def _renamed(seen: Tree, ours: Tree) -> Tree:
    """Return a tree in which files that we do not have are ours of the same content, each once, that are missing."""
    missing = {path for path in ours if path not in seen and not path.isascii()}
    renamed = {path: data for path, data in seen.items() if path in ours}
    for path in seen.keys() - ours.keys():
        same = (other for other in missing if ours[other] == seen[path] and other.endswith("/") == path.endswith("/"))
        name = next(same, path)
        missing.discard(name)
        renamed[name] = seen[path]
    return renamed


def disagreements(archive: Path, ours: Tree, scratch: Path) -> Sequence[str]:
    """Return how the programs differ from what we took out of an archive.

    Each may see less only if it reports an error. None may see anything else.
    """
    found = []
    for name, unpack in UNPACKERS.items():
        (folder := scratch / name).mkdir()
        seen = unpack(archive, folder)
        if name == "unzip" and _converts_names(archive):
            seen = Seen(_renamed(seen.tree, ours), seen.is_whole)
        other = {path for path in seen.tree if seen.tree[path] != ours.get(path)}
        missing = ours.keys() - seen.tree.keys() if seen.is_whole else set()
        if other or missing:
            found.append(f"{name} sees {sorted(other)} otherwise and does not see {sorted(missing)}")
    return found
