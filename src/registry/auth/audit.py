"""The audit log: who changed what. An entry commits in the same transaction as its change, so neither exists alone."""

import datetime
from collections.abc import Callable
from contextvars import ContextVar

import msgspec

from registry.db import Database, Transaction
from registry.domain.models import timestamp

_DETAIL_CHARACTERS = 500


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


class _Pending:
    """The entry of a request that may change something: written by its first change, or with `each` for each change."""

    def __init__(self, entry: AuditEntry, *, each: bool) -> None:
        self.entry = entry
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
        self, *, request_id: str, actor: str, role: str, client: str, action: str, target: str, each: bool = False
    ) -> None:
        """Set the request of the current context. Its first transaction writes the entry.

        With `each`, every transaction writes an entry for each id that it changes.
        """
        caller = {"request_id": request_id, "actor": actor, "role": role, "client": client}
        entry = AuditEntry(at=self._now(), action=action, target=target, detail="", **caller)
        _request.set(_Pending(entry, each=each))

    def _now(self) -> str:
        return timestamp(self._clock())

    def _write(self, transaction: Transaction) -> None:
        pending = _request.get()
        if pending is None or pending.is_written:
            return
        touched = list(dict.fromkeys(transaction.touched))
        for detail in touched if pending.each else [", ".join(touched)]:
            self._insert(transaction, msgspec.structs.replace(pending.entry, detail=detail[:_DETAIL_CHARACTERS]))
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

    def list(self, limit: int, offset: int) -> tuple[list[AuditEntry], int]:
        """Return one page of the log, newest first, and the total number of entries."""
        names = AuditEntry.__struct_fields__
        rows = self._database.read(
            f"select {', '.join(names)} from audit order by number desc limit ? offset ?", (limit, offset)
        )
        entries = [AuditEntry(**dict(zip(names, row, strict=True))) for row in rows]
        return entries, int(self._database.read("select count(*) from audit")[0][0])
