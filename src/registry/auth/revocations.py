"""Tokens that ended before their time: single ones, and all that were issued to a name up to a moment."""

import datetime
import secrets
from collections.abc import Callable

from registry.auth.tokens import Claims
from registry.db import Database, Row, Transaction

_LAST = "last_revocation"


class Revocations:
    """Ends tokens, for every process on the database at once."""

    def __init__(self, database: Database, clock: Callable[[], datetime.datetime]) -> None:
        self._database = database
        self._clock = clock
        self._last: list[Row] = []
        self.count = 0
        """How often something was seen to be ended: what was known of credentials before may be wrong."""

    def _now(self) -> int:
        return int(self._clock().timestamp())

    def end(self, token_id: str, expires_at: int) -> None:
        """End one token; what has expired meanwhile is forgotten."""
        with self._database.write() as transaction:
            transaction.execute("delete from revoked_tokens where expires_at < ?", (self._now(),))
            sql = "insert into revoked_tokens values (?, ?) on conflict do nothing"
            transaction.execute(sql, (token_id, expires_at))
            _mark(transaction)
        self.note()

    def note(self) -> None:
        """Say that some credential has just ended."""
        self.count += 1

    def look(self) -> None:
        """Note what another process has ended."""
        rows = self._database.read("select value from facts where name = ?", (_LAST,))
        if rows != self._last:
            self._last = rows
            self.note()

    def end_all_of(self, transaction: Transaction, subject: str) -> None:
        """End every token issued to `subject` up to now."""
        transaction.touched.append(subject)
        # Tokens issued since the last time, in the same second, count as issued in the next.
        sql = (
            "insert into ended_tokens values (?, ?) on conflict (subject) do update set until ="
            " case when excluded.until > ended_tokens.until then excluded.until else ended_tokens.until + 1 end"
        )
        transaction.execute(sql, (subject, self._now()))
        _mark(transaction)

    def ended_until(self, *names: str) -> int:
        """Return the second up to which tokens of, or issued for, any of these were ended, 0 where none were."""
        sql = f"select coalesce(max(until), 0) from ended_tokens where subject in ({', '.join('?' * len(names))})"
        return int(self._database.read(sql, names)[0][0])

    def has_ended(self, claims: Claims) -> bool:
        """Return whether a token was ended, or all of its subject or of whom it was issued for."""
        actor = claims.act.sub if claims.act else claims.sub
        sql = (
            "select exists (select 1 from revoked_tokens where id = ?)"
            " or exists (select 1 from ended_tokens where subject in (?, ?) and until >= ?)"
        )
        return bool(self._database.read(sql, (claims.jti, claims.sub, actor, claims.iat))[0][0])


def _mark(transaction: Transaction) -> None:
    """Leave a mark that other processes see to be another one than before."""
    transaction.put_fact(_LAST, secrets.token_hex(8))
