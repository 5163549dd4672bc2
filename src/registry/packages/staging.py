"""The fresh folder a package is unpacked or copied into; it is gone again where that fails."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from registry.packages.tree import Entry


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


def stage(folder: Path, entry: Entry, chunks: Iterable[bytes]) -> None:
    """Write one checked entry: a folder of mode 0755, a file of mode 0755 or 0644, with the time of writing."""
    path = folder.joinpath(*entry.name.removesuffix("/").split("/"))
    for missing in _missing(path if entry.is_folder else path.parent, folder):
        missing.mkdir()
        missing.chmod(0o755)
    if entry.is_folder:
        for _ in chunks:
            pass  # a folder's content is empty, and that too is checked as it is read
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - of a descriptor
        for chunk in chunks:
            file.write(chunk)
        os.fchmod(file.fileno(), 0o755 if entry.executable else 0o644)


def _missing(folder: Path, top: Path) -> list[Path]:
    """Return which folders between `top` and this one are not there yet, the outermost first."""
    missing = []
    while folder != top and not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    return missing[::-1]
