"""`skill-registry sources`: list, add, remove and refresh the sources of skills."""

from collections.abc import Iterator
from typing import Any, get_args
from urllib.parse import urlsplit

import click

from registry.cli import command, console
from registry.cli.backend import CREATES, CommandBackend, CommandFailed, Data
from registry.cli.help.known_names import complete_source
from registry.domain.hosts import is_loopback_host
from registry.domain.repository_addresses import is_remote
from registry.domain.source_entry import NewSource, SourceKind
from registry.errors import RegistryError
from registry.runtime.home_folder import expanded


@click.group()
def sources() -> None:
    """List, add, remove and refresh the sources of skills.

    Search finds the skills of sources before they are installed. registry.toml can name sources too, in [[sources]]
    tables.
    """


@sources.command("list")
@command.backend_options
def list_sources(as_json: bool, server: str | None, **flags: Any) -> None:
    """List the sources, with the number of their skills and their problems."""
    _show(command.with_backend(flags, server, lambda backend: backend.sources()), as_json=as_json)


@sources.command()
@click.argument("name")
@click.argument("location")
@click.option(
    "--type",
    "kind",
    type=click.Choice(get_args(SourceKind)),
    help="Default: what is found at LOCATION.",
)
@click.option("--branch", help="Branch of a git repository; default: its default branch.")
@click.option("--priority", type=int, default=100, show_default=True, help="Sources with a lower number come first.")
@click.option("--api-key", is_flag=True, help="Ask for the API key of a registry, or read it from standard input.")
@click.option("--mirror", is_flag=True, help="Hand on the packages of a registry, below /mirrors/NAME.")
@command.backend_options
def add(
    name: str,
    location: str,
    kind: str | None,
    branch: str | None,
    priority: int,
    api_key: bool,
    as_json: bool,
    server: str | None,
    **flags: Any,
) -> None:
    """Add the source NAME.

    LOCATION is the URL of another registry, a git repository, a marketplace (.json) or a .zip, or it is a folder. The
    URL of a repository may name a branch, tag or commit, and a folder: …/tree/v1.2/skills, or …#v1.2. OWNER/REPO is a
    repository on GitHub. The API key is stored in the catalog and sent to this registry only.
    """
    if api_key and location.lower().startswith("http://") and not is_loopback_host(urlsplit(location).netloc):
        console.warn("without https, others can read the API key")
    is_url = is_remote(location) and not expanded(location).is_dir()
    is_folder = kind == "local" or (kind is None and not is_url)
    if is_folder and expanded(location).is_file():
        command.stop(f"{location} is a file: name the folder of the skills, or of the marketplace", command.WRONG_USAGE)
    place = {"path": str(expanded(location))} if is_folder else {"url": location}
    fields = {"name": name, "type": kind, "branch": branch, "priority": priority, **place}
    fields |= {"mirror": True} if flags.pop("mirror") else {}
    fields |= {"api_key": console.ask_secret("API key")} if api_key else {}
    try:
        source = command.converted(NewSource.prepared(fields), NewSource)
    except RegistryError as error:
        command.stop(error.line, command.WRONG_USAGE)
    added = command.with_backend(flags, server, lambda backend: backend.add_source(source), CREATES)
    _show([added], as_json=as_json)
    if added["error"]:
        hint = f"'skill-registry sources remove {name}' removes it"
        command.stop(f"the source {name} was added, and cannot be read; {hint}")


@sources.command()
@click.argument("name", shell_complete=complete_source)
@command.backend_options
def remove(name: str, as_json: bool, server: str | None, **flags: Any) -> None:
    """Remove the source NAME and the skills it lists. Installed skills stay."""
    removed = command.with_backend(flags, server, lambda backend: backend.remove_source(name))
    console.show(removed, console.facts_table, as_json=as_json)


@sources.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_source)
@command.backend_options
def refresh(names: tuple[str, ...], as_json: bool, server: str | None, **flags: Any) -> None:
    """Fetch the sources with these names again, or every source. A server fetches every source."""

    def run(backend: CommandBackend) -> list[Data]:
        known = {entry["name"] for entry in backend.sources()}
        for name in names:
            if name not in known:
                raise CommandFailed(f"there is no source '{name}': 'skill-registry sources list' lists them")
        return [entry for entry in backend.refresh_sources(names) if not names or entry["name"] in names]

    entries = command.with_backend(flags, server, run)
    _show(entries, as_json=as_json)
    if failed := [entry["name"] for entry in entries if entry["error"]]:
        command.stop(f"these sources cannot be read, and keep their last list: {', '.join(failed)}")


def _show(entries: list[dict[str, Any]], *, as_json: bool) -> None:
    console.show({"sources": entries}, _tables, as_json=as_json)


def _tables(answer: console.Data) -> Iterator[console.Part]:
    columns = ("Source", "Type", "Skills", "Refreshed", "Location")
    rows = (
        (
            source["name"],
            source["type"],
            str(source["skills"]),
            source["last_refreshed"] or "",
            source["url"] or source["path"] or "",
        )
        for source in answer["sources"]
    )
    yield console.table(columns, rows)
    for source in answer["sources"]:
        for problem in (*([source["error"]] if source["error"] else []), *source["warnings"]):
            yield console.line((f"{source['name']}:", "yellow"), f" {problem}")
