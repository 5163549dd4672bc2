"""Checks skills on disk as a scan, an installation and a registry would, without any of them."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from registry.domain.file_names import printable_name
from registry.domain.findings import Finding, Kind, Severity
from registry.outbound.git_run import GitError
from registry.packages.author_paths import skills_at
from registry.packages.authoring import AuthorFolder
from registry.packages.ignored_files import ignored_by_git
from registry.packages.limits import DEFAULT_LIMITS
from registry.packages.metadata import examine
from registry.packages.package import Package, read_folder, unpack
from registry.packages.refusal import PackageRefused, structure_error
from registry.skill_folder import find_skill_file, find_skill_folders, has_skill_file
from registry.skill_folder.reading import PROJECT_FILE
from registry.skill_folder.tree import SKILL_FILE

Level = Literal["error", "warning"]

_SHOWN_FOLDERS = 5
_COPIED = ("rule", "message", "file", "line", "kind", "severity")


class CheckedFinding(msgspec.Struct, kw_only=True):
    """One finding: an error prevents publishing or installing.

    `line` counts from 1, `file` is a path in the skill's folder.
    """

    level: Level
    rule: str
    message: str
    file: str | None
    line: int | None
    kind: Kind
    severity: Severity


class CheckedSkill(msgspec.Struct, kw_only=True):
    """One skill: what it is, whether it can be published and installed, and what was found in it.

    `path` is as it was given, or below that. `not_installable` is the reason, null if it can be installed.
    """

    path: str
    name: str | None
    version: str | None
    publishable: bool
    installable: bool
    not_installable: str | None
    findings: list[CheckedFinding]


class CheckReport(msgspec.Struct, kw_only=True):
    """What was found in all skills."""

    skills: list[CheckedSkill]
    errors: int
    warnings: int


def check(paths: Sequence[Path], environment: Mapping[str, str]) -> CheckReport:
    """Check the skills at some paths. `environment` is that of the user, for git. Raises OSError."""
    skills = [check_skill(path, environment) for path in skills_at(paths)]
    levels = [finding.level for skill in skills for finding in skill.findings]
    return CheckReport(skills=skills, errors=levels.count("error"), warnings=levels.count("warning"))


def check_skill(path: Path, environment: Mapping[str, str]) -> CheckedSkill:
    """Check a skill folder or a zip of one. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="skill-registry-check-") as place:
        if path.is_dir():
            folder = path.resolve()  # of a link, such as `npx skills` makes for each agent
            return _checked_folder(path, folder, folder.name, Path(place), environment)
        try:
            unpack(path, Path(place) / "unpacked", DEFAULT_LIMITS)
        except PackageRefused as refused:
            return _checked(path, None, list(refused.findings), [], list(refused.findings))
        return _checked_zip(path, Path(place) / "unpacked", Path(place))


def _checked_zip(path: Path, unpacked: Path, place: Path) -> CheckedSkill:
    """Check the skill in a zip: at its top, else in the only folder there with a SKILL.md, else the only one below."""
    if has_skill_file(unpacked):
        return _checked_folder(path, unpacked, None, place, {})
    skills = list(find_skill_folders(unpacked))
    skills = [folder for folder in skills if folder.parent == unpacked] or skills
    if not skills:
        return _checked_folder(path, unpacked, None, place, {})
    names = [printable_name(folder.relative_to(unpacked).as_posix()) for folder in skills]
    if len(names) > 1:
        shown = ", ".join(names[:_SHOWN_FOLDERS]) + (", …" if len(names) > _SHOWN_FOLDERS else "")
        fault = structure_error("several-skills", f"it has the skills {shown}: pack each of them alone, or unpack it")
        return _checked(path, None, [fault], [], [fault])
    deep = f"the skill is in {names[0]}: to publish it, pack it with its {SKILL_FILE} at the top"
    faults = [structure_error("no-skill-file", deep)] if skills[0].parent != unpacked else []
    return _checked_folder(path, skills[0], skills[0].name, place, {}, faults)


def _checked_folder(
    path: Path,
    folder: Path,
    named: str | None,
    place: Path,
    environment: Mapping[str, str],
    unpublishable: Sequence[Finding] = (),
) -> CheckedSkill:
    """Check the skill in `folder`, which is shown as `path`, by the rules for publishing and those for installing.

    `unpublishable` says what else keeps it from being published.
    """
    package, refusal = None, list[Finding]()
    try:
        package = read_folder(folder, place / "installed", named=named or path.stem)
    except PackageRefused as refused:
        refusal = list(refused.findings)
    faults, warnings = _author_findings(folder, named)
    errors = [*unpublishable, *faults, *refusal, *_pack_faults(folder, place / "package.zip", environment)]
    findings = package.findings.findings if package else []
    warnings += [
        finding for finding in findings if finding.rule != "reading"
    ]  # those of the SKILL.md are there already
    return _checked(path, package, errors, warnings, refusal)


def _author_findings(folder: Path, named: str | None) -> tuple[list[Finding], list[Finding]]:
    """Return the faults and warnings of the metadata; none without a SKILL.md, which an installation misses.

    They name the file as it is there, whatever the case of its name.
    """
    file, project = find_skill_file(folder), folder / PROJECT_FILE
    if file is None or not file.is_file():
        return [], []
    data = project.read_bytes() if project.is_file() else None
    examined = examine(file.read_bytes(), data, file_name=file.name, folder=named)
    return _naming(file.name, examined.faults), _naming(file.name, examined.warnings)


def _naming(name: str, findings: Iterable[Finding]) -> list[Finding]:
    return [
        msgspec.structs.replace(finding, file=name) if finding.file == SKILL_FILE else finding for finding in findings
    ]


def _pack_faults(folder: Path, package: Path, environment: Mapping[str, str]) -> list[Finding]:
    """Return the reasons why `publish` would not even send the folder."""
    try:
        ignored = ignored_by_git(folder, environment) if environment else frozenset[str]()
        with package.open("w+b") as file:
            AuthorFolder(folder, ignored).pack(file)
    except PackageRefused as refused:
        return list(refused.findings)
    except GitError as error:
        return [structure_error("git", str(error))]
    return []


def _checked(
    path: Path, package: Package | None, errors: list[Finding], warnings: list[Finding], refusal: list[Finding]
) -> CheckedSkill:
    errors = _distinct(errors)
    return CheckedSkill(
        path=path.as_posix(),
        name=package.title if package else None,
        version=package.version if package else None,
        publishable=not errors,
        installable=package is not None,
        not_installable="; ".join(dict.fromkeys(finding.message for finding in refusal)) or None,
        findings=[
            *(_leveled(finding, "error") for finding in errors),
            *(_leveled(finding, "warning") for finding in _distinct(warnings)),
        ],
    )


def _distinct(findings: list[Finding]) -> list[Finding]:
    """Return the findings without those that another rule says in the same words, in order of file and line."""
    first = {(finding.file, finding.message): finding for finding in reversed(findings)}
    return sorted(first.values(), key=lambda finding: (finding.file or "", finding.line or 0, finding.message))


def _leveled(finding: Finding, level: Level) -> CheckedFinding:
    return CheckedFinding(level=level, **{name: getattr(finding, name) for name in _COPIED})
