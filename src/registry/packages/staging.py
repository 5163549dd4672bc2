"""The staging folder that a package is unpacked or copied into. It is removed on failure."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from registry.packages.tree import PackageEntry


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Create the folder, and remove it with its contents if the block raises. Raises OSError."""
    folder.mkdir(mode=0o755)
    try:
        folder.chmod(0o755)  # whatever the umask
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def stage(folder: Path, entry: PackageEntry, chunks: Iterable[bytes]) -> None:
    """Write one checked entry: folders with mode 0755, files with mode 0755 or 0644."""
    path = folder / entry.name
    if entry.is_folder:
        _make_folders(path, folder)
        for _ in chunks:
            pass  # reading checks that a folder has no content
        return
    with _created(path, folder) as file:
        for chunk in chunks:
            file.write(chunk)
        os.fchmod(file.fileno(), 0o755 if entry.executable else 0o644)


def _created(path: Path, top: Path) -> BinaryIO:
    """Return a new file, open for writing. Missing folders below `top` are created."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o644)
    except FileNotFoundError:
        _make_folders(path.parent, top)
        descriptor = os.open(path, flags, 0o644)
    return open(descriptor, "wb")  # noqa: PTH123 - of a descriptor


def _make_folders(folder: Path, top: Path) -> None:
    if folder != top and not folder.is_dir():
        _make_folders(folder.parent, top)
        folder.mkdir()
        folder.chmod(0o755)
