"""`skill-registry list` and `show`: the installed skills, and one skill in full."""

import sys
from collections.abc import Iterator
from typing import Any

import click

from registry.cli import command, console
from registry.cli.backend import CommandBackend, Data, Needs
from registry.cli.help.settings_options import settings_options
from registry.cli.risk import place
from registry.cli.search.results import show_list

_FACTS = (
    *("id", "name", "version", "description", "author", "license", "tags", "capabilities", "source", "installed"),
    *("enabled", "skill_file", "source_url", "source_branch", "editable", "download_url", "created_at", "updated_at"),
)


@click.command("list")
@click.option(
    "--limit",
    metavar="NUMBER",
    type=click.IntRange(1),
    help="At most this many skills, the oldest first. Default: all.",
)
@command.json_option
@command.server_option
@settings_options(*command.SHARED_SETTINGS)
def list_all(limit: int | None, as_json: bool, server: str | None, **flags: Any) -> None:
    """List the installed skills. In a pipe, each is a line of tab-separated fields.

    The fields are id, version, risk, source and description.
    """
    cards, total = command.with_backend(
        flags, server, lambda backend: backend.list_skills(limit), Needs(indexes=False), reads=True
    )
    answer = {"total": total, "skills": sorted(cards, key=lambda card: str(card["id"]))}
    if as_json:
        console.show(answer, console.facts_table, as_json=True)
    else:
        show_list(answer)


@click.command()
@click.argument("skill_id", metavar="ID")
@click.option("--content", is_flag=True, help="Print the SKILL.md, and nothing else.")
@command.json_option
@command.server_option
@settings_options(*command.SHARED_SETTINGS)
def show(skill_id: str, content: bool, as_json: bool, server: str | None, **flags: Any) -> None:
    """Show a skill in full, with what was found in it."""

    def read(backend: CommandBackend) -> Data:
        return {"content": backend.content(skill_id)} if content else backend.skill(skill_id)

    answer = command.with_backend(flags, server, read, Needs(indexes=False), reads=True)
    if content and not as_json:
        click.echo(_for_output(answer["content"]), nl=False, color=True)  # as it is: a pipe gets every byte
    else:
        console.show(answer, _skill_tables, as_json=as_json)


def _for_output(text: str) -> str:
    """Return a text as it is for another program, and with escapes for a terminal."""
    return console.printable_lines(text) if sys.stdout.isatty() else text


def _skill_tables(skill: console.Data) -> Iterator[console.Part]:
    facts = {name: skill[name] for name in _FACTS if skill.get(name) not in (None, "", [])}
    facts |= {name: ", ".join(map(str, value)) for name, value in facts.items() if isinstance(value, list)}
    findings = skill["findings"]
    yield from console.facts_table({**facts, "risk": findings["risk"] if findings else "not scanned yet"})
    for warning in skill["warnings"]:
        yield console.line(("warning:", "yellow"), f" {warning}")
    if findings and findings["findings"]:
        rows = ((one["severity"], one["rule"], place(one), one["message"]) for one in findings["findings"])
        yield console.table(("Severity", "Rule", "Place", "Finding"), rows)
    if not skill["installed"] and not skill.get("installable", True):
        yield f"It cannot be installed: {skill['not_installable']}"
    elif not skill["installed"]:
        yield f"Install it: skill-registry install {skill['id']}"
