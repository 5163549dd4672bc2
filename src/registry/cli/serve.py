"""`skill-registry serve`: the service."""

import os
import sys
from typing import Any

import click

from registry.cli import command
from registry.cli.help.settings_options import settings_options
from registry.config.settings import Settings
from registry.runtime.stop_signals import exit_on_stop_signals

_DEFAULT_FOLDER = Settings().skills_dir
"""The only skills directory that is created: no user has named it, so no user has mistyped it."""


@click.command()
@settings_options(hides_rare=True)
def serve(**flags: Any) -> None:
    """Serve the catalog over HTTP.

    Every flag can also be set in the environment or in registry.toml. Each folder below --skills-dir that holds a
    SKILL.md is a skill. The service picks up changes on disk while it runs. These are the options that people use;
    --help-all shows all of them.
    """
    exit_on_stop_signals()
    names_folder = flags["skills_dir"] is not None
    settings = command.load(flags)
    if not os.path.lexists(settings.skills_dir) and (names_folder or settings.skills_dir != _DEFAULT_FOLDER.absolute()):
        command.stop(f"there is no folder {settings.skills_dir}: create it, or correct --skills-dir")
    # The web framework takes most of the time of a start; wrong settings and `--help` do not need it.
    from embeddings import EmbeddingUnavailable  # noqa: PLC0415
    from registry.db import DatabaseError  # noqa: PLC0415
    from registry.runtime.data_dir import DataDirInUse  # noqa: PLC0415
    from registry.server.run import StartError, run  # noqa: PLC0415

    try:
        sys.exit(run(settings))
    except (StartError, EmbeddingUnavailable, DatabaseError, DataDirInUse) as error:
        command.stop(error)
    except OSError as error:
        command.stop(error if error.filename else f"the service cannot run: {error.strerror or error}")
