"""Commands on a terminal of a given width, as a person sees them."""

import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from pathlib import Path

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], columns: int = 80, *, errors: bool = False
) -> tuple[int, str]:
    """Run a command to its end, with a terminal as standard output. Return the exit code and the screen, in styles.

    With `errors`, the terminal is standard error too.
    """
    reader, writer = pty.openpty()
    try:
        ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        variables = {"TERM": "xterm", **environment}
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer if errors else None,
        )
        os.close(writer)
        screen = b"".join(iter(lambda: _read(reader), b""))
    finally:
        os.close(reader)
    return process.wait(), screen.decode().replace("\r\n", "\n")


def plain(screen: str) -> str:
    """Return a screen without styles."""
    return _STYLE.sub("", screen)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux reports so that no process has the terminal open
        return b""
