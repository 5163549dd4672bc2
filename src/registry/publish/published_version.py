"""A published version: its record, and the skill that the catalog shows for it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec
from msgspec import UNSET

from registry.catalog.record_skills import SOURCE
from registry.domain.dependencies import SkillDependency
from registry.domain.findings import Finding, SkillFindings, Waiver, waived_risk
from registry.domain.models import Skill
from registry.domain.release_proofs import PublisherRun
from registry.domain.runtime_needs import NEEDS, RuntimeNeeds
from registry.domain.withdrawals import Withdrawn
from registry.inspection.inspector import InspectedPackage
from registry.packages.update_diff import Footprint
from registry.parsing.yaml_text import Value

VersionState = Literal["active", "yanked", "revoked"]


class PublishedRecord(msgspec.Struct, kw_only=True):
    """The stored data of a package. `tree` is the digest of its unpacked files, `files` their paths and sizes.

    `findings` are those in its texts. `notes` are findings from a comparison with earlier versions and other skills.
    `publisher` is the run of the workflow that has published it, if a trusted publisher did.
    """

    title: str
    description: str
    author: str
    license: str | None
    tags: list[str]
    capabilities: list[str]
    tree: str
    findings: SkillFindings
    files: list[tuple[str, int]]
    footprint: Footprint = msgspec.field(name="reach")
    notes: list[Finding] = msgspec.field(default_factory=list)
    needs: RuntimeNeeds = msgspec.field(default_factory=RuntimeNeeds)
    waivers: list[Waiver] = msgspec.field(default_factory=list)
    dependencies: list[SkillDependency] = msgspec.field(default_factory=list)
    publisher: PublisherRun | None = None

    @classmethod
    def of(cls, inspected: InspectedPackage) -> "PublishedRecord":
        """Return the stored data of an inspected package."""
        package, footprint = inspected
        copied = (
            *("title", "description", "author", "license", "tags"),
            *("capabilities", "findings", "needs", "dependencies"),
        )
        files = [(file.path, file.size) for file in package.files]
        fields = {name: getattr(package, name) for name in copied}
        return cls(**fields, tree=package.digest, files=files, footprint=footprint)

    def all_findings(self) -> SkillFindings:
        """Return the findings and the notes, with their common risk, and the waivers."""
        findings = [*self.notes, *self.findings.findings]
        return msgspec.structs.replace(
            self.findings,
            risk=waived_risk(findings, self.waivers),
            findings=findings,
            waivers=self.waivers or UNSET,
        )


class RecordExcerpt(msgspec.Struct, kw_only=True):
    """The parts of a `PublishedRecord` that the log and the list of versions need: a whole one may be a megabyte."""

    tree: str
    description: str
    notes: list[Finding] = msgspec.field(default_factory=list)


class PublishedVersion(msgspec.Struct, kw_only=True):
    """One published version. `checksum` is `sha256:` and the digest of the zip, `skill_file` the text of SKILL.md."""

    skill_id: str
    version: str
    state: VersionState = "active"
    checksum: str
    size: int
    published_at: str
    record: PublishedRecord
    skill_file: str

    @property
    def key(self) -> str:
        """The key of the zip in the blob store (contract, section 6, *Blobs*)."""
        return f"skills/{self.skill_id}-{self.version}.zip"


class VersionSummary(NamedTuple):
    """What is stored of a version besides its record, which may be a megabyte, and its text; and how it is withdrawn.

    `dependencies` are those in the record.

    A version of a deprecated skill is withdrawn as the skill is, unless it is yanked or revoked itself.
    """

    version: str
    state: VersionState
    checksum: str
    size: int
    withdrawn: Withdrawn | None
    dependencies: list[SkillDependency]


def changes_of(record: PublishedRecord | RecordExcerpt) -> list[str]:
    """Return the changes of a version, as sentences."""
    return [note.message for note in record.notes if note.kind == "quality_warning"]


def skill_of(
    version: PublishedVersion, fields: Mapping[str, Value], *, enabled: bool, deprecated: Withdrawn | None
) -> Skill:
    """Return the skill that shows a version. `fields` are those of its front matter."""
    record, metadata = version.record, fields.get("metadata")
    return Skill(
        id=version.skill_id,
        name=record.title,
        description=record.description,
        version=version.version,
        author=record.author,
        tags=record.tags,
        capabilities=record.capabilities,
        enabled=enabled,
        skill_file="SKILL.md",
        scope=version.skill_id.partition("/")[0],
        source=SOURCE,
        source_type="zip",
        installed=False,
        license=record.license,
        digest=version.checksum,
        findings=record.all_findings(),
        metadata=metadata if isinstance(metadata, dict) else {},
        dependencies=[str(dependency) for dependency in record.dependencies],
        withdrawn=deprecated or UNSET,
        publisher=record.publisher or UNSET,
        **{name: getattr(record.needs, name) for name in NEEDS},
    )
