"""`skill-registry mirror`: fetch all packages of a mirrored registry, on the machine of the data directory."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from registry.catalog.store import Catalog
from registry.cli import command, console
from registry.cli.backend import CommandFailed
from registry.cli.help.known_names import complete_source
from registry.cli.help.settings_options import settings_options
from registry.database import open_database
from registry.db import DatabaseError
from registry.domain.models import now
from registry.errors import RegistryError
from registry.mirrors.filling import fill
from registry.mirrors.service import Mirrors
from registry.mirrors.space import MirrorsFull
from registry.mirrors.transfer import TransferRefused, write
from registry.outbound import OutboundError
from registry.sources.service import Sources

_FOLDER = click.Path(path_type=Path)
_SHOWN = 20
"""So many versions that could not be had are shown."""


@click.command()
@click.argument("source", shell_complete=complete_source)
@click.option("--all", "fetch_all", is_flag=True, help="Fetch every package that is not revoked and not kept yet.")
@click.option("--export", "target", type=_FOLDER, metavar="DIR", help="Write all that is kept into this new folder.")
@click.option("--import", "origin", type=_FOLDER, metavar="DIR", help="Keep what such a folder has.")
@click.option("--key", help="With --import: the key of the log. Default: the one that was seen first.")
@command.json_option
@settings_options("data_dir", "database.url")
def mirror(
    source: str, fetch_all: bool, target: Path | None, origin: Path | None, key: str | None, as_json: bool, **flags: Any
) -> None:
    """Fetch the packages of the registry that SOURCE mirrors.

    With --all, every package is fetched before a client requests it.

    --export writes all that is kept into a new folder. On a machine without a network, --import checks every byte of it
    before anything is kept, and lists the skills of its packages. There, the source has the same URL, and
    `mirror = true`.

    The service may run. A run that was interrupted keeps whole packages only, and the next one continues it. Exit
    codes: 0 all is kept, 1 something could not be had.
    """
    if not (fetch_all or target or origin) or (origin and (fetch_all or target)) or (key and not origin):
        command.stop("give --all, --export DIR or both, or --import DIR, perhaps with --key", command.WRONG_USAGE)
    answer: dict[str, Any] = {"source": source}
    with _mirrors(flags) as mirrors, console.progress_bar("Packages", hidden=as_json) as progress:
        opened = mirrors.of(source)
        if fetch_all:
            answer |= fill(opened, progress)._asdict()
        if target is not None:
            answer["exported"] = write(opened, target, progress)._asdict()
        if origin is not None:
            answer["imported"] = mirrors.take(source, origin, key, progress)._asdict()
    console.show(answer, _tables, as_json=as_json)
    if answer.get("missing"):
        sys.exit(command.FAILED)


@contextmanager
def _mirrors(flags: dict[str, Any]) -> Iterator[Mirrors]:
    """Yield the mirrors of the data directory. An error in the block ends the command with one line."""
    settings = command.load(flags)
    try:
        command.check_own_catalog(settings)
        database = open_database(settings)
        try:
            yield Mirrors(settings, Sources(settings, database, Catalog(database, now), now))
        finally:
            database.close()
    except RegistryError as error:
        command.stop(error.line)
    except (CommandFailed, TransferRefused, MirrorsFull, OutboundError, DatabaseError, OSError) as error:
        command.stop(error)


def _tables(answer: console.Data) -> Iterator[console.Part]:
    yield from console.facts_table({name: value for name, value in answer.items() if not isinstance(value, dict)})
    for name in ("exported", "imported"):
        if counts := answer.get(name):
            yield f"{name}: " + ", ".join(f"{count:,} {what}" for what, count in counts.items())
    missing = answer.get("missing", {})
    yield from console.problems_table("Not kept", dict(list(missing.items())[:_SHOWN]))
    if len(missing) > _SHOWN:
        yield f"{len(missing) - _SHOWN} more are not kept."
