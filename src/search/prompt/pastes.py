"""The request in a prompt that also holds a paste: text of a machine, such as a trace, a log, code or data."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from search.prompt.machine_lines import Form, forms

PASTE_WORDS = 25
"""The words from which lines of a machine are a paste. Fewer are part of the request: an error message, a path."""

READ_WHOLE = 20_000
"""The characters of a prompt that are read line by line. Of a longer one, its ends are, and sentences between them."""

_END = 8_000
_MOST_BETWEEN = 64
"""The lines between the ends that are read: the first and the last of those that look like sentences."""

_LONG_LINE, _PIECE = 240, 120
"""The characters from which a line is read in pieces, and of a piece."""

_SENTENCE_SHARE = 0.9
"""The share of letters and blanks from which a line between the ends looks like a sentence."""

_SENTENCE_CHARACTERS = range(16, 2000)

_WORD = re.compile(r"\w+")


class Paste(NamedTuple):
    """What a person or an agent wrote in a prompt, and the lines of machines in it that were read."""

    request: str
    pasted: str


def without_paste(text: str) -> Paste | None:
    """Return the parts of a prompt; None if it has no paste, or nothing else.

    The time is linear in the text, and a few milliseconds for a megabyte.
    """
    if "\n" not in text and len(text) <= _LONG_LINE:
        return None
    parts = [[piece for line in lines for piece in _pieces(line)] for lines in _read_lines(text)]
    marked = [pair for pieces in parts for pair in zip(forms(pieces), pieces, strict=True)]
    pasted = "\n".join(piece for form, piece in marked if form is Form.MACHINE)
    if sum(1 for _ in _WORD.finditer(pasted)) < PASTE_WORDS:
        return None
    request = "\n".join(piece for form, piece in marked if form is not Form.MACHINE).strip()
    return Paste(request, pasted) if request else None


def _read_lines(text: str) -> Sequence[Sequence[str]]:
    """Return the lines that are read, in parts of lines that follow each other."""
    if len(text) <= READ_WHOLE:
        return [text.split("\n")]
    start = text.rfind("\n", 0, _END) + 1 or _END
    stop = text.find("\n", len(text) - _END) + 1 or len(text) - _END
    return text[:start].split("\n"), _sentences(text[start:stop]), text[stop:].split("\n")


def _sentences(text: str) -> list[str]:
    """Return the first and the last of the lines that look like sentences."""
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    ends = np.append(np.flatnonzero(data == ord("\n")), len(data))
    starts = np.append(0, ends[:-1] + 1)
    lengths = ends - starts
    possible = np.flatnonzero((lengths >= _SENTENCE_CHARACTERS.start) & (lengths < _SENTENCE_CHARACTERS.stop))
    letters = np.append(0, np.cumsum(_LETTERS[data], dtype=np.int32))
    share = (letters[ends[possible]] - letters[starts[possible]]) / lengths[possible]
    rows = possible[share >= _SENTENCE_SHARE]
    if len(rows) > _MOST_BETWEEN:
        rows = np.append(rows[: _MOST_BETWEEN // 2], rows[-_MOST_BETWEEN // 2 :])
    return [bytes(data[starts[row] : ends[row]]).decode("utf-8", "replace") for row in rows]


def _letters() -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
    """Return for each byte whether it is of a letter or a blank; bytes of other scripts count as letters."""
    return np.array([byte >= 128 or chr(byte).isalpha() or byte == ord(" ") for byte in range(256)], np.uint8)


_LETTERS = _letters()


def _pieces(line: str) -> Iterator[str]:
    """Yield a line; a long one in pieces, because its beginning or end may be the request."""
    if len(line) <= _LONG_LINE:
        yield line
        return
    start, end = 0, len(line)
    while start < end:
        stop = line.find(" ", min(start + _PIECE, end))
        stop = end if stop < 0 else stop
        yield line[start:stop]
        start = stop + 1
