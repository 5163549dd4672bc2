"""`skill-registry audit`: asks the registries of a project what they have withdrawn of what it has locked."""

import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import click
import msgspec

from registry.cli import command, console
from registry.cli.backend import CommandFailed
from registry.cli.checking.asking import ask, remember, said_of
from registry.cli.checking.formats import format_options
from registry.cli.checking.sarif import sarif_log
from registry.cli.help.settings_options import settings_options
from registry.cli.installing.agents import places_of
from registry.cli.project import verifier_of
from registry.cli.user_registries import registries_of
from registry.domain.counts import counted
from registry.domain.durations import parse_duration
from registry.domain.findings import Severity
from registry.domain.withdrawals import WithdrawalState
from registry.install.audit import AuditReport, ChangedFindings, changed_findings
from registry.packages.checking import CheckedFinding, CheckedSkill, CheckReport
from registry.project.agent_folders import AgentCopies
from registry.project.lock_file import LOCK_FILE, LockFileError, read_lock

CANNOT_TELL = 2
_ANY_AGE = "any"
_SEVERITIES: dict[WithdrawalState, Severity] = {"revoked": "high", "yanked": "medium", "deprecated": "low"}


@click.command()
@click.option(
    "--max-age",
    default="1d",
    metavar="AGE",
    help="The greatest age of what a registry has signed, such as 12h or 3d; 'any' for any.",
)
@click.option(
    "--key", metavar="KEY", help="The public key of the log, or a file that holds it. Default: that in the lock."
)
@format_options
@command.global_option
@settings_options("skills_dir", "data_dir", "project.file")
def audit(max_age: str, key: str | None, output: Literal["text", "json", "sarif"], as_json: bool, **flags: Any) -> None:
    """Ask registries what of skills.lock they have withdrawn. Exit codes: 1 something, 2 it cannot tell.

    For each registry, the command reads the signed log from the locked releases on, and checks that it has only grown
    since. What was yanked, revoked or deprecated is shown with its reason and what replaces it. It cannot tell if a
    registry does not answer, if its log was forked, or if what it has signed is older than --max-age.

    Skills of registries in which the rules of this release find something else than when they were locked are listed
    too. 'verify' compares files with the lock, offline.

    \b
    skill-registry audit
    skill-registry audit --max-age 3d --format sarif > audit.sarif
    """
    is_global = flags["is_global"]
    settings = command.load(flags)
    path = settings.project.file.with_name(LOCK_FILE)
    try:
        locked = read_lock(path)
        named = registries_of(settings, None).named
        report = ask(settings, named, locked, _age(max_age), verifier_of(key))
        remember(settings, locked, report)
        report.changed = list(changed_findings(locked, settings.skills_dir))
        copies = AgentCopies(places_of(settings, is_global=is_global))
        for skill in report.withdrawn:
            skill.agent_folders = copies.holders(next(entry.path for entry in locked if entry.id == skill.id))
    except (LockFileError, CommandFailed, OSError) as error:
        command.stop(error, CANNOT_TELL)
    if output == "sarif":
        console.show_json(sarif_log(_checked(report, path), Path.cwd()))
    else:
        console.show(msgspec.to_builtins(report), _parts, as_json=as_json or output == "json")
    if report.withdrawn:
        sys.exit(command.FAILED)
    if report.unclear:
        sys.exit(CANNOT_TELL)


def _age(text: str) -> timedelta | None:
    if text == _ANY_AGE:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        command.stop(f"--max-age {text}: {error}; or '{_ANY_AGE}'", command.WRONG_USAGE)


def _parts(answer: console.Data) -> Iterator[console.Part]:
    report = msgspec.convert(answer, AuditReport)
    for skill in report.withdrawn:
        held = f" (agents read it from {', '.join(skill.agent_folders)})" if skill.agent_folders else ""
        yield console.line((skill.withdrawn.state, "red"), f"  {said_of(skill)}{held}")
    for name, reason in report.unclear.items():
        yield console.line(("cannot tell", "yellow"), f"  {name}: {reason}")
    for changed in report.changed:
        yield console.line(("findings", "yellow"), f"  {_change(changed)}")
    logs = ", ".join(f"{log.registry} ({counted(log.size, 'entry')})" for log in report.logs)
    skills = counted(report.from_registries, "skill")
    yield f"Withdrawn: {len(report.withdrawn)} of {skills} from registries"
    if logs:
        yield f"Asked: {logs}"


def _change(changed: ChangedFindings) -> str:
    parts = [f"risk {changed.before} when it was locked, {changed.risk} now"] if changed.before != changed.risk else []
    parts += [f"new: {', '.join(changed.new)}"] if changed.new else []
    parts += [f"no longer: {', '.join(changed.gone)}"] if changed.gone else []
    return f"{changed.id} {changed.version}: {'; '.join(parts)}"


def _checked(report: AuditReport, lock: Path) -> CheckReport:
    """Return the report as findings in the lock file, at the line of each skill."""
    lines = _lines(lock)
    findings = [
        _finding(
            "error", skill.withdrawn.state, said_of(skill), lines.get(skill.id), _SEVERITIES[skill.withdrawn.state]
        )
        for skill in report.withdrawn
    ]
    findings += [
        _finding("warning", "cannot-tell", f"{name}: {reason}", lines.get(name, 1), "medium")
        for name, reason in report.unclear.items()
    ]
    findings += [
        _finding("warning", "findings-changed", _change(changed), lines.get(changed.id), "low")
        for changed in report.changed
    ]
    folder = lock.parent
    path = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    skill = CheckedSkill(
        path=path.as_posix(),
        name=None,
        version=None,
        publishable=False,
        installable=False,
        not_installable=None,
        findings=findings,
    )
    return CheckReport(skills=[skill], errors=len(report.withdrawn), warnings=len(findings) - len(report.withdrawn))


def _finding(
    level: Literal["error", "warning"], rule: str, message: str, line: int | None, severity: Severity
) -> CheckedFinding:
    return CheckedFinding(
        level=level, rule=rule, message=message, file=LOCK_FILE, line=line, kind="security_issue", severity=severity
    )


def _lines(lock: Path) -> dict[str, int]:
    """Return the line of each skill in the lock, from 1, by id."""
    texts: Sequence[str] = lock.read_text(encoding="utf-8").splitlines()
    return {
        text.removeprefix('id = "').removesuffix('"'): number
        for number, text in enumerate(texts, start=1)
        if text.startswith('id = "')
    }
