"""The rows of skills and versions, written and counted within the transactions of the catalog."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from registry.database.counts import Listed, count_listed
from registry.db import Transaction
from registry.domain.dependencies import named_dependencies
from registry.domain.models import Skill, version_parts


class FolderState(NamedTuple):
    """The path of a skill's folder in the skills directory, and its fingerprint when it was read."""

    folder: str
    fingerprint: str


class Dates(NamedTuple):
    """When a skill, and one version of it, were created."""

    skill: str
    version: str


class FormerRow(NamedTuple):
    """What the row of a skill held before a change."""

    created_at: str
    updated_at: str
    listed: Listed


def former_row(transaction: Transaction, key: int) -> FormerRow | None:
    """Return the row of a skill that the transaction is about to change; None for a new skill."""
    sql = "select created_at, updated_at, sequence, enabled, advertised from skills where key = ?"
    for created_at, updated_at, *listed in transaction.read(sql, (key,)):
        return FormerRow(created_at, updated_at, Listed(*listed))
    return None


def put_skill(
    transaction: Transaction,
    key: int,
    skill: Skill,
    folder: FolderState | None,
    listed: Listed,
    former: FormerRow | None,
) -> None:
    """Create or replace the row of a skill."""
    path, fingerprint = folder or (None, None)
    transaction.execute(
        "insert into skills (key, id, sequence, enabled, advertised, source, folder,"
        " fingerprint, detail, created_at, updated_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (key) do update set"
        " enabled = excluded.enabled, advertised = excluded.advertised, source = excluded.source,"
        " folder = excluded.folder, fingerprint = excluded.fingerprint,"
        " detail = excluded.detail, updated_at = excluded.updated_at",
        (
            key,
            skill.id,
            *listed,
            skill.source,
            path,
            fingerprint,
            msgspec.json.encode(skill).decode(),
            skill.created_at,
            skill.updated_at,
        ),
    )
    if former is not None:
        transaction.execute("delete from dependencies where key = ?", (key,))
    for needed in named_dependencies(skill.dependencies):
        transaction.execute(
            "insert into dependencies (key, needs, admits) values (?, ?, ?)", (key, needed.id, needed.range)
        )
    if former is not None:
        count_listed(transaction, former.listed, -1)
    count_listed(transaction, listed, 1)


def insert_version(
    transaction: Transaction, key: int, version: str, description: str, changes: Sequence[str], at: str
) -> None:
    """Add a version to a skill, unless it exists."""
    transaction.execute(
        "insert into versions (key, version, major, minor, patch, description, changes, created_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
        (key, version, *version_parts(version), description, msgspec.json.encode(changes).decode(), at),
    )
