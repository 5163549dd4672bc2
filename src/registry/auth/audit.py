"""The audit log: who changed what. An entry commits in the same transaction as its change, so neither exists alone."""

import datetime
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from registry.db import Database, DatabaseError, Row, Transaction
from registry.domain.models import timestamp
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.auth")

OPERATOR = "(operator)"
"""The actor of a command on the machine of the database. It is a name that no user can have."""

_DETAIL_CHARACTERS = 500
_EXPORTED_AT_ONCE = 1000
_REMOVED_AT_ONCE = 1000
_ROUND_SECONDS = 3600.0


class AuditEntry(msgspec.Struct, kw_only=True):
    """One change: its time, request, actor, client address, action and target."""

    at: str
    request_id: str
    actor: str
    role: str
    client: str
    action: str
    target: str
    detail: str


class AuditFilter(msgspec.Struct, kw_only=True, frozen=True):
    """Which entries of the log are wanted: those that match all that is set.

    `actor` is the whole name; `action` and `target` are parts of the texts, `target` also of `detail`. `since` and
    `until` are timestamps, of which the first is included and the last is not.
    """

    actor: str = ""
    action: str = ""
    target: str = ""
    since: str = ""
    until: str = ""

    def where(self) -> tuple[str, list[str]]:
        """Return the condition in SQL, and its values."""
        conditions = [
            ("actor = ?", [self.actor]),
            ("replace(action, ?, '') <> action", [self.action]),
            ("(replace(target, ?, '') <> target or replace(detail, ?, '') <> detail)", [self.target] * 2),
            ("at >= ?", [self.since]),
            ("at < ?", [self.until]),
        ]
        chosen = [(condition, values) for condition, values in conditions if values[0]]
        sql = " and ".join(condition for condition, _ in chosen) or "1 = 1"
        return sql, [value for _, values in chosen for value in values]


EVERYTHING = AuditFilter()


class _Pending:
    """The entry of a request that may change something: written by its first change, or with `each` for each change."""

    def __init__(self, entry: AuditEntry, token: str, *, each: bool) -> None:
        self.entry = entry
        self.token = token
        self.each = each
        self.is_written = False


_request: ContextVar[_Pending | None] = ContextVar("audited_request", default=None)


class Audit:
    """Writes and reads the audit log. The current request is a context variable, which its threads inherit."""

    def __init__(self, database: Database, clock: Callable[[], datetime.datetime]) -> None:
        self._database = database
        self._clock = clock
        database.hooks.on_commit(self._write)

    def begin(
        self,
        *,
        request_id: str,
        actor: str,
        role: str,
        client: str,
        action: str,
        target: str,
        token_id: str | None = None,
        each: bool = False,
    ) -> None:
        """Set the request of the current context. Its first transaction writes the entry.

        The details name the token with which the actor has made the request, if it is narrowed. With `each`, every
        transaction writes an entry for each id that it changes.
        """
        caller = {"request_id": request_id, "actor": actor, "role": role, "client": client}
        entry = AuditEntry(at=self._now(), action=action, target=target, detail="", **caller)
        _request.set(_Pending(entry, f" (with the token {token_id})" if token_id else "", each=each))

    @contextmanager
    def of_command(self, action: str, target: str) -> Iterator[None]:
        """Let the first transaction of the block write the entry of a command that an operator runs."""
        self.begin(request_id="", actor=OPERATOR, role="admin", client="", action=action, target=target)
        try:
            yield
        finally:
            _request.set(None)

    def _now(self) -> str:
        return timestamp(self._clock())

    def _write(self, transaction: Transaction) -> None:
        pending = _request.get()
        if pending is None or pending.is_written:
            return
        touched = list(dict.fromkeys(transaction.touched))
        for detail in touched if pending.each else [", ".join(touched)]:
            text = detail[: _DETAIL_CHARACTERS - len(pending.token)] + pending.token
            self._insert(transaction, msgspec.structs.replace(pending.entry, detail=text))
        pending.is_written = not pending.each

    def record(
        self, action: str, detail: str, *, actor: str, role: str, request_id: str = "", client: str = ""
    ) -> None:
        """Write an entry for an event that changes nothing else, such as an issued token."""
        caller = {"request_id": request_id, "actor": actor, "role": role, "client": client}
        entry = AuditEntry(at=self._now(), action=action, target="", detail=detail[:_DETAIL_CHARACTERS], **caller)
        with self._database.write(urgent=True) as transaction:
            self._insert(transaction, entry)

    @staticmethod
    def _insert(transaction: Transaction, entry: AuditEntry) -> None:
        names = entry.__struct_fields__
        transaction.execute(
            f"insert into audit ({', '.join(names)}) values ({', '.join('?' * len(names))})",
            [getattr(entry, name) for name in names],
        )

    def list(self, limit: int, offset: int, wanted: AuditFilter = EVERYTHING) -> tuple[list[AuditEntry], int]:
        """Return one page of the wanted entries, newest first, and their total number."""
        where, values = wanted.where()
        sql = f"select {_COLUMNS} from audit where {where} order by number desc limit ? offset ?"
        rows = self._database.read(sql, (*values, limit, offset))
        total = self._database.read(f"select count(*) from audit where {where}", values)
        return [_entry(row) for row in rows], int(total[0][0])

    def export(self, wanted: AuditFilter, after: int = 0) -> tuple[bytes, int | None]:
        """Return the next wanted entries beyond number `after` as lines of JSON, the oldest first.

        The number of the last of them follows, None at the end.
        """
        where, values = wanted.where()
        sql = f"select number, {_COLUMNS} from audit where {where} and number > ? order by number limit ?"
        rows = self._database.read(sql, (*values, after, _EXPORTED_AT_ONCE))
        lines = b"".join(msgspec.json.encode(_entry(row[1:])) + b"\n" for row in rows)
        return lines, int(rows[-1][0]) if rows else None

    def remove_before(self, moment: datetime.datetime) -> int:
        """Remove the entries before a time, some in each transaction, and return how many."""
        removed = 0
        sql = "delete from audit where number in (select number from audit where at < ? order by number limit ?)"
        while True:
            with self._database.write() as transaction:
                count = transaction.execute(sql, (timestamp(moment), _REMOVED_AT_ONCE))
            removed += count
            if count < _REMOVED_AT_ONCE:
                return removed


class AuditRemoval:
    """Removes old entries of the audit log, every hour.

    Args:
        audit: The log.
        keep_days: For how many days entries are kept.
        clock: Returns the current time.
    """

    def __init__(self, audit: Audit, keep_days: int, clock: Callable[[], datetime.datetime]) -> None:
        self._audit = audit
        self._keep = datetime.timedelta(days=keep_days)
        self._clock = clock
        self.worker = PeriodicWorker("audit", self.round, _log, (DatabaseError,))

    def round(self) -> float:
        """Remove what is too old, and return the seconds until the next round."""
        if removed := self._audit.remove_before(self._clock() - self._keep):
            _log.info("audit log: %d entries are older than audit.keep_days and were removed", removed)
        return _ROUND_SECONDS


_COLUMNS = ", ".join(AuditEntry.__struct_fields__)


def _entry(row: Row) -> AuditEntry:
    return AuditEntry(**dict(zip(AuditEntry.__struct_fields__, row, strict=True)))
