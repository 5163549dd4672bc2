"""Makes output readable where the terminal or the pipe is not UTF-8, as on Windows and in old locales."""

import codecs
import io
import sys
import unicodedata

_HANDLER = "skill-registry-readable"

_PLAIN = str.maketrans(
    {
        "…": "...",
        "–": "-",
        "—": "-",
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
        "→": "->",
        "←": "<-",
        "•": "*",
        "\ufffd": "?",
    }
)


def make_streams_readable() -> None:
    """Let standard output and error write plain letters, or `?`, for what their encoding has not."""
    codecs.register_error(_HANDLER, _readable)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not is_utf8(stream):
            stream.reconfigure(errors=_HANDLER)


def is_utf8(stream: object) -> bool:
    """Return whether a stream writes every character: its encoding is one of Unicode, or it has none."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        return codecs.lookup(encoding).name.startswith("utf")
    except LookupError:
        return False


def _readable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    plain = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    ascii_text = "".join(char if char.isascii() else "" if unicodedata.combining(char) else "?" for char in plain)
    return ascii_text, error.end
