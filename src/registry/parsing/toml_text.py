"""Reads untrusted TOML within limits."""

import tomllib
from collections.abc import Callable
from typing import Any

from registry.parsing.text_encoding import without_mark

_MAX_DOTS = 100
_MAX_MESSAGE = 200
_CONFLICT = "<<<<<<< "
"""What git writes before the first side of a conflict, at the start of a line."""


class MergeConflict(ValueError):
    """A document has conflicts of a merge, which git has marked; the message says at which line."""


def load_toml(data: bytes, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return the tables of a document, which may begin with a byte order mark.

    Raises MergeConflict, and ValueError whose message says what is wrong, and at which line, where it is not UTF-8 or
    not TOML, and for more than 100 dots in a line: tomllib keeps every beginning of a dotted key, the square of its
    length.
    """
    data = without_mark(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 text (at line {_line(data, error.start)})") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MAX_DOTS:
            raise ValueError(f"has more than {_MAX_DOTS} dots in a line (at line {number})")
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except tomllib.TOMLDecodeError as error:
        if (start := f"\n{text}".find(f"\n{_CONFLICT}")) >= 0:
            raise MergeConflict(f"has conflicts of a merge (at line {text.count(chr(10), 0, start) + 1})") from None
        place = f"(at line {_line(data, len(data))}, the end of the file)"
        raise ValueError(f"is not TOML: {_shortened(str(error).replace('(at end of document)', place))}") from None
    except ValueError:  # from int(), whose message is about Python
        raise ValueError("has a number of too many digits") from None
    except RecursionError:
        raise ValueError("is nested too deep") from None


def _shortened(message: str) -> str:
    """Return the beginning and the end of a message, which may quote a key as long as the file."""
    return (
        message if len(message) <= _MAX_MESSAGE else f"{message[: _MAX_MESSAGE // 2]}…{message[-_MAX_MESSAGE // 2 :]}"
    )


def _line(data: bytes, end: int) -> int:
    return data.count(b"\n", 0, end) + 1
