"""Asks witnesses to cosign the checkpoint of the log (C2SP tlog-witness), and reads copies of the checkpoint.

Both remember what the log has shown to others: a witness refuses a checkpoint that does not extend the last one it has
cosigned, and a copy that this log does not extend is a contradiction too.
"""

import base64
import logging
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import urlsplit

import msgspec

from registry.config.settings import Settings
from registry.db import Database, DatabaseError, read_fact
from registry.outbound import OutboundError
from registry.outbound.configured import outbound_client
from registry.runtime.periodic_worker import STOP_SECONDS, PeriodicWorker
from registry.transparency.checkpoint import CheckpointInvalid, CosignatureKey, KeyUnusable, LogCheckpoint
from registry.transparency.fork import LogForked
from registry.transparency.fork_guard import ForkGuard
from registry.transparency.log import TransparencyLog

_log = logging.getLogger("registry.transparency")

_POLL_SECONDS = 300.0
_TIMEOUT_SECONDS = 10.0
_MAX_BYTES = 16 << 10
_OK, _CONFLICT, _UNPROCESSABLE = 200, 409, 422
_SIZE = re.compile(r"(0|[1-9][0-9]{0,15})\n?")
_OLD_SIZES = 3
"""How many old sizes are tried: the stored one, the one that the witness names, and one more after a race."""

Sign = Callable[[int], str]
"""Returns the signed checkpoint of the first entries of the log."""


class WitnessRefused(Exception):
    """A witness answers with something else than a cosignature; the message says with what."""


class Witness:
    """A configured witness: its key and where it is. Raises KeyUnusable."""

    def __init__(self, setting: str) -> None:
        text, _, url = setting.partition(" ")
        try:
            self.key = CosignatureKey(text)
        except CheckpointInvalid:
            raise KeyUnusable(
                f"transparency.witnesses: {text} is not the verifier key of an Ed25519 witness (C2SP tlog-cosignature)"
            ) from None
        self.url = f"{url.rstrip('/')}/add-checkpoint"
        self.fact = f"cosignature {text}"


class Cosigned(msgspec.Struct, kw_only=True):
    """The last cosignature of a witness: the checkpoint it is of, with the root in base64, and the signature line."""

    size: int
    root: str
    line: str


class Cosignatures:
    """The stored cosignatures of the configured witnesses."""

    def __init__(self, database: Database, witnesses: Sequence[Witness]) -> None:
        self._database = database
        self.witnesses = witnesses

    def of(self, witness: Witness) -> Cosigned | None:
        """Return the last cosignature of a witness."""
        stored = read_fact(self._database, witness.fact)
        return None if stored is None else msgspec.json.decode(stored, type=Cosigned)

    def store(self, witness: Witness, cosigned: Cosigned) -> None:
        """Replace the cosignature of a witness."""
        with self._database.write() as transaction:
            transaction.put_fact(witness.fact, msgspec.json.encode(cosigned).decode())

    def lines(self, checkpoint: LogCheckpoint) -> str:
        """Return the signature lines of all witnesses that have cosigned a checkpoint."""
        last = (self.of(witness) for witness in self.witnesses)
        root = _encoded(checkpoint.root)
        return "".join(
            f"{cosignature.line}\n"
            for cosignature in last
            if cosignature and (cosignature.size, cosignature.root) == (checkpoint.size, root)
        )


class WitnessWorker:
    """Keeps the cosignatures up to date, and reads the copies, in a thread of the leader."""

    def __init__(
        self, settings: Settings, log: TransparencyLog, guard: ForkGuard, cosignatures: Cosignatures, sign: Sign
    ) -> None:
        self._settings = settings
        self._transparency_log = log
        self._guard = guard
        self._cosignatures = cosignatures
        self._sign = sign
        self._copies_at = 0.0
        self._cosigned: set[str] = set()
        """The witnesses that have cosigned since the start."""
        expected = (OutboundError, DatabaseError, WitnessRefused, LogForked)
        self._worker = PeriodicWorker("witnesses", self._round, _log, expected)

    def start(self) -> None:
        """Start, if there are witnesses or copies."""
        if self._settings.transparency.checkpoints or self._cosignatures.witnesses:
            self._outbound = outbound_client(self._settings.outbound)
            self._copies_at = 0.0
            self._cosigned.clear()
            self._worker.start()

    def stop(self) -> None:
        """Stop after the request that is under way, or after a time limit."""
        self._worker.stop(STOP_SECONDS)

    def wake(self) -> None:
        """Ask soon: the log may have grown."""
        if self._worker.health.problem is None:
            self._worker.wake()

    def _round(self) -> float:
        """Ask every witness, and read every copy now and then, whatever one of them answers. Raises the first error."""
        steps = [partial(self._ask, witness) for witness in self._cosignatures.witnesses]
        if time.monotonic() >= self._copies_at:
            steps += [partial(self._read, url) for url in self._settings.transparency.checkpoints]
        problems = [problem for step in steps if (problem := _problem(step)) is not None]
        if problems:
            raise problems[0]
        if time.monotonic() >= self._copies_at:
            self._copies_at = time.monotonic() + _POLL_SECONDS
        return _POLL_SECONDS

    def _read(self, url: str) -> None:
        answer = self._outbound.get(url, limit=_MAX_BYTES, seconds=_TIMEOUT_SECONDS)
        self._guard.check(answer.body or b"", f"the copy of the checkpoint at {urlsplit(url).netloc}")

    def _ask(self, witness: Witness) -> None:
        """Get the cosignature of the current checkpoint, unless it is there.

        The first time, it is requested anyway: an older database has an older cosignature too.
        """
        size, last = self._transparency_log.size(), self._cosignatures.of(witness)
        checkpoint = LogCheckpoint(self._settings.transparency.name, size, self._transparency_log.root(size))
        current = (size, _encoded(checkpoint.root))
        if last is not None and (last.size, last.root) == current and witness.fact in self._cosigned:
            return
        old = last.size if last is not None else 0
        for _ in range(_OLD_SIZES):
            status, answer = self._submit(witness, old, checkpoint)
            if status == _OK:
                self._store(witness, checkpoint, answer)
                return
            old = self._next_old_size(witness, old, status, answer)
            if old > size:
                return  # another process has appended entries, which the next round asks for
        raise WitnessRefused(f"witness {witness.key.name} names another size at each request")

    def _submit(self, witness: Witness, old: int, checkpoint: LogCheckpoint) -> tuple[int, str]:
        size = checkpoint.size
        proof = self._transparency_log.consistency(old, size) if 0 < old < size else []
        lines = [f"old {old}", *map(_encoded, proof), "", self._sign(size)]
        body = "\n".join(lines).encode()
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        status, answer = self._outbound.exchange(witness.url, body, headers, limit=_MAX_BYTES, seconds=_TIMEOUT_SECONDS)
        return status, answer.decode("utf-8", "replace")

    def _store(self, witness: Witness, checkpoint: LogCheckpoint, answer: str) -> None:
        line = witness.key.find(answer, checkpoint)
        if line is None:
            raise WitnessRefused(f"witness {witness.key.name} answers without a valid cosignature of its key")
        self._cosigned.add(witness.fact)
        self._cosignatures.store(witness, Cosigned(size=checkpoint.size, root=_encoded(checkpoint.root), line=line))

    def _next_old_size(self, witness: Witness, old: int, status: int, answer: str) -> int:
        """Return the size that the witness has cosigned last. Raises WitnessRefused, LogForked."""
        source = f"witness {witness.key.name}"
        if status == _UNPROCESSABLE:
            self._guard.contradicted(source, old)
        if status != _CONFLICT or not _SIZE.fullmatch(answer):
            raise WitnessRefused(f"{source} answers with status {status}")
        seen = int(answer)
        size = self._transparency_log.size()
        if seen > size or seen == old == size:
            self._guard.contradicted(source, seen)
        return seen


def _problem(step: Callable[[], None]) -> Exception | None:
    try:
        step()
    except (OutboundError, WitnessRefused, LogForked) as error:
        return error
    return None


def _encoded(hashed: bytes) -> str:
    return base64.b64encode(hashed).decode()
