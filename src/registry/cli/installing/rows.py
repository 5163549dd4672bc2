"""The rows of commands that install and upgrade skills: one for each skill, of what became of it."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from registry.cli import command, console
from registry.cli.help.settings_options import Command, settings_options
from registry.cli.installing.local_changes import difference
from registry.cli.installing.steps import Row
from registry.config.settings import Settings
from registry.domain.file_names import printable_name

FAILED_OUTCOME = "error"

REQUEST_FIELD = re.compile(r"\b(?:origin|skill_id|version)(?:\.\w+)*: (?=\S)")
"""The name of a field of the request in front of what is wrong with it. The user has typed an argument instead."""


def installing_options(function: Command) -> Command:
    """Give a command `--json` and the options that select a catalog and a project."""
    options = settings_options(*command.SHARED_SETTINGS, "project.file")
    return command.global_option(command.json_option(command.server_option(options(function))))


def ask_of_withdrawals(settings: Settings, server: str | None, named: Sequence[str], rows: Sequence[Row]) -> None:
    """Ask the registries of what is installed for two seconds what was withdrawn of what a command has left as it was.

    A command for a server has nothing here.
    """
    if server is None:
        from registry.cli.checking.asking import warn_of_withdrawals  # noqa: PLC0415 - loads the proofs of logs

        warn_of_withdrawals(settings, named, {row["id"] for row in rows if row["outcome"] in ("installed", "updated")})


def exit_if_failed(rows: Sequence[Row]) -> None:
    """Exit if a row has failed, with a line for each that has."""
    failures = [row for row in rows if row["outcome"] == FAILED_OUTCOME]
    for row in failures:
        console.tell(f"{row['id']}: {REQUEST_FIELD.sub('', row['reason'] or 'it failed')}")
    if failures:
        sys.exit(command.FAILED)


def rows_shown(answer: console.Data) -> Iterator[console.Part]:
    """Yield the rows of what did not fail. Errors are on standard error."""
    changes = [row for row in answer["results"] if row["outcome"] != FAILED_OUTCOME]
    if changes:
        rows = ((row["id"], row["outcome"].replace("_", " "), row["resolved_version"] or "") for row in changes)
        yield console.table(("Skill", "Outcome", "Version"), rows)
    for row in changes:
        if row.get("folder"):
            yield f"{row['id']} is in {_from_here(Path(row['folder']))}"
        if row["reason"]:
            yield console.line((f"{row['id']}:", "yellow"), f" {row['reason']}")
        yield from difference(row)


def _from_here(path: Path) -> Path:
    """Return a path as it is seen from the working directory, if it is below that."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def placed(skills_dir: Path, row: Row) -> Row:
    """Return a row with the whole path of the folder, or without it where the skills directory has no such folder.

    A server may have put the skill into another directory.
    """
    rest = {name: value for name, value in row.items() if name != "folder"}
    folder = skills_dir / row["folder"] if row.get("folder") else None
    return rest if folder is None or not folder.is_dir() else rest | {"folder": printable_name(str(folder))}
