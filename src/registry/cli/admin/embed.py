"""`skill-registry admin embed`: embed a catalog while the service runs."""

from contextlib import closing
from typing import Any

import click
import msgspec

from embeddings import EmbeddingUnavailable
from registry.cli import command, console
from registry.cli.backend import Progress
from registry.cli.help.settings_options import settings_options
from registry.config.settings import Settings
from registry.database import open_database
from registry.db import DatabaseError
from registry.domain.counts import counted
from registry.indexing.backfill import BackfillReport, run_backfill
from registry.indexing.embedder import choose_embedder


@click.command()
@command.json_option
@command.private_scope_option
@settings_options(
    *("data_dir", "database.url", "search.vectors", "embedding.provider", "embedding.model", "embedding.adapter"),
    *("embedding.dimension", "embedding.threads", "embedding.rate"),
)
def embed(as_json: bool, **flags: Any) -> None:
    """Embed all skills with the configured model, then exit.

    Use it to change the model of a large catalog. Run it while the service runs, on several machines at once if they
    share a database, and then start the service with the new model. Until then the service searches with the old model.
    If the command is interrupted, run it again: it continues where it stopped.
    """
    settings = command.load(flags)
    path = settings.database_path
    if path is not None and not path.is_file():
        command.stop(f"there is no catalog at {path}: set --data-dir or --database-url")
    try:
        with console.progress_bar("Embedding", hidden=as_json) as progress:
            report = _fill(settings, progress)
    except (DatabaseError, EmbeddingUnavailable, OSError) as error:
        command.stop(error)
    console.show(msgspec.to_builtins(report), console.facts_table, as_json=as_json)
    if report.failed:
        command.stop(f"{counted(report.failed, 'text')} could not be embedded: {'; '.join(report.errors)}")


def _fill(settings: Settings, progress: Progress) -> BackfillReport:
    with closing(open_database(settings)) as database:
        embedder = choose_embedder(settings)
        if embedder is None:
            raise EmbeddingUnavailable("no embedding model is configured: set embedding.provider")
        with closing(embedder):
            return run_backfill(settings, database, embedder, progress)
