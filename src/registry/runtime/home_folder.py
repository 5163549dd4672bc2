"""Paths that people write: with `~`, and with `..`."""

import os
from pathlib import Path


def expanded(path: str) -> Path:
    """Return the absolute path, with `~` and `~user` as home folders; as it is where there is no such user.

    It has no `..`: behind a link, that is the folder above the one to which the link leads, and not above the link.
    """
    try:
        place = Path(path).expanduser().absolute()
    except RuntimeError:
        place = Path(path).absolute()
    if ".." not in place.parts:
        return place
    plain, real = Path(os.path.normpath(place)), Path(os.path.realpath(place))
    return plain if os.path.realpath(plain) == str(real) else real
