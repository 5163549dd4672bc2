"""`skill-registry check`: checks skills offline, for authors, for pre-commit and for CI."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click
import msgspec

from registry.cli import command, console
from registry.cli.checking.formats import format_options
from registry.cli.checking.sarif import sarif_log
from registry.domain.counts import counted
from registry.packages.checking import CheckReport
from registry.packages.checking import check as check_paths


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@format_options
@click.option("--output", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@click.pass_context
def check(
    context: click.Context,
    paths: tuple[Path, ...],
    output: Literal["text", "json", "sarif"],
    as_json: bool,
    file: Path | None,
    strict: bool,
) -> None:
    """Check the skills at PATH, offline. Exit code 1: a skill cannot be published or installed.

    PATH is a skill folder, a folder of skills, a zip, or a file of a skill. The rules are those of agentskills.io,
    those of 'publish' and 'install', and those that find dangerous content. Each finding has its file and line.

    \b
    skill-registry check .
    skill-registry check skills --format sarif --output skills.sarif
    """
    try:
        report = check_paths(paths, context.find_root().obj)
        answer = _answer(report, "json" if as_json else output)
        if file is not None:
            lines = "\n".join(_lines(report))
            text = lines if answer is None else msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()
            file.write_text(f"{text}\n", encoding="utf-8")
        elif answer is not None:
            console.show_json(answer)
        else:
            for line in _lines(report):
                click.echo(console.printable(line))  # not folded, so that editors and scripts find file and line
    except OSError as error:
        command.stop(error)
    _summarise(report)
    sys.exit(command.FAILED if report.errors or (strict and report.warnings) else 0)


def _answer(report: CheckReport, output: str) -> object | None:
    """Return what is written as JSON; None for lines."""
    if output == "sarif":
        return sarif_log(report, Path.cwd())
    return report if output == "json" else None


def _lines(report: CheckReport) -> Iterator[str]:
    for skill in report.skills:
        for finding in skill.findings:
            place = f"{skill.path}/{finding.file}" if finding.file else skill.path
            where = f"{place}:{finding.line}" if finding.line else place
            yield f"{where}: {finding.level}: {finding.message} ({finding.rule})"


def _summarise(report: CheckReport) -> None:
    faults = f"{counted(report.errors, 'error')}, {counted(report.warnings, 'warning')}"
    console.tell(f"{counted(len(report.skills), 'skill')}: {faults}")
    for skill in report.skills:
        if not skill.installable:
            console.tell(f"{skill.path} cannot be installed")
