"""The child process: answers requests until the service closes the connection or ends.

`process` starts it and passes a socket. Standard input is a pipe without data. Its other end closes when the service
ends, for whatever reason, and the kernel then terminates this process, even within a regular expression.
"""

import fcntl
import math
import os
import resource
import select
import socket
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from registry.findings.engine import scan_folder, scan_record, scan_skill_file
from registry.inspection.messages import (
    LENGTH,
    Answer,
    Failed,
    PackageBroken,
    PackageRead,
    ReadPackage,
    Ready,
    RecordTexts,
    Request,
    ScanFolders,
    Scanned,
    ScanRecords,
    ScanSkillFiles,
    StorageFailed,
    decode_request,
    encode,
)
from registry.packages.package import read_folder, read_zip
from registry.packages.refusal import PackageRefused
from registry.packages.update_diff import Footprint

_Work = Path | bytes | RecordTexts | ReadPackage

_LIFELINE = 0
_SPARE_SECONDS = 2
"""Additional CPU time for a request, so that the service, which names the reason, ends it first."""


def main(descriptor: int, seconds: float, memory_bytes: int) -> None:
    """Serve the socket `descriptor`, with at most `seconds` for each answer and `memory_bytes` of address space."""
    _end_with_service()
    scan_record("", "", "curl")  # compiles the rules
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with nullcontext() if sys.platform == "linux" else suppress(ValueError, OSError):  # macOS refuses this limit
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
        raise SystemExit  # the service ended before the signal was armed


def _limit(what: int, most: int) -> None:
    """Set a soft limit, at most the hard limit."""
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _next(requests: BinaryIO) -> bytes:
    """Return the next request, or nothing if the service has closed the connection."""
    head = requests.read(LENGTH.size)
    return requests.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""


def _answers(request: Request, seconds: float) -> Iterator[Answer]:
    for work in _works(request):
        _limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + seconds) + _SPARE_SECONDS)
        yield _answer(work)


def _works(request: Request) -> Sequence[_Work]:
    if isinstance(request, ScanFolders):
        return request.folders
    if isinstance(request, ScanSkillFiles):
        return request.skill_files
    return request.records if isinstance(request, ScanRecords) else [request]


def _answer(work: _Work) -> Answer:
    try:
        return _done(work)
    except PackageRefused as refused:
        return PackageBroken(list(refused.findings))
    except OSError as error:
        return StorageFailed(error.errno or 0, error.strerror or "the file cannot be read or written")
    except MemoryError:
        return Failed("the memory limit was exceeded")
    except Exception:  # the answer carries the traceback to the log of the service
        return Failed("the scan failed", traceback.format_exc())


def _done(work: _Work) -> Answer:
    if isinstance(work, Path):
        return Scanned(scan_folder(work))
    if isinstance(work, bytes):
        return Scanned(scan_skill_file(work))
    if isinstance(work, RecordTexts):
        return Scanned(scan_record(work.name, work.description, work.body))
    read = read_folder if work.source.is_dir() else read_zip
    package = read(work.source, work.staged, work.limits, named=work.named)
    return PackageRead(package, Footprint.of(package.folder))


def _encoded(answer: Answer) -> bytes:
    try:
        return encode(answer)
    except UnicodeEncodeError:
        return encode(Failed("a file name is not UTF-8"))
