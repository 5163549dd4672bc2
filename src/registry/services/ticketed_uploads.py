"""Files that a caller uploads one by one, each with a signed ticket, before it publishes them together.

A ticket is for one caller and one file: its path, size and SHA-256. It is valid for 10 minutes. The files lie in the
data directory until they are published or 10 minutes old.
"""

import base64
import binascii
import contextlib
import hashlib
import hmac
import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

from registry.domain.counts import counted
from registry.errors import FieldError, RegistryError, conflict, service_unavailable, validation_error
from registry.packages.limits import DEFAULT_LIMITS
from registry.packages.packing import FilePart
from registry.packages.paths import path_faults
from registry.publish.submission import UploadReceiver
from registry.runtime.atomic_files import TEMPORARY_PREFIX
from registry.runtime.private_files import load_or_create

TICKET_SECONDS = 600

FOLDER = "ticketed-uploads"
_KEY_FILE = "upload-tickets.key"
_KEY_BYTES = 32
_NONCE_BYTES = 16
_EXPIRY_BYTES = 8
_CALLERS = 20
"""The files of so many callers are kept at a time, if each keeps as much as it may."""


class UploadedFile(NamedTuple):
    """A file of an upload, as its owner declares it. `sha256` is in hexadecimal."""

    path: str
    size: int
    sha256: str


class TicketedFile(NamedTuple):
    """A file with its ticket, and the id under which it was stored."""

    file: UploadedFile
    ticket: str
    storage_id: str


class TicketedUploads:
    """Issues tickets, and keeps the files that come with them.

    A caller may keep 2,000 files, and twice `package_bytes`.
    """

    def __init__(self, data_dir: Path, package_bytes: int, clock: Callable[[], datetime]) -> None:
        self._folder = data_dir / FOLDER
        self._key_file = data_dir / _KEY_FILE
        self._caller_bytes = 2 * package_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._receiving: dict[UploadReceiver, tuple[str, int]] = {}
        """The caller and the size of each file that is being received by this process."""

    def issue(self, file: UploadedFile, caller: str) -> str:
        """Return a ticket for a file. Raises VALIDATION_ERROR for a file that no package may have."""
        faults = [FieldError("path", fault.message) for fault in path_faults(file.path)]
        if file.size > DEFAULT_LIMITS.file_bytes:
            faults.append(FieldError("size", f"must be at most {DEFAULT_LIMITS.file_bytes:,} bytes"))
        if faults:
            raise validation_error(*faults)
        head = (self._now() + TICKET_SECONDS).to_bytes(_EXPIRY_BYTES) + secrets.token_bytes(_NONCE_BYTES)
        return base64.urlsafe_b64encode(head + self._seal(head, file, caller)).decode().rstrip("=")

    def receive(self, ticket: str, file: UploadedFile, caller: str) -> UploadReceiver:
        """Return a receiver of the bytes of a file. Raises VALIDATION_ERROR, CONFLICT, SERVICE_UNAVAILABLE."""
        self._check(ticket, file, caller)
        with self._lock:
            self._folder.mkdir(exist_ok=True)
            self._refuse_too_much(caller, file.size)
            receiver = UploadReceiver(self._folder)
            self._receiving[receiver] = (caller, file.size)
            return receiver

    def end(self, receiver: UploadReceiver) -> None:
        """Remove what was received, unless it is kept. Call it once for each receiver."""
        with self._lock:
            self._receiving.pop(receiver, None)
        receiver.discard()

    def keep(self, receiver: UploadReceiver, ticket: str, file: UploadedFile, caller: str) -> str:
        """Keep a file that was received, and return its storage id.

        Raises VALIDATION_ERROR for other bytes than those of the ticket, CONFLICT, SERVICE_UNAVAILABLE, OSError.
        """
        storage_id = self._check(ticket, file, caller)
        upload = receiver.finish(synced=False)  # after a crash, the client publishes again
        if (upload.size, upload.sha256) != (file.size, file.sha256):
            raise validation_error(FieldError("file", "must have the size and the SHA-256 that the ticket is for"))
        with self._lock:
            self._receiving.pop(receiver, None)
            self._refuse_too_much(caller, file.size)  # others may have been kept meanwhile
            upload.path.replace(self._path(storage_id, caller))
        return storage_id

    def collect(self, files: Sequence[TicketedFile], caller: str, into: BinaryIO) -> list[FilePart]:
        """Write uploaded files into one, one after the other, and return where they are.

        Raises VALIDATION_ERROR with every file that has another ticket, was not uploaded or is named again, and for
        more than a package may have: nothing is copied then.
        """
        _refuse_repeated(files)
        faults: list[FieldError] = []
        parts: list[FilePart] = []
        for number, upload in enumerate(files):
            start = into.tell()
            try:
                self._copy(upload, caller, into)
            except RegistryError as error:
                faults.append(FieldError(f"files.{number}", error.message))
            parts.append(FilePart(upload.file.path, start, upload.file.size))
        if faults:
            raise validation_error(*faults)
        return parts

    def _copy(self, upload: TicketedFile, caller: str, into: BinaryIO) -> None:
        storage_id = self._check(upload.ticket, upload.file, caller)
        if storage_id != upload.storage_id:
            raise validation_error(FieldError("storageId", "is not that of the ticket"))
        try:
            with self._path(storage_id, caller).open("rb") as stored:
                shutil.copyfileobj(stored, into)
        except FileNotFoundError:
            raise validation_error(
                FieldError("storageId", f"'{upload.file.path}' was not uploaded here: publish again")
            ) from None

    def discard(self, files: Sequence[TicketedFile], caller: str) -> None:
        """Remove the files of valid tickets: they are published, or refused."""
        for upload in files:
            with contextlib.suppress(RegistryError):
                self._path(self._check(upload.ticket, upload.file, caller), caller).unlink(missing_ok=True)

    def _check(self, ticket: str, file: UploadedFile, caller: str) -> str:
        """Return the storage id of a ticket. Raises VALIDATION_ERROR if it is not for this file and caller."""
        try:
            raw = base64.b64decode(ticket + "=" * (-len(ticket) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        head, seal = raw[: _EXPIRY_BYTES + _NONCE_BYTES], raw[_EXPIRY_BYTES + _NONCE_BYTES :]
        if not hmac.compare_digest(seal, self._seal(head, file, caller)):
            raise validation_error(FieldError("uploadTicket", f"is not one of yours for '{file.path}' of these bytes"))
        if int.from_bytes(head[:_EXPIRY_BYTES]) < self._now():
            raise validation_error(FieldError("uploadTicket", "has expired: publish again"))
        return head[_EXPIRY_BYTES:].hex()

    def _seal(self, head: bytes, file: UploadedFile, caller: str) -> bytes:
        key = load_or_create(self._key_file, lambda: secrets.token_hex(_KEY_BYTES))
        return hmac.new(key.encode(), head + json.dumps([caller, *file]).encode(), hashlib.sha256).digest()

    def _refuse_too_much(self, caller: str, more: int) -> None:
        """Remove expired files, and refuse a file that is too much. Raises CONFLICT, SERVICE_UNAVAILABLE."""
        sizes = [*self._kept(), *((_prefix(uploader), size) for uploader, size in self._receiving.values())]
        own = [size for name, size in sizes if name.startswith(_prefix(caller))]
        if len(own) >= DEFAULT_LIMITS.entries or sum(own) + more > self._caller_bytes:
            raise conflict(
                f"You have uploaded {counted(len(own), 'file')} of {sum(own):,} bytes that are not published: publish "
                f"them, or wait {TICKET_SECONDS // 60} minutes"
            )
        total = sum(size for _, size in sizes) + more
        if len(sizes) >= _CALLERS * DEFAULT_LIMITS.entries or total > _CALLERS * self._caller_bytes:
            raise service_unavailable("Too many files are uploaded and not yet published", TICKET_SECONDS)

    def _kept(self) -> list[tuple[str, int]]:
        """Return the name and size of each file that has not expired, and remove the others, also unfinished ones."""
        sizes = []
        with os.scandir(self._folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # published meanwhile
                    status = entry.stat()
                    if status.st_mtime < self._now() - TICKET_SECONDS:
                        Path(entry.path).unlink()
                    elif not entry.name.startswith(TEMPORARY_PREFIX):
                        sizes.append((entry.name, status.st_size))
        return sizes

    def _path(self, storage_id: str, caller: str) -> Path:
        return self._folder / f"{_prefix(caller)}{storage_id}"

    def _now(self) -> int:
        return int(self._clock().timestamp())


def _refuse_repeated(files: Sequence[TicketedFile]) -> None:
    """Refuse files of which one publication cannot be made. Raises VALIDATION_ERROR."""
    if len(files) > DEFAULT_LIMITS.entries:
        raise validation_error(FieldError("files", f"must be at most {DEFAULT_LIMITS.entries:,}"))
    named: set[str] = set()
    faults = []
    for number, upload in enumerate(files):
        if not named.isdisjoint((upload.file.path, upload.storage_id)):
            faults.append(FieldError(f"files.{number}", "is named before: each path and each upload may come once"))
        named.update((upload.file.path, upload.storage_id))
    if not faults and sum(ticket.file.size for ticket in files) > DEFAULT_LIMITS.total_bytes:
        faults.append(FieldError("files", f"must be at most {DEFAULT_LIMITS.total_bytes:,} bytes together"))
    if faults:
        raise validation_error(*faults)


def _prefix(caller: str) -> str:
    return hashlib.sha256(caller.encode()).hexdigest()[:32] + "-"
