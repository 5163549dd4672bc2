"""Pointers of git LFS: small texts in a repository, in place of files whose contents are on another server."""

_BEGINNING = b"version https://git-lfs.github.com/spec/"

POINTER_BYTES = range(100, 1_024)
"""The sizes that a pointer may have."""


def is_lfs_pointer(data: bytes) -> bool:
    """Return whether the bytes of a file are a pointer of git LFS."""
    return len(data) in POINTER_BYTES and data.startswith(_BEGINNING)
