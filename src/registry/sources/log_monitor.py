"""Watches the transparency logs of other registries: a log may only grow, and its key may not change.

The key of a log is trusted on first use. It is stored in the database together with the largest checkpoint that was
verified. A checkpoint seen later must extend that one, proved by the registry (RFC 9162, section 2.1.4).
"""

import threading

import msgspec

from registry.db import Database, read_fact
from registry.sources.remote_registry import ReadableRegistry
from registry.transparency.checkpoint import CheckpointInvalid, LogCheckpoint, Verifier
from registry.transparency.merkle import is_consistent
from registry.transparency.release_proof import describe


class LogRefused(Exception):
    """A log was rolled back or forked, or has another key. The message shows both states or both keys."""


class SeenLog(msgspec.Struct, kw_only=True, frozen=True):
    """What is known of a log: its key, as `name+hash+base64`, and a signed checkpoint."""

    key: str
    checkpoint: str


class LogMonitor:
    """Verifies checkpoints of other registries against those seen before. Methods raise LogRefused, OutboundError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._storing = threading.Lock()

    def check(self, registry: ReadableRegistry) -> tuple[Verifier, LogCheckpoint]:
        """Verify the current checkpoint of a registry, and return it with the key of the log."""
        note = registry.checkpoint()
        verifier = self.verify(registry, note)
        return verifier, verifier.read(note)

    def verify(self, registry: ReadableRegistry, note: str, *, earlier: SeenLog | None = None) -> Verifier:
        """Verify a checkpoint that the registry has just signed, and return the key of its log.

        The checkpoint must extend the stored one and `earlier`, which was seen elsewhere. It is stored if it is larger
        than the stored one.
        """
        seen_here = self._known(registry)
        verifier = self._key(registry, seen_here, earlier)
        state = self._read(registry, verifier, note)
        for seen in (seen_here, earlier):
            if seen is not None:
                self._check_extends(registry, verifier, self._read(registry, verifier, seen.checkpoint), state)
        self._store(registry, verifier, note, state)
        return verifier

    def verifier(self, url: str, key: str) -> Verifier:
        """Return the verifier of a key for the log of the registry at `url`. Raises LogRefused for another key."""
        text = read_fact(self._database, _fact(url))
        key_here = key if text is None else msgspec.json.decode(text, type=SeenLog).key
        if key_here != key:
            raise LogRefused(f"the log of {url} has the key {key_here} here, not {key}")
        try:
            return Verifier(key)
        except CheckpointInvalid as error:
            raise LogRefused(f"the key of the log of {url} is malformed: {error}") from None

    def forget(self, url: str) -> None:
        """Forget the log of the registry at `url`: it is trusted anew on its next use."""
        with self._database.write() as transaction:
            transaction.delete_fact(_fact(url))

    def _key(self, registry: ReadableRegistry, seen_here: SeenLog | None, earlier: SeenLog | None) -> Verifier:
        if seen_here is not None and earlier is not None and seen_here.key != earlier.key:
            raise LogRefused(f"the log of {registry.url} had the key {earlier.key}, and has {seen_here.key} here")
        pinned = seen_here or earlier
        key = self._announced(registry) if pinned is None else pinned.key
        try:
            return Verifier(key)
        except CheckpointInvalid as error:
            raise LogRefused(f"the key of the log of {registry.url} is malformed: {error}") from None

    @staticmethod
    def _announced(registry: ReadableRegistry) -> str:
        log = registry.description().log
        if log is None:
            raise LogRefused(f"{registry.url} names no transparency log")
        return log.key

    def _read(self, registry: ReadableRegistry, verifier: Verifier, note: str) -> LogCheckpoint:
        try:
            state = verifier.read(note)
        except CheckpointInvalid as error:
            announced = self._announced(registry)
            if announced != verifier.text:
                raise LogRefused(
                    f"the log of {registry.url} has another key: {verifier.text} before, {announced} now"
                ) from None
            raise LogRefused(f"the log of {registry.url}: {error}") from None
        if state.origin != verifier.name:
            raise LogRefused(f"the log of {registry.url} is signed for another log, {state.origin[:100]}")
        return state

    def _check_extends(
        self, registry: ReadableRegistry, verifier: Verifier, before: LogCheckpoint, state: LogCheckpoint
    ) -> None:
        if state.size < before.size:
            # Another thread may have stored a later state meanwhile, so the registry is asked once more.
            current = self._read(registry, verifier, registry.checkpoint())
            if current.size < before.size:
                raise LogRefused(
                    f"the log of {registry.url} was rolled back: {describe(before)} were seen before, "
                    f"and it shows {describe(current)} now"
                )
            self._check_prefix(registry, before, current)
            self._check_prefix(registry, state, current)
        else:
            self._check_prefix(registry, before, state)

    @staticmethod
    def _check_prefix(registry: ReadableRegistry, before: LogCheckpoint, state: LogCheckpoint) -> None:
        if before.size == 0 or before == state:
            return
        proof = registry.consistency(before.size, state.size) if before.size < state.size else []
        if not is_consistent(before.size, state.size, proof, before.root, state.root):
            raise LogRefused(
                f"the log of {registry.url} was forked: {describe(before)} were seen before, "
                f"and they are not part of {describe(state)}"
            )

    def _store(self, registry: ReadableRegistry, verifier: Verifier, note: str, state: LogCheckpoint) -> None:
        with self._storing:
            seen_here = self._known(registry)
            if seen_here is not None and verifier.read(seen_here.checkpoint).size >= state.size:
                return
            seen = SeenLog(key=verifier.text, checkpoint=note)
            with self._database.write() as transaction:
                transaction.put_fact(_fact(registry.url), msgspec.json.encode(seen).decode())

    def _known(self, registry: ReadableRegistry) -> SeenLog | None:
        text = read_fact(self._database, _fact(registry.url))
        return None if text is None else msgspec.json.decode(text, type=SeenLog)


def _fact(url: str) -> str:
    return f"registry-log:{url}"
