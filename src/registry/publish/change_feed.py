"""The changes of the published skills in order, for services that follow this registry."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from registry.catalog.changed_documents import ChangedDocument, beginnings, changed_documents, latest_documents
from registry.catalog.dependents import dependencies_of
from registry.db import Database, read_fact
from registry.domain.package_urls import PackageUrls
from registry.domain.runtime_needs import NEEDS, RuntimeNeeds
from registry.domain.withdrawals import Withdrawn
from registry.errors import FieldError, validation_error
from registry.runtime.change_signal import ChangeSignal

PAGE_BYTES = 4 << 20
"""A page ends with the change that makes it at least this large."""

BODY_CHARACTERS = 100_000

_BATCH = 32
"""Documents that are read at once. Their bodies are in memory together."""

_IDS_BATCH = 500

_MAX_WAITING = 1_000

_ABOVE_ALL = 2**63 - 1


class FeedSkill(RuntimeNeeds, kw_only=True, omit_defaults=True):
    """The highest active version of a published skill. `checksum` and `size`, in bytes, are those of the zip.

    `body` is the text of SKILL.md below the front matter, at most 100,000 characters of it. `withdrawn` is missing
    unless the skill is deprecated.
    """

    name: str
    description: str
    version: str
    author: str
    tags: list[str]
    capabilities: list[str]
    license: str | None
    checksum: str
    size: int
    published_at: str
    download_url: str
    body: str
    dependencies: list[str] = msgspec.field(default_factory=list)
    withdrawn: Withdrawn | UnsetType = UNSET


class SkillChange(msgspec.Struct, kw_only=True):
    """A published skill at its latest revision. `skill` is null if no version is listed."""

    id: str
    revision: int
    skill: FeedSkill | None


class ChangePage(msgspec.Struct, kw_only=True):
    """Changes after a revision, in order. The next page begins after `revision`; if `complete`, it is empty so far."""

    catalog: str
    revision: int
    complete: bool
    changes: list[SkillChange]


class FoundChanges(NamedTuple):
    """A page, and the state of the catalog that it describes. An incomplete page has a state of its own."""

    page: ChangePage
    state: str


class _Package(NamedTuple):
    checksum: str
    size: int
    published_at: str


class ChangeFeed:
    """Reads the changes of published skills, and tells those that wait of new ones.

    The revisions are those of the catalog's documents. A deleted document keeps its row, so a reader that was away for
    any time misses nothing.

    Args:
        database: The catalog.
        urls: Where the packages are.
    """

    def __init__(self, database: Database, urls: PackageUrls) -> None:
        self._database = database
        self._urls = urls
        self._catalog_id = str(read_fact(database, "catalog_id"))
        self.signal = ChangeSignal(_MAX_WAITING)
        self._lock = threading.Lock()
        self._read_until = 0
        self._head = 0
        self._announced = 0

    def head(self) -> int:
        """Return the revision of the latest change, 0 if nothing was published."""
        latest = int(self._database.read("select value from counter")[0][0])
        with self._lock:
            if latest > self._read_until:
                # Without an upper bound: a change that was committed meanwhile has a higher revision.
                self._head = self._newest(self._read_until) or self._head
                self._read_until = max(latest, self._head)
            return self._head

    def _newest(self, after: int) -> int | None:
        """Return the highest revision of a published skill above `after`."""
        before = _ABOVE_ALL
        while documents := latest_documents(self._database, after, before, _IDS_BATCH):
            published = self._published([skill_id for _, skill_id in documents])
            latest = next((revision for revision, skill_id in documents if skill_id in published), None)
            if latest is not None:
                return latest
            before = documents[-1][0]
        return None

    def _published(self, skill_ids: Sequence[str]) -> set[str]:
        sql = f"select distinct skill_id from published where skill_id in ({_placeholders(skill_ids)})"
        return {row[0] for row in self._database.read(sql, skill_ids)}

    def announce(self) -> None:
        """Wake those that wait if there is a change since the last call."""
        head = self.head()
        if head != self._announced:
            self._announced = head
            self.signal.notify()

    def page(self, after: int, limit: int) -> FoundChanges:
        """Return at most `limit` changes after a revision. Raises VALIDATION_ERROR if there is no such revision yet."""
        head = self.head()
        if after > head:
            raise validation_error(FieldError("after", f"must be at most {head}, the revision of the latest change"))
        changes, size, revision = [], 0, head
        for change in self._changes(after, head):
            changes.append(change)
            size += len(msgspec.json.encode(change))
            if len(changes) == limit or size >= PAGE_BYTES:
                revision = change.revision
                break
        page = ChangePage(catalog=self._catalog_id, revision=revision, complete=revision == head, changes=changes)
        end = "" if page.complete else f"-{revision}"
        return FoundChanges(page, f"{self._catalog_id}-{head}{end}")

    def _changes(self, after: int, until: int) -> Iterator[SkillChange]:
        while documents := changed_documents(self._database, after, until, _BATCH):
            packages = self._packages([document.id for document in documents])
            needed = dependencies_of(self._database, [document.key for document in documents])
            published = [document for document in documents if document.id in packages]
            bodies = beginnings(self._database, [document.key for document in published], BODY_CHARACTERS)
            for document in published:
                skill = self._skill(document, packages[document.id], bodies.get(document.key, ""), needed)
                yield SkillChange(id=document.id, revision=document.revision, skill=skill)
            after = documents[-1].revision

    def _packages(self, skill_ids: Sequence[str]) -> dict[str, dict[str, _Package]]:
        """Return the active versions of those skills that were ever published."""
        packages: dict[str, dict[str, _Package]] = {}
        sql = (
            "select skill_id, version, state, checksum, size, published_at from published"
            f" where skill_id in ({_placeholders(skill_ids)})"
        )
        for skill_id, version, state, *package in self._database.read(sql, skill_ids):
            versions = packages.setdefault(skill_id, {})
            if state == "active":
                versions[version] = _Package(*package)
        return packages

    def _skill(
        self,
        document: ChangedDocument,
        packages: Mapping[str, _Package],
        body: str,
        needed: Mapping[int, list[str]],
    ) -> FeedSkill | None:
        """Return the version that the catalog lists, None if it lists none."""
        card = document.card
        package = packages.get(card.version) if card is not None and card.enabled else None
        if card is None or package is None:
            return None
        return FeedSkill(
            name=card.name,
            description=card.description,
            version=card.version,
            author=card.author,
            tags=card.tags,
            capabilities=card.capabilities,
            license=card.license,
            checksum=package.checksum,
            size=package.size,
            published_at=package.published_at,
            download_url=self._urls.of(document.id, card.version),
            body=body,
            dependencies=needed.get(document.key, []),
            withdrawn=card.withdrawn,
            **{name: getattr(card, name) for name in NEEDS},
        )


def _placeholders(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
