"""What each table holds: primary data, which exists nowhere else, or derived data, which can be built again."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

RESTORE = "restore a backup (docs/operations.md, Backup and restore)"
REBUILD = (
    f"{RESTORE}, or stop the service and run 'skill-registry admin rebuild --from-index', which recovers published "
    "versions and the log, and nothing else"
)


class TableRole(NamedTuple):
    """What a table holds. `recovery` says how to get it back; derived data has none, because fsck builds it again.

    `is_rebuilt` tells that `rebuild` recovers what is in it of published skills, from the packages and the index.
    """

    content: str
    recovery: str | None = None
    is_rebuilt: bool = False

    @property
    def is_derived(self) -> bool:
        """Whether the table can be built again from other tables, or from outside the database."""
        return self.recovery is None


def _derived(content: str) -> TableRole:
    return TableRole(content)


def _rebuilt(content: str) -> TableRole:
    return TableRole(content, REBUILD, is_rebuilt=True)


TABLE_ROLES: Mapping[str, TableRole] = MappingProxyType(
    {
        "advertised": _derived("what sources list, which their next refresh reads again"),
        "api_keys": TableRole("the API keys", f"{RESTORE}, or create new keys in a new database"),
        "audit": TableRole("the audit log", RESTORE),
        "bodies": TableRole("the texts of skills, of which those of records have no other copy", RESTORE),
        "counter": _derived("the number of the last change"),
        "counts": _derived("counts of skills, documents and vectors"),
        "deliveries": TableRole("notifications that webhooks have not received yet", RESTORE),
        "dependencies": _derived("what skills need of others, as their details say"),
        "documents": _derived("what search reads of skills"),
        "ended_tokens": TableRole("logouts, and removals of users", f"{RESTORE}, and set a new auth.secret"),
        "examples": TableRole("the choices that search learned from", RESTORE),
        "facts": _rebuilt("facts about the catalog, such as the keys of the log"),
        "index_files": _derived("which files of the index are pushed"),
        "installs": TableRole("where installed skills come from", RESTORE),
        "jobs": TableRole("installations in the background, and their results", RESTORE),
        "log_entries": _rebuilt("the transparency log"),
        # Not derived from the entries: the hashes are the evidence that no entry was changed.
        "log_nodes": _rebuilt("the hashes of the transparency log"),
        "private_scopes": TableRole("the private scopes", f"{RESTORE}, or add them again"),
        "publish_jobs": TableRole("the publish jobs and their results", RESTORE),
        "published": _rebuilt("the published versions and their states"),
        "rate_windows": _derived("counts of requests, which begin again"),
        "revoked_tokens": TableRole("revoked tokens", f"{RESTORE}, and set a new auth.secret"),
        "scan_problems": _derived("reasons for skipped folders, which the next scan finds again"),
        "scope_members": TableRole("the members of private scopes", f"{RESTORE}, or add them again"),
        "sightings": TableRole("when packages were first seen", f"{RESTORE}, or wait for install.min_age again"),
        "skills": TableRole("the records of skills", RESTORE),
        "source_states": _derived("the states of sources, which their next refresh finds again"),
        "sources": TableRole("the added sources", f"{RESTORE}, or add them again in a new database"),
        "spooled_packages": TableRole("uploads whose jobs have not ended", f"{RESTORE}, and publish them again"),
        "trusted_publishers": TableRole("the trusted publishers", f"{RESTORE}, or register them again"),
        "trusted_scopes": TableRole("the scopes for trusted publishers only", f"{RESTORE}, or set them again"),
        "used_assertions": TableRole("identity tokens that were used", f"{RESTORE}, or wait an hour"),
        "user_tokens": TableRole("the tokens of users", f"{RESTORE}, or make them again"),
        "uses": TableRole("how often skills were used", f"{RESTORE}, or begin again in a new database"),
        "users": TableRole("the users", f"{RESTORE}, or create them again in a new database"),
        "vectors": _derived("the vectors of documents, which the service embeds again"),
        "versions": TableRole("the versions of records, and those that the catalog shows", RESTORE),
    }
)
"""The role of every table of the catalog. A test compares it with the schema."""

_OTHER = _rebuilt("the structure of the database")


def role_of(table: str) -> TableRole:
    """Return the role of a table. Tables of the database itself, such as its schema, are primary."""
    return TABLE_ROLES.get(table, _OTHER)
