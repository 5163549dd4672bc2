"""What the log of another registry says of its versions and skills: which ones are withdrawn, and why.

The index of a registry is not signed. An attacker between it and a client could call a revoked version active, but
cannot change the log. A client reads the entries of a log once, and later the new ones. Their hashes must give the root
that the registry has signed, so no entry can be left out. The database keeps which versions are withdrawn, and the
hashes of the perfect subtrees of what was read (RFC 9162, section 2.1).
"""

from collections.abc import Iterable

import msgspec

from registry.db import Database, read_fact
from registry.domain.withdrawals import Withdrawn
from registry.sources.log_monitor import LogRefused
from registry.sources.remote_registry import ReadableRegistry
from registry.transparency.checkpoint import LogCheckpoint, Verifier
from registry.transparency.log_reading import LogReading

_FACT = "registry-log-withdrawals:"
_FORMER_FACT = "registry-log-states:"
"""What earlier releases kept, without reasons."""


class _Seen(LogReading, kw_only=True):
    """What was read of a log with a key."""

    key: str


class LogStates:
    """Reads the withdrawals from the logs of other registries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def follow(self, registry: ReadableRegistry, verifier: Verifier, state: LogCheckpoint) -> None:
        """Read the entries up to a verified state of the log of a registry.

        Raises LogRefused if they are not those of the signed log, OutboundError.
        """
        seen = self._known(registry.url) or _Seen(key=verifier.text)
        if seen.key != verifier.text:
            seen = _Seen(key=verifier.text)
        if seen.size < state.size:
            seen = self._read(registry, seen, state)
            with self._database.write() as transaction:
                transaction.put_fact(f"{_FACT}{registry.url}", msgspec.json.encode(seen).decode())
                transaction.delete_fact(f"{_FORMER_FACT}{registry.url}")

    def withdrawals(self, url: str, releases: Iterable[tuple[str, str]]) -> list[Withdrawn | None]:
        """Return how each release, a skill and a version, is withdrawn by what was read of the log of a registry."""
        seen = self._known(url)
        return [None if seen is None else seen.of(skill_id, version) for skill_id, version in releases]

    def forget(self, url: str) -> None:
        """Forget the log of the registry at `url`: it is read anew on its next use."""
        with self._database.write() as transaction:
            transaction.delete_fact(f"{_FACT}{url}")

    def _known(self, url: str) -> _Seen | None:
        text = read_fact(self._database, f"{_FACT}{url}")
        return None if text is None else msgspec.json.decode(text, type=_Seen)

    @staticmethod
    def _read(registry: ReadableRegistry, seen: _Seen, state: LogCheckpoint) -> _Seen:
        while seen.size < state.size:
            texts = registry.log_entries(seen.size)[: state.size - seen.size]
            if not texts:
                raise LogRefused(f"the log of {registry.url} shows {seen.size} of {state.size} entries")
            for text in texts:
                seen.append(text)
        if seen.root() != state.root:
            raise LogRefused(f"the entries of the log of {registry.url} are not those that it has signed")
        return seen
