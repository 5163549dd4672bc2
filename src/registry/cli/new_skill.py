"""`skill-registry init`: a new skill or project to begin with."""

from pathlib import Path
from typing import Any

import click

from registry.cli import command, console
from registry.cli.help.settings_options import settings_options
from registry.domain.skill_file import DESCRIPTION, body_of
from registry.errors import RegistryError
from registry.packages.metadata import parse_metadata
from registry.packages.refusal import PackageRefused
from registry.parsing.frontmatter_edit import render
from registry.parsing.yaml_text import Value
from registry.project.lock_file import LOCK_FILE
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
    fields: dict[str, Value] = {"name": path.name, "description": description, "metadata": {"version": "0.1.0"}}
    body = body_of(path.name)
    try:
        warnings = parse_metadata(render(fields, body).encode(), None).warnings
        path.parent.mkdir(parents=True, exist_ok=True)
        write_skill_folder(path.parent, path.name, fields, body)
    except PackageRefused as refused:
        command.stop("; ".join(f"{one.message}" for one in refused.findings), command.WRONG_USAGE)
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
    click.echo(f"  skill-registry serve --skills-dir {path.parent}    serves it")
    click.echo(f"  skill-registry publish {path}    publishes it in a registry")
