"""`skill-registry init`: a new skill to begin with."""

from pathlib import Path
from typing import Any

import click

from registry.cli import command, console
from registry.domain.skill_file import DESCRIPTION, body_of
from registry.packages.metadata import parse_metadata
from registry.packages.refusal import PackageRefused
from registry.parsing.frontmatter_edit import render
from registry.parsing.yaml_text import Value
from registry.skill_folder import write_skill_folder


@click.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="NAME")
@click.option("--description", metavar="TEXT", default=DESCRIPTION, help="What it does, and when to use it.")
@command.json_option
def init(path: Path, description: str, as_json: bool) -> None:
    """Make a new skill to begin with. NAME is a new folder, perhaps with a path, such as skills/pdf-forms.

    The name has the characters a-z and 0-9, with single hyphens between words. The new skill passes the checks of
    a registry, and 'publish' sends it when no placeholder is left in it.
    """
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
        click.echo(f"skill-registry: warning: {console.printable(warning)}", err=True)
    click.echo(f"Made {path / 'SKILL.md'}. Say in it what the skill does, and then:")
    click.echo(f"  skill-registry serve --skills-dir {path.parent}    serves it")
    click.echo(f"  skill-registry publish {path}    publishes it in a registry")
