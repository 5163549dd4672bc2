"""`skill-registry list` and `show`: the installed skills, and one skill in full."""

import sys
from collections.abc import Iterator
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from registry.cli import command, console
from registry.cli.backend import CommandBackend, Data, Needs
from registry.cli.help.settings_options import settings_options
from registry.cli.risk import place
from registry.cli.search.results import show_list

_PAGE = 100

_FACTS = (
    *("id", "name", "version", "description", "author", "license", "tags", "capabilities", "source", "installed"),
    *("enabled", "skill_file", "source_url", "source_branch", "editable", "download_url", "created_at", "updated_at"),
)


@click.command("list")
@click.option("--limit", metavar="NUMBER", type=click.IntRange(1), help="Maximum number of skills. Default: all.")
@command.json_option
@command.server_option
@settings_options(*command.SHARED_SETTINGS)
def list_all(limit: int | None, as_json: bool, server: str | None, **flags: Any) -> None:
    """List the installed skills. In a pipe, each is a line of tab-separated fields.

    The fields are id, version, risk, source and description.
    """
    answer = command.with_backend(
        flags, server, lambda backend: _listed(backend, limit), Needs(indexes=False), reads=True
    )
    if as_json:
        console.show(answer, console.facts_table, as_json=True)
    else:
        show_list(answer)


def _listed(backend: CommandBackend, limit: int | None) -> Data:
    """Return the cards of all skills, or of the first `limit`, in order of id, and their number."""
    cards: list[Data] = []
    while True:
        page, total = backend.list_skills(_PAGE, len(cards))
        cards += page
        if len(page) < _PAGE:
            return {"total": total, "skills": sorted(cards, key=lambda card: str(card["id"]))[:limit]}


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
        click.echo(_safe(answer["content"]), nl=False, color=True)  # as it is: a pipe gets every byte
    else:
        console.show(answer, _skill_tables, as_json=as_json)


def _safe(text: str) -> str:
    """Return a text of several lines without control characters, if it goes to a terminal."""
    if not sys.stdout.isatty():
        return text
    return "".join(char if char in "\n\t" else console.printable(char) for char in text)


def _skill_tables(skill: console.Data) -> Iterator[Table | str]:
    facts = {name: skill[name] for name in _FACTS if skill.get(name) not in (None, "", [])}
    facts |= {name: ", ".join(value) for name, value in facts.items() if isinstance(value, list)}
    findings = skill["findings"]
    yield from console.facts_table({**facts, "risk": findings["risk"] if findings else "not scanned yet"})
    for warning in skill["warnings"]:
        yield f"[yellow]warning:[/] {escape(console.printable(warning))}"
    if findings and findings["findings"]:
        rows = ((one["severity"], one["rule"], place(one), one["message"]) for one in findings["findings"])
        yield console.table(("Severity", "Rule", "Place", "Finding"), rows)
    if not skill["installed"]:
        yield f"Install it: skill-registry install {escape(console.printable(skill['id']))}"
