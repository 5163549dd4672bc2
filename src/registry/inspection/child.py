"""The child process: answers one request after the other until the service closes the connection or ends.

It is started by `process`, which passes a socket. Standard input is a pipe that nothing is ever written to: its other
end closes when the service ends, however that happens, and the kernel then ends this process, whatever it is doing.
"""

import fcntl
import math
import os
import resource
import select
import socket
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from registry.findings.engine import scan_folder, scan_record
from registry.inspection.messages import (
    LENGTH,
    Answer,
    Failed,
    PackageBroken,
    PackageRead,
    ReadPackage,
    Ready,
    Request,
    ScanFolders,
    Scanned,
    ScanRecord,
    StorageFailed,
    decode_request,
    encode,
)
from registry.packages import PackageRefused, read_folder, read_zip
from registry.update_notes import Reach

_LIFELINE = 0
_SPARE_SECONDS = 2
"""How much more processor time than its limit a request may take: the service itself ends it sooner."""


def main(descriptor: int, seconds: float, memory_bytes: int) -> None:
    """Serve the socket `descriptor`; each answer may take `seconds` and the process hold `memory_bytes`."""
    _end_with_service()
    scan_record("", "", "curl")  # has the rules compiled
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit(resource.RLIMIT_AS, memory_bytes)
    with socket.socket(fileno=descriptor) as connection, connection.makefile("rb") as requests:
        connection.sendall(encode(Ready()))
        while data := _next(requests):
            for answer in _answers(decode_request(data), seconds):
                connection.sendall(_encoded(answer))


def _end_with_service() -> None:
    fcntl.fcntl(_LIFELINE, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(_LIFELINE, fcntl.F_SETFL, fcntl.fcntl(_LIFELINE, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([_LIFELINE], [], [], 0)[0]:
        raise SystemExit  # it ended before it could be told


def _limit(what: int, most: int) -> None:
    """Set a soft limit, as far as the hard one allows."""
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _next(requests: BinaryIO) -> bytes:
    """Return the next request, nothing where the service has closed the connection."""
    head = requests.read(LENGTH.size)
    return requests.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""


def _answers(request: Request, seconds: float) -> Iterator[Answer]:
    for work in request.folders if isinstance(request, ScanFolders) else [request]:
        _limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + seconds) + _SPARE_SECONDS)
        yield _answer(work)


def _answer(work: Path | ScanRecord | ReadPackage) -> Answer:
    try:
        return _done(work)
    except PackageRefused as refused:
        return PackageBroken(list(refused.findings))
    except OSError as error:
        return StorageFailed(error.errno or 0, error.strerror or "it cannot be read or written")
    except MemoryError:
        return Failed("it needs more memory than it may have")
    except Exception:
        return Failed("it cannot be read", traceback.format_exc())


def _done(work: Path | ScanRecord | ReadPackage) -> Answer:
    if isinstance(work, Path):
        return Scanned(scan_folder(work))
    if isinstance(work, ScanRecord):
        return Scanned(scan_record(work.name, work.description, work.body))
    read = read_folder if work.source.is_dir() else read_zip
    package = read(work.source, work.staged, work.limits)
    return PackageRead(package, Reach.of(package.folder))


def _encoded(answer: Answer) -> bytes:
    try:
        return encode(answer)
    except UnicodeEncodeError:  # of a file name that is not UTF-8
        return encode(Failed("the name of a file is not UTF-8"))
