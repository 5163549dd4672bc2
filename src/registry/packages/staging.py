"""The fresh folder a package is unpacked or copied into; it is gone again where that fails."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from registry.packages.tree import PackageEntry


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Make the folder for the block, and remove it with all it holds where the block raises. Raises OSError."""
    folder.mkdir(mode=0o755)
    try:
        folder.chmod(0o755)  # whatever the umask
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def stage(folder: Path, entry: PackageEntry, chunks: Iterable[bytes]) -> None:
    """Write one checked entry: a folder of mode 0755, a file of mode 0755 or 0644, with the time of writing."""
    path = folder / entry.name
    if entry.is_folder:
        _make_folders(path, folder)
        for _ in chunks:
            pass  # a folder's content is empty, and that too is checked as it is read
        return
    with _created(path, folder) as file:
        for chunk in chunks:
            file.write(chunk)
        os.fchmod(file.fileno(), 0o755 if entry.executable else 0o644)


def _created(path: Path, top: Path) -> BinaryIO:
    """Return a new file, open for writing; folders between `top` and it are made where they are not there yet."""
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
