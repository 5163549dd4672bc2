"""Checks the published versions: their display in the catalog, and their publish jobs."""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from registry.database.table_roles import REBUILD
from registry.db import Row
from registry.domain.models import Skill, version_parts
from registry.ops.fsck.drift import Discrepancy, derived, lost
from registry.ops.fsck.parts import Parts
from registry.publish.published_version import PublishedRecord
from registry.transparency.log import deprecation_of


class _Version(NamedTuple):
    version: str
    parts: tuple[int, int, int]
    state: str
    checksum: str


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield published skills that the catalog displays incorrectly, and accepted jobs without their version."""
    rows = parts.database.read(
        "select skill_id, version, major, minor, patch, state, checksum from published order by skill_id"
    )
    published: dict[str, list[_Version]] = {}
    for skill_id, version, major, minor, patch, state, checksum in rows:
        published.setdefault(skill_id, []).append(_Version(version, (major, minor, patch), state, checksum))
    for skill_id, versions in published.items():
        yield from _of_skill(parts, skill_id, versions)
    yield from _jobs(parts)


def _of_skill(parts: Parts, skill_id: str, versions: list[_Version]) -> Iterator[Discrepancy]:
    yield from _records(parts, skill_id)
    for published in versions:
        if version_parts(published.version) != published.parts:
            problem = f"published version {published.version} is sorted as {'.'.join(map(str, published.parts))}"
            repair = functools.partial(_correct_order, parts, skill_id, published.version)
            yield derived("rows", skill_id, problem, repair)
    repair = functools.partial(_show, parts, skill_id)
    for problem in _shown_problems(
        parts, skill_id, [published for published in versions if published.state == "active"]
    ):
        yield derived("rows", skill_id, problem, repair)


def _records(parts: Parts, skill_id: str) -> Iterator[Discrepancy]:
    for version, record in parts.database.read("select version, record from published where skill_id = ?", (skill_id,)):
        try:
            msgspec.json.decode(record, type=PublishedRecord)
        except msgspec.DecodeError as error:
            yield lost("rows", f"{skill_id} {version}", f"its record cannot be read: {error}", REBUILD)


def _shown_problems(parts: Parts, skill_id: str, active: list[_Version]) -> Iterator[str]:
    skills = parts.database.read("select key, detail from skills where id = ?", (skill_id,))
    if not skills:
        if active:
            yield "it has an active version, but the catalog does not show it"
        return
    if not active:
        yield "the catalog shows it, but none of its versions is active"
        return
    key, detail = skills[0]
    listed = {row[0] for row in parts.database.read("select version from versions where key = ?", (key,))}
    for version in sorted({published.version for published in active} - listed):
        yield f"version {version} is active, but not listed"
    for version in sorted(listed - {published.version for published in active}):
        yield f"version {version} is listed, but not active"
    highest = max(active, key=lambda published: version_parts(published.version))
    skill = msgspec.json.decode(detail, type=Skill)
    if (skill.version, skill.latest_version, skill.digest) != (highest.version, highest.version, highest.checksum):
        yield f"the catalog shows version {skill.version}, but the highest active one is {highest.version}"
    if (skill.withdrawn or None) != deprecation_of(parts.database, skill_id):
        yield "the catalog does not show what the log says of its deprecation"


def _show(parts: Parts, skill_id: str) -> None:
    with parts.database.write() as transaction:
        parts.published.update_catalog(transaction, skill_id)


def _correct_order(parts: Parts, skill_id: str, version: str) -> None:
    sql = "update published set major = ?, minor = ?, patch = ? where skill_id = ? and version = ?"
    with parts.database.write() as transaction:
        transaction.execute(sql, (*version_parts(version), skill_id, version))
        parts.published.update_catalog(transaction, skill_id)


def _jobs(parts: Parts) -> Iterator[Discrepancy]:
    sql = (
        "select j.skill_id, j.version, j.checksum, j.size, p.checksum, p.size from publish_jobs j left join published p"
        " on p.skill_id = j.skill_id and p.version = j.version where j.state = 'accepted'"
        " and (p.checksum is null or p.checksum <> j.checksum or p.size <> j.size) order by j.number"
    )
    for row in parts.database.read(sql):
        yield lost("rows", f"{row[0]} {row[1]}", _job_problem(row), REBUILD)


def _job_problem(row: Row) -> str:
    if row[4] is None:
        return "its publish job was accepted, but the version does not exist"
    return f"its publish job accepted {row[2]} ({row[3]} bytes), but the version has {row[4]} ({row[5]} bytes)"
