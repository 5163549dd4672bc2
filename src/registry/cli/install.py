"""`skill-registry install`, `uninstall` and `upgrade`: change the skills in the skills directory."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import click
import msgspec
from rich.markup import escape
from rich.table import Table

from registry.cli import command, console
from registry.cli.backend import CREATES, CommandBackend, CommandFailed
from registry.cli.help.settings_options import settings_options
from registry.cli.risk import warn_of_risk
from registry.cli.search.last_search import report_install
from registry.cli.user_registries import Registries, registries_of
from registry.config.settings import Settings
from registry.domain.addresses import redact_text
from registry.domain.origins import GitOrigin, LocalOrigin, Origin, RegistryOrigin, SourceOrigin, parse_origin
from registry.errors import RegistryError
from registry.install.schemas import SkillRequest, UpgradeBody
from registry.project.lock_file import LOCK_FILE, LockedSkill, LockFileError, read_lock
from registry.runtime.home_folder import expanded
from registry.skill_folder import tree_digest

_Command = TypeVar("_Command", bound=Callable[..., Any])

_FAILED = "error"


def _options(function: _Command) -> _Command:
    options = settings_options(*command.SHARED_SETTINGS, "project.file")
    return command.json_option(command.server_option(options(function)))


@click.command()
@click.argument("origins", metavar="ORIGIN...", nargs=-1)
@click.option(
    "--from", "registry", metavar="URL", help="The service that has the skills. Default: sources, then your registry."
)
@click.option("--from-lock", is_flag=True, help="Install the exact skills that skills.lock names.")
@click.option("--editable", is_flag=True, help="Link to a folder of this machine instead of copying it.")
@click.option("--no-save", is_flag=True, help="Do not change the project's manifest.")
@_options
def install(
    origins: tuple[str, ...],
    registry: str | None,
    from_lock: bool,
    editable: bool,
    no_save: bool,
    as_json: bool,
    server: str | None,
    **flags: Any,
) -> None:
    """Install skills. Each ORIGIN is the id of a skill in a source or a registry, a URL, or a folder.

    \b
    skill-registry install acme/pdf-forms              the highest active version
    skill-registry install acme/pdf-forms@1.2.0        exactly this version
    skill-registry install 'acme/pdf-forms@^1.2'       the highest version from 1.2.0 and below 2.0.0
    skill-registry install acme/pdf-forms --from https://registry.example.org
    skill-registry install pdf-forms --from http://team.example.org:8080    from a folder that is served there
    skill-registry install https://example.org/a/tree/main/skills/pdf
    skill-registry install https://example.org/pdf.zip
    skill-registry install ../pdf-forms

    A skill that no source lists comes from your registry: the one that SKILL_REGISTRY_SERVER names, or of your login.
    """
    if bool(origins) == from_lock:
        command.stop("give at least one ORIGIN, or --from-lock", command.WRONG_USAGE)
    settings = command.load(dict(flags))
    registries = registries_of(settings, registry)
    if from_lock:
        steps = _locked_steps(settings.project.file.with_name(LOCK_FILE), settings.skills_dir)
    else:
        steps = [_step(origin, registries, editable=editable, save=not no_save) for origin in origins]
        steps = [_reported(settings, step, registries.named) for step in steps]
    _run(steps, flags, server, "Installing", registries.named, as_json=as_json)


@click.command()
@click.argument("skill_ids", metavar="ID...", nargs=-1, required=True)
@_options
def uninstall(skill_ids: tuple[str, ...], as_json: bool, server: str | None, **flags: Any) -> None:
    """Remove skills. This deletes their folders and their entries in the project's manifest and lock."""

    def step(skill_id: str) -> "_Step":
        def remove(backend: CommandBackend) -> dict[str, Any]:
            backend.uninstall(skill_id)
            return {"outcome": "removed"}

        return skill_id, remove

    _run([step(skill_id) for skill_id in skill_ids], flags, server, "Removing", (), as_json=as_json)


@click.command()
@click.argument("skill_id", metavar="[ID]", required=False)
@click.option("--check", is_flag=True, help="Only show what would be updated.")
@click.option("--version", help="Accept only this version; needs ID.")
@_options
def upgrade(
    skill_id: str | None, check: bool, version: str | None, as_json: bool, server: str | None, **flags: Any
) -> None:
    """Update one skill or all from where they came from. Without ID, all installed skills are updated."""
    body = command.converted({"skill_id": skill_id, "check": check, "version": version}, UpgradeBody)
    named = registries_of(command.load(dict(flags)), None).named
    with console.progress_bar("Upgrading", hidden=as_json) as progress:
        answer = command.with_backend(
            flags, server, lambda backend: backend.upgrade(body, progress), CREATES, named=named
        )
    console.show(answer, _tables, as_json=as_json)
    if any(row["outcome"] == _FAILED for row in answer["results"]):
        sys.exit(command.FAILED)


_Step = tuple[str, Callable[[CommandBackend], dict[str, Any]]]
"""The name of a skill, and the function that changes it and returns fields of its row."""


class _AllFailed(Exception):
    """No step has changed anything. `rows` say why."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__()
        self.rows = rows


def _run(
    steps: Sequence[_Step],
    flags: dict[str, Any],
    server: str | None,
    title: str,
    named: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Run every step, even if others fail, and show a row for each. Exit with 1 if one failed."""

    def run(backend: CommandBackend) -> list[dict[str, Any]]:
        rows = []
        with console.progress_bar(title, hidden=as_json) as progress:
            for done, (name, act) in enumerate(steps):
                progress(done, len(steps))
                row = {"id": redact_text(name), "outcome": _FAILED, "reason": None, "resolved_version": None}
                try:
                    row |= act(backend)
                except CommandFailed as error:
                    row["reason"] = redact_text(str(error))
                rows.append(row)
        if all(row["outcome"] == _FAILED for row in rows):
            raise _AllFailed(rows)
        return rows

    try:
        rows = command.with_backend(flags, server, run, CREATES, named=named)
    except _AllFailed as failed:
        rows = failed.rows
    console.show({"results": rows}, _tables, as_json=as_json)
    if any(row["outcome"] == _FAILED for row in rows):
        sys.exit(command.FAILED)


def _tables(answer: console.Data) -> Iterator[Table | str]:
    rows = ((row["id"], row["outcome"], row["resolved_version"] or "") for row in answer["results"])
    yield console.table(("Skill", "Outcome", "Version"), rows)
    for row in answer["results"]:
        if row["reason"]:
            yield f"[yellow]{escape(console.printable(row['id']))}:[/] {escape(console.printable(row['reason']))}"


def _step(text: str, registries: Registries, *, editable: bool, save: bool) -> _Step:
    try:
        origin = parse_origin(text)
    except RegistryError as error:
        command.stop(f"{redact_text(text)}: {error.message}", command.WRONG_USAGE)
    if isinstance(origin, LocalOrigin):
        path = str(expanded(origin.path))  # the server has another working directory
        origin = msgspec.structs.replace(origin, path=path, editable=editable)
    elif editable:
        command.stop(f"{text}: --editable needs a folder", command.WRONG_USAGE)
    if registries.given is None:
        return text, _installing(SkillRequest(origin=origin, save=save), _fallback(origin, registries.default))
    if not isinstance(origin, SourceOrigin):
        command.stop(f"{text}: --from needs the id of a skill, such as acme/pdf-forms", command.WRONG_USAGE)
    return text, _installing(SkillRequest(origin=_at_service(origin, registries.given), save=save))


def _reported(settings: Settings, step: "_Step", named: Sequence[str]) -> "_Step":
    """Return a step that, when it is done, tells the server whose search has shown the skill."""
    name, act = step

    def reported(backend: CommandBackend) -> dict[str, Any]:
        row = act(backend)
        servers = [backend.server, *named] if backend.server else named
        report_install(settings, servers, name.partition("@")[0])
        return row

    return name, reported


def _fallback(origin: Origin, default: str | None) -> RegistryOrigin | None:
    """Return the origin in the default registry, for a skill that no source lists."""
    is_scoped = isinstance(origin, SourceOrigin) and "/" in origin.skill and "." not in origin.skill
    return _in_registry(origin, default) if isinstance(origin, SourceOrigin) and is_scoped and default else None


def _at_service(origin: SourceOrigin, url: str) -> RegistryOrigin | GitOrigin:
    """Return the origin of a skill in the service at a URL: of a package, which has a scope, or of a folder."""
    if "/" in origin.skill:
        return _in_registry(origin, url)
    if origin.version is not None:
        command.stop(f"{origin.skill}: {url} has it in one version only: leave out the version", command.WRONG_USAGE)
    return GitOrigin(url=f"{url}/git/{quote(origin.skill)}.git")


def _in_registry(origin: SourceOrigin, url: str) -> RegistryOrigin:
    return RegistryOrigin(url=url, skill=origin.skill, version=origin.version)


def _installing(
    body: SkillRequest, fallback: RegistryOrigin | None = None
) -> Callable[[CommandBackend], dict[str, Any]]:
    """Return the step that installs a skill, from `fallback` if no source lists it."""

    def install(backend: CommandBackend) -> dict[str, Any]:
        try:
            return backend.install(body)
        except CommandFailed as error:
            if fallback is None or error.code != "SKILL_NOT_FOUND":
                raise _with_hint(error, body.origin) from None
        console.note(f"no source lists {fallback.skill}: asking your registry, {fallback.url}")
        return backend.install(msgspec.structs.replace(body, origin=fallback))

    def act(backend: CommandBackend) -> dict[str, Any]:
        skill = install(backend)
        warn_of_risk(skill)
        reason = "; ".join(skill["warnings"]) or None
        return {"id": skill["id"], "outcome": "installed", "reason": reason, "resolved_version": skill["version"]}

    return act


def _with_hint(error: CommandFailed, origin: object) -> CommandFailed:
    """Return the error, which names the folder that may be meant."""
    if error.code == "SKILL_NOT_FOUND" and isinstance(origin, SourceOrigin) and Path(origin.skill).is_dir():
        return CommandFailed(f"{error}: to install the folder, write ./{origin.skill}", error.code)
    return error


def _locked_steps(path: Path, skills_dir: Path) -> list[_Step]:
    try:
        return [_locked_step(entry, skills_dir) for entry in read_lock(path)]
    except LockFileError as error:
        command.stop(error, command.WRONG_USAGE)


def _locked_step(entry: LockedSkill, skills_dir: Path) -> _Step:
    def act(backend: CommandBackend) -> dict[str, Any]:
        if os.path.lexists(skills_dir / entry.path):
            return _installed(entry, skills_dir / entry.path)
        if entry.origin == LocalOrigin(path=entry.path) or entry.path != entry.id:
            raise CommandFailed(f"the lock names no origin for it: copy its folder {entry.path} by hand")
        return _installing(_locked_request(entry))(backend)

    return entry.id, act


def _locked_request(entry: LockedSkill) -> SkillRequest:
    """Return the request for exactly what the lock names."""
    origin = entry.origin
    if isinstance(origin, RegistryOrigin | SourceOrigin):
        origin = msgspec.structs.replace(origin, version=entry.version)
    return SkillRequest(
        origin=origin, commit=entry.commit, sha256=entry.sha256, package=entry.package, log=entry.log, save=False
    )


def _installed(entry: LockedSkill, folder: Path) -> dict[str, Any]:
    """Return the row of a skill whose folder exists. Raises CommandFailed if it differs from the lock."""
    try:
        matches = tree_digest(folder) == f"sha256:{entry.sha256}"
    except OSError:
        matches = False
    if not matches:
        raise CommandFailed("its folder exists and differs from the lock: uninstall it first")
    return {"outcome": "up_to_date", "resolved_version": entry.version}
