"""The documents of another registry: its description, the pages of its change feed, its index files and its log.

All of them are untrusted. A document that cannot be read is an OutboundError. An invalid entry of a page or of an index
file is skipped, with a warning.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import Meta

from registry.domain.dependencies import MAX_DEPENDENCIES, Dependencies, SkillDependency, named_dependencies
from registry.domain.models import SkillId, Version
from registry.domain.origins import RegistryOrigin, WebUrl
from registry.domain.release_proofs import ReleaseProof
from registry.domain.runtime_needs import RuntimeNeeds
from registry.domain.source_entry import Listed
from registry.domain.withdrawals import WithdrawalState, Withdrawn, printable_reason
from registry.errors import FieldError, RegistryError, validation_error
from registry.outbound import OutboundError, Validators, parse_url, redact_url
from registry.parsing.json_document import JsonUnreadable, read_json
from registry.parsing.strict_json import MAX_INTEGER, decode, has_more_values
from registry.sources.marketplace import MAX_WARNINGS, plain, validated
from registry.transparency.merkle import Hash

PAGE_ENTRIES = 200
PAGE_BYTES = 16 << 20
DESCRIPTION_BYTES = 64 << 10
INDEX_FILE_BYTES = 16 << 20
PROOF_BYTES = 1 << 20
CHECKPOINT_BYTES = 16 << 10

_PAGE_VALUES = 200 * PAGE_ENTRIES
_INDEX_LINES = 10_000
_LINE_BYTES = 128 << 10
_BODY_CHARACTERS = 100_000
_REASON_CHARACTERS = 1000
_NOT_STORED = re.compile(r"[\x00\ud800-\udfff]")
_PROTOCOL_VERSION = 1

_Kind = TypeVar("_Kind")

Number = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Checksum = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)", extra={"rule": "must be sha256: and 64 digits"})]
CatalogId = Annotated[str, Meta(pattern=r"^[\x21-\x7e]{1,200}$(?!\n)")]


class LogKey(msgspec.Struct, kw_only=True):
    """The name of a log and its public key, in the form `name+hash+base64`."""

    name: Annotated[str, Meta(max_length=200)]
    key: Annotated[str, Meta(max_length=1000)]


class RegistryDescription(msgspec.Struct, kw_only=True):
    """What a registry says of itself at `/.well-known/skill-registry.json`."""

    protocol: Literal["skill-registry"]
    version: Number
    service_version: Annotated[str, Meta(max_length=100)] = ""
    anonymous_read: bool = False
    log: LogKey | None = None


class Change(NamedTuple):
    """One changed skill: its current entry, or None if the registry does not list it any more."""

    skill_id: str
    listed: Listed | None


class ChangePage(NamedTuple):
    """A page of the change feed, up to `revision`. If it is not complete, more changes follow that revision."""

    catalog: str
    revision: int
    is_complete: bool
    changes: list[Change]
    warnings: list[str]
    validators: Validators


class Release(msgspec.Struct, kw_only=True, frozen=True):
    """A published version. `checksum` is `sha256:` and the digest of the zip, `size` its bytes, 0 if unknown.

    `download_url` is absolute; None if the registry names none that can be used. `withdrawn` is what the index says of
    the version, which is not signed; so are the dependencies, which the package must have too.
    """

    skill_id: str
    version: str
    checksum: str
    yanked: bool
    download_url: str | None
    size: int
    withdrawn: Withdrawn | None = None
    dependencies: tuple[SkillDependency, ...] = ()


class _Withdrawn(msgspec.Struct, kw_only=True):
    state: str
    at: Annotated[str, Meta(max_length=100)]
    reason: Annotated[str, Meta(max_length=10_000)] | None = None
    replacement: Annotated[str, Meta(max_length=1_000)] | None = None


class _Skill(RuntimeNeeds, kw_only=True):
    name: str
    description: str
    version: Version
    author: str = ""
    tags: list[str] = msgspec.field(default_factory=list)
    capabilities: list[str] = msgspec.field(default_factory=list)
    license: str | None = None
    dependencies: list[str] = msgspec.field(default_factory=list)
    download_url: str | None = None
    body: str = ""
    withdrawn: _Withdrawn | None = None


class _Change(msgspec.Struct, kw_only=True):
    id: SkillId
    skill: _Skill | None


class _Named(msgspec.Struct):
    id: str


class _Page(msgspec.Struct, kw_only=True):
    catalog: CatalogId
    revision: Number
    complete: bool
    changes: list[msgspec.Raw]


class _PageAnswer(msgspec.Struct, kw_only=True):
    data: _Page


class _Line(msgspec.Struct, kw_only=True):
    name: str
    vers: Version
    cksum: Checksum
    yanked: bool
    download_url: Annotated[str, Meta(max_length=2048)] | None = None
    size: Number | None = None
    withdrawn: _Withdrawn | None = None
    deps: Dependencies = msgspec.field(default_factory=list)


class _ConsistencyProof(msgspec.Struct, kw_only=True):
    proof: Annotated[list[Annotated[str, Meta(max_length=100)]], Meta(max_length=128)]


class _ConsistencyAnswer(msgspec.Struct, kw_only=True):
    data: _ConsistencyProof


class _LogEntries(msgspec.Struct, kw_only=True):
    entries: Annotated[list[Annotated[str, Meta(max_length=10_000)]], Meta(max_length=1_000)]


class _LogEntriesAnswer(msgspec.Struct, kw_only=True):
    data: _LogEntries


class _LogProofAnswer(msgspec.Struct, kw_only=True):
    data: ReleaseProof


def read_description(base: str, body: bytes) -> RegistryDescription:
    """Return the description of the registry at `base`. Raises OutboundError."""
    described = _strict(base, body, RegistryDescription)
    if described.version != _PROTOCOL_VERSION:
        raise OutboundError(
            f"{redact_url(base)} speaks version {described.version} of the protocol of registries, and this release "
            f"version {_PROTOCOL_VERSION}: upgrade the older of the two"
        )
    return described


def read_page(base: str, body: bytes, after: int, validators: Validators) -> ChangePage:
    """Return a page of the change feed after the revision `after`. Raises OutboundError."""
    try:
        if has_more_values(body, _PAGE_VALUES):
            raise OutboundError(f"{redact_url(base)} answers with a page of more than {_PAGE_VALUES:,} values")
        page = read_json(body, _PageAnswer).data
    except JsonUnreadable as error:
        raise OutboundError(f"{redact_url(base)} does not answer as a registry: {str(error)[:200]}") from None
    if page.revision < after or not (page.complete or (page.changes and page.revision > after)):
        raise OutboundError(f"{redact_url(base)} answers with changes that lead nowhere after revision {after}")
    changes: list[Change] = []
    warnings: list[str] = []
    for raw in page.changes:
        try:
            changes.append(_change(base, read_json(raw, _Change)))
        except ValueError as error:
            warnings.append(f"{_name(raw)} was skipped: {plain(str(error), 200)}")
    return ChangePage(page.catalog, page.revision, page.complete, changes, warnings[:MAX_WARNINGS], validators)


def _name(raw: msgspec.Raw) -> str:
    try:
        return f"'{plain(read_json(raw, _Named).id, 100)}'"
    except JsonUnreadable:
        return "an entry"


def _change(base: str, change: _Change) -> Change:
    """Return a valid change. Raises ValueError."""
    if change.skill is None:
        return Change(change.id, None)
    skill = change.skill
    fields = {name: getattr(skill, name) for name in skill.__struct_fields__ if name != "withdrawn"}
    return Change(change.id, listed_skill(base, change.id, fields, _withdrawn(skill.withdrawn)))


def listed_skill(base: str, skill_id: str, fields: Mapping[str, Any], withdrawn: Withdrawn | None) -> Listed:
    """Return a skill as the source for the registry at `base` lists it. `fields` are those of the change feed.

    Raises ValueError.
    """
    download_url = absolute(base, fields.get("download_url"))
    origin = RegistryOrigin(url=base, skill=skill_id)
    listed = validated({**fields, "id": skill_id, "download_url": download_url, "origin": origin, "body": ""})
    listed.body = _NOT_STORED.sub("\ufffd", fields["body"][:_BODY_CHARACTERS])
    dependencies = named_dependencies(fields["dependencies"][:MAX_DEPENDENCIES])
    listed.dependencies = [str(dependency) for dependency in dependencies]
    listed.withdrawn = withdrawn or msgspec.UNSET
    return listed


def _withdrawn(withdrawal: _Withdrawn | None) -> Withdrawn | None:
    """Return a withdrawal with texts that can be shown. A state that a later release knows counts as deprecated."""
    if withdrawal is None:
        return None
    texts = {
        name: printable_reason(text) for name in ("at", "reason", "replacement") if (text := getattr(withdrawal, name))
    }
    state = withdrawal.state if withdrawal.state in get_args(WithdrawalState) else "deprecated"
    return msgspec.convert({"at": "", **texts, "state": state}, Withdrawn)


_SCOPE = re.compile(r"/scopes/[a-z0-9_-]+\Z")


def absolute(base: str, url: str | None) -> str | None:
    """Return the URL that a document of the registry at `base` names; None if it names none that can be used.

    A path is one of the service, so that of a private scope begins with the path of the scope, as its `base` ends.
    """
    if url is None:
        return None
    if (scope := _SCOPE.search(base)) and url.startswith(f"{scope[0]}/"):
        base = base[: scope.start()]
    named = f"{base}{url}" if url.startswith("/") and not url.startswith("//") else url
    try:
        parse_url(named)
        return msgspec.convert(named, WebUrl)
    except (OutboundError, msgspec.ValidationError):
        return None


def read_releases(base: str, skill_id: str, body: bytes, warn: Callable[[str], None]) -> list[Release]:
    """Return the versions in an index file, and call `warn` for every line that is skipped."""
    return [release for release, _ in read_lines(base, skill_id, body, warn)]


def read_lines(base: str, skill_id: str, body: bytes, warn: Callable[[str], None]) -> list[tuple[Release, bytes]]:
    """Return the versions in an index file, each with its line, and call `warn` for every line that is skipped."""
    releases: dict[str, tuple[Release, bytes]] = {}
    lines = body.split(b"\n", _INDEX_LINES)
    if lines[_INDEX_LINES:] and lines[_INDEX_LINES].strip():
        warn(f"only the first {_INDEX_LINES:,} lines are read")
    for number, raw in enumerate(lines[:_INDEX_LINES], start=1):
        if raw.strip():
            try:
                release = _release(base, skill_id, raw)
            except RegistryError as error:
                warn(f"line {number} was skipped: {error.message}")
            else:
                releases.setdefault(release.version, (release, raw))
    return list(releases.values())


def _release(base: str, skill_id: str, raw: bytes) -> Release:
    """Return the version that a line names. Raises VALIDATION_ERROR."""
    if len(raw) > _LINE_BYTES:
        raise validation_error(FieldError("line", f"is longer than {_LINE_BYTES:,} bytes"))
    line = decode(raw, _Line)
    if line.name != skill_id:
        raise validation_error(FieldError("name", f"is {line.name[:100]!r}, not {skill_id!r}"))
    return Release(
        skill_id=skill_id,
        version=line.vers,
        checksum=line.cksum,
        yanked=line.yanked,
        download_url=absolute(base, line.download_url),
        size=line.size or 0,
        withdrawn=_withdrawn(line.withdrawn),
        dependencies=tuple(line.deps),
    )


def read_log_proof(base: str, body: bytes) -> ReleaseProof:
    """Return the proof of a version. Raises OutboundError."""
    return _strict(base, body, _LogProofAnswer).data


def read_log_entries(base: str, body: bytes) -> list[str]:
    """Return a page of entries of a log. Raises OutboundError."""
    return _strict(base, body, _LogEntriesAnswer).data.entries


class SignedEntry(msgspec.Struct, kw_only=True):
    """An entry of a log, as the text that is hashed, and its inclusion proof in base64."""

    number: Number
    entry: Annotated[str, Meta(max_length=10_000)]
    proof: Annotated[list[Annotated[str, Meta(max_length=100)]], Meta(max_length=128)]


class AdvisoryPage(msgspec.Struct, kw_only=True):
    """Entries that withdraw or restore something, with the checkpoint that their proofs are for."""

    checkpoint: Annotated[str, Meta(max_length=CHECKPOINT_BYTES, extra={"multiline": True})]
    last: Number
    complete: bool
    advisories: Annotated[list[SignedEntry], Meta(max_length=1_000)]


class _AdvisoryAnswer(msgspec.Struct, kw_only=True):
    data: AdvisoryPage


def read_advisories(base: str, body: bytes) -> AdvisoryPage:
    """Return a page of advisories. Raises OutboundError."""
    return _strict(base, body, _AdvisoryAnswer).data


def read_consistency(base: str, body: bytes) -> list[Hash]:
    """Return the hashes of a consistency proof. Raises OutboundError."""
    return hashes(_strict(base, body, _ConsistencyAnswer).data.proof)


def hashes(proof: list[str]) -> list[Hash]:
    """Return the hashes of a proof, which are in base64. Raises OutboundError."""
    try:
        return [base64.b64decode(step, validate=True) for step in proof]
    except (binascii.Error, ValueError):
        raise OutboundError("a proof of the log is not in base64") from None


class _Error(msgspec.Struct):
    message: str


class _ErrorEnvelope(msgspec.Struct):
    error: _Error


def read_reason(body: bytes) -> str | None:
    """Return why a registry refuses a request, in one line of at most 1,000 characters; None if it does not say."""
    try:
        message = read_json(body, _ErrorEnvelope).error.message
    except JsonUnreadable:
        return None
    line = " ".join("".join(char if char.isprintable() else " " for char in message).split())
    return line[:_REASON_CHARACTERS] or None


def _strict(base: str, body: bytes, kind: type[_Kind]) -> _Kind:
    try:
        return decode(body, kind)
    except RegistryError as error:
        raise OutboundError(f"{redact_url(base)} does not answer as a registry: {error.message[:200]}") from None
