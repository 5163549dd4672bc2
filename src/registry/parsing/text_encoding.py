"""Decodes text files of unknown origin: UTF-8, and UTF-16 as PowerShell writes it."""

import codecs
import re

BOM = "\ufeff"

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks. That of UTF-32 begins with that of UTF-16."""

_SAMPLE = 1_000
_LONE_BREAK = re.compile(r"\r+\n?")


def encoding_of(data: bytes) -> str:
    """Return the encoding of a text: by its byte order mark, else UTF-16 if every other byte is NUL, else UTF-8."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    sample = data[:_SAMPLE]
    if len(sample) < 8 or len(data) % 2:
        return "utf-8"
    nul_at_even, nul_at_odd = sample[::2].count(0), sample[1::2].count(0)
    if nul_at_odd * 10 > len(sample) * 4 and not nul_at_even:
        return "utf-16-le"
    return "utf-16-be" if nul_at_even * 10 > len(sample) * 4 and not nul_at_odd else "utf-8"


def decode(data: bytes) -> str:
    """Return the text without byte order marks. Invalid bytes become U+FFFD."""
    encoding = encoding_of(data)
    if encoding.startswith("utf-16") and len(data) % 2:
        data = data[:-1]  # cut by a limit
    return data.decode(encoding, "replace").lstrip(BOM)


def without_mark(data: bytes) -> bytes:
    """Return the bytes of a file in UTF-8 without the byte order mark that editors on Windows put before it."""
    return data.removeprefix(codecs.BOM_UTF8)


def with_line_feeds(text: str) -> str:
    """Return the text with a line feed for each line break: CRLF, CRCRLF (converted twice) and a lone CR."""
    return _LONE_BREAK.sub("\n", text) if "\r" in text else text
