"""`skill-registry install`, `uninstall` and `upgrade`: what is in the skills directory, from where it comes."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from rich.markup import escape
from rich.table import Table

from registry.cli import command, console
from registry.cli.backend import CommandBackend, CommandFailed
from registry.domain.origins import LocalOrigin, parse_origin
from registry.errors import RegistryError
from registry.install.schemas import SkillRequest, UpgradeBody
from registry.project.lock_file import LOCK_FILE, LockedSkill, LockFileError, read_lock
from registry.skill_folder import tree_digest

_Command = TypeVar("_Command", bound=Callable[..., Any])

_FAILED = "error"


def _options(made: _Command) -> _Command:
    options = command.settings_options(*command.SHARED_SETTINGS, "project.file")
    return command.json_option(command.server_option(options(made)))


@click.command()
@click.argument("origins", metavar="ORIGIN...", nargs=-1)
@click.option("--from-lock", is_flag=True, help="Install what skills.lock names, exactly as it says.")
@click.option("--editable", is_flag=True, help="Use a folder of this machine in place, by a link.")
@click.option("--no-save", is_flag=True, help="Leave the project's manifest as it is.")
@_options
def install(
    origins: tuple[str, ...],
    from_lock: bool,
    editable: bool,
    no_save: bool,
    as_json: bool,
    server: str | None,
    **flags: Any,
) -> None:
    """Install skills; each ORIGIN is an id of a source, a URL, or a folder.

    \b
    skill-registry install acme/pdf-forms              from the source acme
    skill-registry install pdf-forms@1.2.0             from the only source that has it
    skill-registry install https://example.org/a/tree/main/skills/pdf
    skill-registry install https://example.org/pdf.zip
    skill-registry install ../pdf-forms
    """
    if bool(origins) == from_lock:
        command.stop("name what to install, or use --from-lock", command.WRONG_USE)
    settings = command.load(dict(flags))
    if from_lock:
        steps = _locked_steps(settings.project.file.with_name(LOCK_FILE), settings.skills_dir)
    else:
        steps = [_step(origin, editable=editable, save=not no_save) for origin in origins]
    _run(steps, flags, server, "Installing", as_json=as_json)


@click.command()
@click.argument("skill_ids", metavar="ID...", nargs=-1, required=True)
@_options
def uninstall(skill_ids: tuple[str, ...], as_json: bool, server: str | None, **flags: Any) -> None:
    """Remove skills with their folders, and from the project's manifest and lock."""

    def step(skill_id: str) -> "_Step":
        def remove(target: CommandBackend) -> dict[str, Any]:
            target.uninstall(skill_id)
            return {"outcome": "removed"}

        return skill_id, remove

    _run([step(one) for one in skill_ids], flags, server, "Removing", as_json=as_json)


@click.command()
@click.argument("skill_id", metavar="[ID]", required=False)
@click.option("--check", is_flag=True, help="Only say what would be upgraded.")
@click.option("--version", help="Take this version only; ID is needed.")
@_options
def upgrade(
    skill_id: str | None, check: bool, version: str | None, as_json: bool, server: str | None, **flags: Any
) -> None:
    """Fetch the skill ID, or all that were installed, anew from where they came from."""
    try:
        body = msgspec.convert({"skill_id": skill_id, "check": check, "version": version}, UpgradeBody)
    except msgspec.ValidationError as error:
        command.stop(f"this cannot be upgraded: {error}", command.WRONG_USE)
    with console.progress_bar("Upgrading", hidden=as_json) as progress:
        answer = command.with_target(flags, server, lambda target: target.upgrade(body, progress), making=True)
    console.show(answer, _tables, as_json=as_json)
    if any(row["outcome"] == _FAILED for row in answer["results"]):
        sys.exit(command.FAILED)


_Step = tuple[str, Callable[[CommandBackend], dict[str, Any]]]
"""What is done for one skill: its name, and what does it and returns parts of its row."""


def _run(steps: Sequence[_Step], flags: dict[str, Any], server: str | None, what: str, *, as_json: bool) -> None:
    """Do every step, whatever becomes of the others, show a row for each, and fail where one did."""

    def each(target: CommandBackend) -> list[dict[str, Any]]:
        rows = []
        with console.progress_bar(what, hidden=as_json) as progress:
            for done, (name, act) in enumerate(steps):
                progress(done, len(steps))
                row = {"id": name, "outcome": _FAILED, "reason": None, "resolved_version": None}
                try:
                    row |= act(target)
                except CommandFailed as error:
                    row["reason"] = str(error)
                rows.append(row)
        return rows

    rows = command.with_target(flags, server, each, making=True)
    console.show({"results": rows}, _tables, as_json=as_json)
    if any(row["outcome"] == _FAILED for row in rows):
        sys.exit(command.FAILED)


def _tables(answer: console.Data) -> Iterator[Table | str]:
    rows = ((row["id"], row["outcome"], row["resolved_version"] or "") for row in answer["results"])
    yield console.table(("Skill", "Outcome", "Version"), rows)
    for row in answer["results"]:
        if row["reason"]:
            yield f"[yellow]{escape(console.printable(row['id']))}:[/] {escape(console.printable(row['reason']))}"


def _step(text: str, *, editable: bool, save: bool) -> _Step:
    try:
        origin = parse_origin(text)
    except RegistryError as error:
        command.stop(f"{text}: {error.message}", command.WRONG_USE)
    if isinstance(origin, LocalOrigin):
        path = str(Path(origin.path).expanduser().absolute())  # the server has another working directory
        origin = msgspec.structs.replace(origin, path=path, editable=editable)
    elif editable:
        command.stop(f"{text}: only a folder can be used in place", command.WRONG_USE)
    return text, _installing(SkillRequest(origin=origin, save=save))


def _installing(body: SkillRequest) -> Callable[[CommandBackend], dict[str, Any]]:
    def act(target: CommandBackend) -> dict[str, Any]:
        skill = target.install(body)
        reason = "; ".join(skill["warnings"]) or None
        return {"id": skill["id"], "outcome": "installed", "reason": reason, "resolved_version": skill["version"]}

    return act


def _locked_steps(path: Path, skills_dir: Path) -> list[_Step]:
    try:
        return [_locked_step(entry, skills_dir) for entry in read_lock(path)]
    except LockFileError as error:
        command.stop(str(error), command.WRONG_USE)


def _locked_step(entry: LockedSkill, skills_dir: Path) -> _Step:
    def act(target: CommandBackend) -> dict[str, Any]:
        if os.path.lexists(skills_dir / entry.path):
            return _there(entry, skills_dir / entry.path)
        if entry.origin == LocalOrigin(path=entry.path) or entry.path != entry.id:
            raise CommandFailed(f"nothing installed it: its folder {entry.path} must be put there by hand")
        body = SkillRequest(origin=entry.origin, commit=entry.commit, sha256=entry.sha256, save=False)
        return _installing(body)(target)

    return entry.id, act


def _there(entry: LockedSkill, folder: Path) -> dict[str, Any]:
    """Return the row of a skill whose place is taken. Raises CommandFailed where it is not what is locked."""
    try:
        same = tree_digest(folder) == f"sha256:{entry.sha256}"
    except OSError:
        same = False
    if not same:
        raise CommandFailed("its folder is there and is not what is locked: uninstall it first")
    return {"outcome": "up_to_date", "resolved_version": entry.version}
