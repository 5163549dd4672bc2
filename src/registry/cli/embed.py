"""The command that embeds a catalog beside the service."""

from contextlib import closing
from typing import Any

import click
import msgspec

from embeddings import EmbeddingUnavailable
from registry.cli import command, console
from registry.cli.backend import Progress
from registry.config.settings import Settings
from registry.database import open_database
from registry.db import DatabaseError
from registry.indexing.backfill import BackfillReport, run_backfill
from registry.indexing.embedder import choose_embedder


@click.command()
@command.json_option
@command.settings_options(
    *("data_dir", "database.url", "search.vectors", "embedding.provider", "embedding.model", "embedding.dimension"),
    *("embedding.threads", "embedding.rate"),
)
def embed(as_json: bool, **flags: Any) -> None:
    """Embed all skills with the model of the settings, and end when that is done.

    Meant for a new model and a large catalog: run it beside the service, on several machines at once if they share a
    database, and start the service with the new model afterwards. Until then the old one answers. What is stopped goes
    on where it was when it is run again.
    """
    settings = command.load(flags)
    path = settings.database_path
    if path is not None and not path.is_file():
        command.stop(f"there is no catalog at {path}: name one with --data-dir or --database-url")
    try:
        with console.progress_bar("Embedding", hidden=as_json) as progress:
            filled = _fill(settings, progress)
    except (DatabaseError, EmbeddingUnavailable, OSError) as error:
        command.stop(str(error))
    console.show(msgspec.to_builtins(filled), console.facts_table, as_json=as_json)
    if filled.failed:
        command.stop(f"{filled.failed} texts could not be embedded: {'; '.join(filled.errors)}")


def _fill(settings: Settings, progress: Progress) -> BackfillReport:
    with closing(open_database(settings)) as database:
        embedder = choose_embedder(settings)
        if embedder is None:
            raise EmbeddingUnavailable("there is no model to embed with: see embedding.provider")
        with closing(embedder):
            return run_backfill(settings, database, embedder, progress)
