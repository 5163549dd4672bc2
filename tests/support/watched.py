"""Processes under `strace`: which addresses they contact, and which files they make."""

import ipaddress
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from support.servers import COMMAND
from support.waiting import PATIENCE_SECONDS, wait_until

_CALLS = "open,openat,openat2,creat,mkdir,mkdirat,connect,sendto,sendmsg,sendmmsg"
_ADDRESS = re.compile(r'htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"')
_OPENED = re.compile(r"O_CREAT.*= \d+<([^>]+)>")
_FOLDER = re.compile(r'mkdir(?:at)?\((?:\w+(?:<[^>]*>)?, )?"(/[^"]+)".*= 0')  # git makes those below its own folder
_DNS_PORT = 53


class Watch:
    """Starts processes with an empty home and their own folder for temporary files, and reads what they did."""

    def __init__(self, folder: Path) -> None:
        self.home, self.temporary = folder / "home", folder / "temporary"
        for made in (self.home, self.temporary):
            made.mkdir()
        self._folder = folder
        self._logs: list[Path] = []

    def prefix(self) -> Sequence[str]:
        """Return what begins the command line of a watched process. The process, not strace, gets the signals."""
        self._logs.append(self._folder / f"trace-{len(self._logs)}")
        return ("strace", "-D", "-f", "-q", "-y", "-s", "0", "-e", f"trace={_CALLS}", "-o", str(self._logs[-1]))

    def environment(self, **more: str) -> dict[str, str]:
        """Return an environment with nothing of the machine but the search path."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PYTHONDONTWRITEBYTECODE": "1",
            **more,
        }

    def run(self, *arguments: str, cwd: Path, stdin: str = "", **more: str) -> str:
        """Run the command to its end and return its output."""
        done = subprocess.run(
            [*self.prefix(), COMMAND, *arguments],
            input=stdin,
            cwd=cwd,
            env=self.environment(**more),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def contacted(self) -> set[str]:
        """Return the addresses outside loopback, and every address that was asked for a name."""
        return {
            f"{address}:{port}"
            for line in self._lines()
            for port, address in _ADDRESS.findall(line)
            if int(port) == _DNS_PORT or not ipaddress.ip_address(address).is_loopback
        } | {line for line in self._lines() if "io.systemd.Resolve" in line}

    def made(self, *expected: Path) -> set[str]:
        """Return the files and folders that were made, but for compiled modules, and those below `expected`."""
        found = (_OPENED.search(line) or _FOLDER.search(line) for line in self._lines())
        paths = {Path(match[1]) for match in found if match and "__pycache__" not in match[1]}
        known = [*expected, self.temporary, Path("/dev")]
        return {str(path) for path in paths if not any(path.is_relative_to(place) for place in known)}

    def _lines(self) -> Iterator[str]:
        for log in self._logs:
            wait_until(partial(_has_ended, log))
            yield from log.read_text(errors="replace").splitlines()


def _has_ended(log: Path) -> bool:
    """Return whether every process in a log has ended."""
    last: Mapping[str, str] = dict(line.split(maxsplit=1) for line in log.read_text(errors="replace").splitlines())
    return bool(last) and all(line.startswith(("+++ exited", "+++ killed")) for line in last.values())
