"""What a skill's files other than SKILL.md may lack: names that are text, and contents in place of pointers."""

from collections.abc import Sequence
from pathlib import Path

from registry.domain.file_names import is_text, printable_name
from registry.domain.lfs_pointers import POINTER_BYTES, is_lfs_pointer
from registry.skill_folder.tree import FileEntry

_MAX_SHOWN = 5


def file_warnings(folder: Path, files: Sequence[FileEntry]) -> list[str]:
    """Return the warnings about the files of a folder: names that are not UTF-8, and pointers instead of contents."""
    warnings = []
    invalid = [file.path for file in files if not is_text(file.path)]
    if invalid:
        example = printable_name(invalid[0])[:200]
        what = "file names are not UTF-8, so these files cannot be downloaded; for example"
        warnings.append(f"{len(invalid)} {what} {example}")
    pointers = [printable_name(file.path) for file in files if file.size in POINTER_BYTES and _is_pointer(folder, file)]
    if pointers:
        more = ", …" if len(pointers) > _MAX_SHOWN else ""
        what = (
            "is a pointer of git LFS, not the file: its content is not fetched; get it with git lfs"
            if len(pointers) == 1
            else "are pointers of git LFS, not the files: their contents are not fetched; get them with git lfs"
        )
        warnings.append(f"{', '.join(pointers[:_MAX_SHOWN])}{more} {what}")
    return warnings


def _is_pointer(folder: Path, file: FileEntry) -> bool:
    try:
        with (folder / file.path).open("rb") as opened:
            return is_lfs_pointer(opened.read(POINTER_BYTES.stop))
    except OSError:
        return False
