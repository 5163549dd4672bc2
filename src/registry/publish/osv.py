"""The withdrawals as OSV records (https://ossf.github.io/osv-schema/), which scanners of dependencies read."""

import msgspec

from registry.db import Database
from registry.domain.withdrawals import WithdrawalState
from registry.transparency.checkpoint import file_stem
from registry.transparency.log import LogEntry, TransparencyLog

_SCHEMA = "1.6.7"
_PREFIX = "SKILLREG"
_BATCH = 1_000

ECOSYSTEM = "SkillRegistry"
"""The ecosystem of the packages. The list of OSV has none for skills."""


class OsvPackage(msgspec.Struct, kw_only=True):
    """A package: a skill, by its id."""

    ecosystem: str
    name: str
    purl: str


class OsvAffected(msgspec.Struct, kw_only=True):
    """The versions of a package that a record is about."""

    package: OsvPackage
    versions: list[str]


class OsvDetail(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What OSV has no field for: how a skill is withdrawn, what replaces it, and the number of the last log entry."""

    state: WithdrawalState
    log: str
    number: int
    replacement: str | None = None


class OsvRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One version, or one deprecated skill. `withdrawn` is the time at which it was restored, if it was."""

    schema_version: str
    id: str
    modified: str
    published: str
    summary: str
    details: str
    affected: list[OsvAffected]
    database_specific: OsvDetail
    withdrawn: str | None = None


class OsvList(msgspec.Struct, kw_only=True):
    """All records, as the queries of OSV answer them."""

    vulns: list[OsvRecord]


def osv_list(database: Database, log: TransparencyLog, name: str) -> OsvList:
    """Return a record for everything that was ever withdrawn, in the order of the log, which has a name."""
    records: dict[str, OsvRecord] = {}
    last = 0
    while page := log.withdrawals(last, _BATCH):
        for last, text in page:
            _follow(database, name, records, last, msgspec.json.decode(text, type=LogEntry))
    return OsvList(vulns=list(records.values()))


def _follow(database: Database, log: str, records: dict[str, OsvRecord], number: int, entry: LogEntry) -> None:
    subject, withdrawn = str(entry.subject), entry.withdrawn
    record = records.get(subject)
    if withdrawn is None:
        if record is not None:
            record.modified, record.withdrawn, record.database_specific.number = entry.at, entry.at, number
        return
    name, instead = str(entry.skill_id), f" Use {withdrawn.replacement} instead." if withdrawn.replacement else ""
    versions = [entry.version] if entry.version is not None else _versions(database, name)
    package = OsvPackage(ecosystem=ECOSYSTEM, name=name, purl=f"pkg:generic/{name}")
    records[subject] = OsvRecord(
        schema_version=_SCHEMA,
        id=record.id if record is not None else f"{_PREFIX}-{file_stem(log)}-{number}",
        modified=entry.at,
        published=record.published if record is not None else entry.at,
        summary=f"{subject.replace('@', ' ')} was {withdrawn.state}",
        details=f"{_sentence(withdrawn.reason)}{instead}",
        affected=[OsvAffected(package=package, versions=versions)],
        database_specific=OsvDetail(state=withdrawn.state, log=log, number=number, replacement=withdrawn.replacement),
    )


def _versions(database: Database, skill_id: str) -> list[str]:
    sql = "select version from published where skill_id = ? order by major, minor, patch"
    return [row[0] for row in database.read(sql, (skill_id,))]


def _sentence(reason: str | None) -> str:
    return "No reason was given." if reason is None else f"{reason.rstrip('.')}."
