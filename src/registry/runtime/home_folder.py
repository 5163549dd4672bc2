"""Paths that people write with `~`."""

from pathlib import Path


def expanded(path: str) -> Path:
    """Return the absolute path, with `~` and `~user` as home folders; as it is where there is no such user."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:
        return Path(path).absolute()
