"""Revoked tokens: single ones, and all tokens issued to a subject up to a moment."""

import datetime
import itertools
import secrets
from collections.abc import Callable

from msgspec import UNSET

from registry.auth.tokens import Claims
from registry.db import Database, Transaction, read_fact

_LAST = "last_revocation"


class Revocations:
    """Revokes tokens for every process on the database."""

    def __init__(self, database: Database, clock: Callable[[], datetime.datetime]) -> None:
        self._database = database
        self._clock = clock
        self._last: str | None = None
        self.revision = 0
        """Grows with every revocation this process knows of, so that caches of credentials can expire."""

    def _now(self) -> int:
        return int(self._clock().timestamp())

    def revoke(self, token_id: str, expires_at: int) -> None:
        """Revoke one token; `expires_at` is in seconds since 1970. Prune revocations of expired tokens."""
        with self._database.write(urgent=True) as transaction:
            transaction.execute("delete from revoked_tokens where expires_at < ?", (self._now(),))
            sql = "insert into revoked_tokens (id, expires_at) values (?, ?) on conflict do nothing"
            transaction.execute(sql, (token_id, expires_at))
            self.mark(transaction)
        self.bump()

    def bump(self) -> None:
        """Increase the revision, after the transaction of a revocation has committed."""
        self.revision += 1

    @staticmethod
    def mark(transaction: Transaction) -> None:
        """Change the mark by which other processes notice a revocation. Call `bump` after the commit."""
        transaction.put_fact(_LAST, secrets.token_hex(8))

    def refresh(self) -> None:
        """Increase the revision if another process has revoked a credential."""
        last = read_fact(self._database, _LAST)
        if last != self._last:
            self._last = last
            self.bump()

    def revoke_all(self, transaction: Transaction, subject: str) -> int:
        """Revoke every token issued to `subject` up to now. Return that second since 1970.

        Call `bump` after the commit.
        """
        transaction.touched.append(subject)
        # Tokens issued after an earlier revocation in the same second count as issued in the next second.
        sql = (
            "insert into ended_tokens (subject, until) values (?, ?) on conflict (subject) do update set until ="
            " case when excluded.until > ended_tokens.until then excluded.until else ended_tokens.until + 1 end"
            " returning until"
        )
        ((until,),) = transaction.read(sql, (subject, self._now()))
        self.mark(transaction)
        return int(until)

    def earliest_issue(self, subject: str) -> int:
        """Return the second since 1970 in which a token for a subject is issued: now, but after the last revocation."""
        sql = "select coalesce(max(until), 0) from ended_tokens where subject = ?"
        return max(self._now(), int(self._database.read(sql, (subject,))[0][0]) + 1)

    def is_revoked(self, claims: Claims) -> bool:
        """Return whether the token, a credential it was issued for, or all tokens of one of their owners are revoked.

        A credential that does not say when it was issued counts as issued with the token.
        """
        chain = claims.chain()
        ids = [credential.jti for credential in chain if credential.jti]
        owners = " or ".join(["subject = ? and until >= ?"] * len(chain))
        sql = (
            f"select exists (select 1 from revoked_tokens where id in ({', '.join('?' * len(ids))}))"
            f" or exists (select 1 from ended_tokens where {owners})"
        )
        since = [claims.iat if credential.iat is UNSET else credential.iat for credential in chain]
        owned = itertools.chain.from_iterable(zip((credential.sub for credential in chain), since, strict=True))
        return bool(self._database.read(sql, (*ids, *owned))[0][0])
