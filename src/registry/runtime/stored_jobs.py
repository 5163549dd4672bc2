"""The table of background jobs: each kind stores its own data, and any process can read it."""

import datetime
from collections.abc import Callable

from registry.db import Database
from registry.domain.models import timestamp


class StoredJobs:
    """The jobs of one kind, in the database."""

    def __init__(self, database: Database, kind: str, clock: Callable[[], datetime.datetime]) -> None:
        self._database = database
        self._kind = kind
        self._clock = clock

    def put(self, job_id: str, state: str, data: bytes) -> None:
        """Store a job, or replace its state and data."""
        sql = (
            "insert into jobs (id, kind, state, progress, created_at) values (?, ?, ?, ?, ?)"
            " on conflict (id) do update set state = excluded.state, progress = excluded.progress"
        )
        with self._database.write() as transaction:
            transaction.execute(sql, (job_id, self._kind, state, data.decode(), timestamp(self._clock())))

    def put_data(self, job_id: str, data: bytes) -> None:
        """Replace the data of a job, and leave its state."""
        with self._database.write() as transaction:
            sql = "update jobs set progress = ? where id = ? and kind = ?"
            transaction.execute(sql, (data.decode(), job_id, self._kind))

    def change(self, job_id: str, before: str, state: str) -> bool:
        """Change the state of a job from `before`, and return whether it had that state."""
        sql = "update jobs set state = ? where id = ? and kind = ? and state = ?"
        with self._database.write() as transaction:
            return bool(transaction.execute(sql, (state, job_id, self._kind, before)))

    def find(self, job_id: str) -> tuple[str, str] | None:
        """Return state and data of a job, None if there is no such job."""
        rows = self._database.read("select state, progress from jobs where id = ? and kind = ?", (job_id, self._kind))
        return (str(rows[0][0]), str(rows[0][1])) if rows else None

    def in_state(self, state: str) -> list[str]:
        """Return the ids of the jobs in a state."""
        rows = self._database.read("select id from jobs where kind = ? and state = ?", (self._kind, state))
        return [row[0] for row in rows]


def count_jobs(database: Database) -> dict[tuple[str, str], int]:
    """Return the number of jobs by kind and state."""
    rows = database.read("select kind, state, count(*) from jobs group by kind, state")
    return {(kind, state): count for kind, state, count in rows}
