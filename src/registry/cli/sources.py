"""`skill-registry sources`: list, add, remove and refresh the places skills are advertised."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec
from rich.markup import escape
from rich.table import Table

from registry.cli import command, console
from registry.domain.source_entry import SourceEntry


@click.group()
def sources() -> None:
    """List, add, remove and refresh sources of skills.

    Skills of sources are found by search before they are installed. Sources can also be set in registry.toml, as
    [[sources]] tables.
    """


@sources.command("list")
@command.target_options
def list_sources(as_json: bool, server: str | None, **flags: Any) -> None:
    """List the sources, how many skills each lists, and what is amiss."""
    _show(command.with_target(flags, server, lambda target: target.sources()), as_json=as_json)


@sources.command()
@click.argument("name")
@click.argument("location")
@click.option("--type", "kind", type=click.Choice(["git", "http", "zip", "local"]), help="Default: told by LOCATION.")
@click.option("--branch", help="Branch of a git repository; default: the one it names itself.")
@click.option("--priority", type=int, default=100, show_default=True, help="A lower number comes first.")
@command.target_options
def add(
    name: str,
    location: str,
    kind: str | None,
    branch: str | None,
    priority: int,
    as_json: bool,
    server: str | None,
    **flags: Any,
) -> None:
    """Add the source NAME: LOCATION is a URL of a git repository, marketplace (.json) or .zip, or a folder."""
    kind = kind or _kind(location)
    where = {"path": str(Path(location).expanduser().absolute())} if kind == "local" else {"url": location}
    given = {"name": name, "type": kind, "branch": branch, "priority": priority, **where}
    try:
        source = msgspec.convert(given, SourceEntry)
    except msgspec.ValidationError as error:
        command.stop(f"this cannot be a source: {error}", command.WRONG_USE)
    added = command.with_target(flags, server, lambda target: target.add_source(source))
    _show([added], as_json=as_json)


@sources.command()
@click.argument("name")
@command.target_options
def remove(name: str, as_json: bool, server: str | None, **flags: Any) -> None:
    """Remove the source NAME and what it lists; installed skills stay."""
    removed = command.with_target(flags, server, lambda target: target.remove_source(name))
    console.show(removed, console.facts_table, as_json=as_json)


@sources.command()
@command.target_options
def refresh(as_json: bool, server: str | None, **flags: Any) -> None:
    """Read every source anew."""
    _show(command.with_target(flags, server, lambda target: target.refresh_sources()), as_json=as_json)


def _kind(location: str) -> str:
    if not location.lower().startswith(("http://", "https://")):
        return "local"
    path = urlsplit(location).path.lower()
    if path.endswith(".zip"):
        return "zip"
    return "http" if path.endswith((".json", "/marketplace")) else "git"


def _show(found: list[dict[str, Any]], *, as_json: bool) -> None:
    console.show({"sources": found}, _tables, as_json=as_json)


def _tables(answer: console.Data) -> Iterator[Table | str]:
    columns = ("Source", "Type", "Skills", "Refreshed", "Where")
    rows = (
        (one["name"], one["type"], str(one["skills"]), one["last_refreshed"] or "", one["url"] or one["path"] or "")
        for one in answer["sources"]
    )
    yield console.table(columns, rows)
    for one in answer["sources"]:
        for problem in (*([one["error"]] if one["error"] else []), *one["warnings"]):
            yield f"[yellow]{escape(one['name'])}:[/] {escape(console.printable(problem))}"
