"""`skill-registry init` and `pack`: a new skill, project or pack to begin with."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import click

from registry.cli import command, console
from registry.cli.help.settings_options import settings_options
from registry.domain.dependencies import ANY_VERSION
from registry.domain.skill_file import DESCRIPTION, body_of
from registry.domain.source_entry import registry_of
from registry.errors import RegistryError
from registry.packages.metadata import parse_metadata
from registry.packages.refusal import PackageRefused
from registry.parsing.frontmatter_edit import render
from registry.parsing.yaml_text import Value
from registry.project.lock_file import LOCK_FILE, LockedSkill, LockFileError, read_lock
from registry.project.manifest import Manifest
from registry.project.manifest_file import ManifestFile
from registry.skill_folder import write_skill_folder


@click.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="NAME", required=False)
@click.option("--description", metavar="TEXT", default=DESCRIPTION, help="What it does, and when to use it.")
@click.option("--project", is_flag=True, help="Make skill-project.toml instead, in which 'install' records skills.")
@command.json_option
@settings_options("project.file")
def init(path: Path | None, description: str, project: bool, as_json: bool, **flags: Any) -> None:
    """Make a new skill to begin with, or a project. NAME is a new folder, perhaps with a path: skills/pdf-forms.

    The name has the characters a-z and 0-9, with single hyphens between words. The new skill passes the checks of
    a registry, and 'publish' sends it when no placeholder is left in it.

    With --project, the current folder becomes a project that uses skills: 'skill-registry install ORIGIN' records each
    skill in its skill-project.toml and skills.lock, and 'skill-registry install' installs all of them elsewhere.
    """
    if project == (path is not None):
        command.stop("give the NAME of a new skill, or --project", command.WRONG_USAGE)
    if path is None:
        _make_project(command.load(flags).project.file, as_json=as_json)
    else:
        _make_skill(path, description, as_json=as_json)


def _make_project(file: Path, *, as_json: bool) -> None:
    try:
        ManifestFile(file).create()
    except (RegistryError, OSError) as error:
        command.stop(error)
    if as_json:
        console.show({"path": str(file)}, console.facts_table, as_json=True)
        return
    click.echo(f"Made {file}. 'skill-registry install ORIGIN' adds a skill to it. Check it in, with its {LOCK_FILE}.")


def _make_skill(path: Path, description: str, *, as_json: bool) -> None:
    try:
        path = path.absolute()
    except OSError as error:
        message = f"the current folder cannot be used ({error.strerror}): change to another one"
        command.stop(message, command.WRONG_USAGE)
    _write(path, description, body_of(path.name), {"version": "0.1.0"}, as_json=as_json)


def _write(path: Path, description: str, body: str, metadata: dict[str, Value], *, as_json: bool) -> None:
    """Write a new skill, and say where it is. Exits if it cannot be written, or not be published."""
    fields: dict[str, Value] = {"name": path.name, "description": description, "metadata": metadata}
    try:
        warnings = parse_metadata(render(fields, body).encode(), None).warnings
        path.parent.mkdir(parents=True, exist_ok=True)
        write_skill_folder(path.parent, path.name, fields, body)
    except PackageRefused as refused:
        command.stop("; ".join(f"{finding.message}" for finding in refused.findings), command.WRONG_USAGE)
    except (ValueError, OSError) as error:
        command.stop(error)
    _show(path, [warning.message for warning in warnings], as_json=as_json)


def _show(path: Path, warnings: list[str], *, as_json: bool) -> None:
    answer: dict[str, Any] = {"path": str(path), "warnings": warnings}
    if as_json:
        console.show(answer, console.facts_table, as_json=True)
        return
    for warning in warnings:
        console.warn(warning)
    click.echo(f"Made {path / 'SKILL.md'}. Say in it what the skill does, and then:")
    click.echo(f"  skill-registry serve --skills-dir {quote(str(path.parent))}    serves it")
    click.echo(f"  skill-registry publish {quote(str(path))}    publishes it in a registry")


@click.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="NAME")
@click.option("--description", metavar="TEXT", default=DESCRIPTION, help="What the skills of the pack are for.")
@command.json_option
@settings_options("project.file")
def pack(path: Path, description: str, as_json: bool, **flags: Any) -> None:
    """Make a pack: a skill that needs all skills of the project. NAME is a new folder, such as packs/starter.

    The pack names the skills of one registry that skill-project.toml names, each with the range in the manifest, or
    else from its version in skills.lock on. 'publish' sends it, and installing the pack installs all of them.
    """
    settings = command.load(flags)
    lock = settings.project.file.with_name(LOCK_FILE)
    try:
        manifest = ManifestFile(settings.project.file).read()
        locked = read_lock(lock) if lock.exists() else []
    except (RegistryError, LockFileError) as error:
        command.stop(error)
    if manifest is None:
        command.stop(f"there is no {settings.project.file.name} here: 'skill-registry init --project' makes one")
    packed, left_out = packable(manifest, locked)
    if not packed:
        command.stop(f"{settings.project.file.name} names no skills of a registry: 'skill-registry install' adds some")
    for name in left_out:
        console.warn(f"{name} is left out: it is not from the registry of the others")
    needs = [f"{skill_id}@{requirement}" for skill_id, requirement in packed.items()]
    lines = "\n".join(f"- `{skill_id}`" for skill_id in packed)
    body = f"# {path.name}\n\nThis pack brings along these skills. Choose the one that fits the task.\n\n{lines}\n"
    _write(path, description, body, {"version": "0.1.0", "dependencies": ", ".join(needs)}, as_json=as_json)


def packable(manifest: Manifest, locked: Sequence[LockedSkill]) -> tuple[dict[str, str], list[str]]:
    """Return the skills of the registry that most of a manifest is from, by id with a range, and the ids of the others.

    An entry without an origin is from the registry that the lock names for it.
    """
    entries = {name: entry for entry in locked for name in (entry.id, str(getattr(entry.origin, "skill", "")))}
    origins: dict[str, tuple[str, str, str]] = {}
    for name, dependency in manifest.dependencies.items():
        entry = entries.get(name)
        origin = entry.origin if entry is not None else dependency.ordered(name)
        if (registry := registry_of(origin)) is not None:
            requirement = dependency.version or (f"^{entry.version}" if entry is not None else ANY_VERSION)
            origins[name] = (registry, str(getattr(origin, "skill", name)), requirement)
    counted = Counter(registry for registry, _, _ in origins.values())
    chosen = counted.most_common(1)[0][0] if counted else None
    packed = {skill_id: requirement for registry, skill_id, requirement in origins.values() if registry == chosen}
    left_out = [name for name in manifest.dependencies if name not in origins or origins[name][0] != chosen]
    return dict(sorted(packed.items())), left_out
