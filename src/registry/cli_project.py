"""`skill-registry lock`, `verify` and `generate-mdc`: what a project has installed, written down and checked."""

import sys
from typing import Any

import click

from embeddings import EmbeddingUnavailable
from registry import command, console
from registry.client import open_catalog
from registry.db import DatabaseUnusable
from registry.errors import RegistryError
from registry.lock_file import LOCK_FILE, LockFileError, read_lock, write_lock
from registry.locking import locked_skills
from registry.manifest_file import ManifestFile
from registry.verify import differences


@click.command()
@command.json_option
@command.settings_options(*command.SHARED_SETTINGS, "project.file")
def lock(as_json: bool, **flags: Any) -> None:
    """Write skills.lock beside the project's manifest: what is installed, with a digest of each skill's files."""
    settings = command.load(flags)
    path = settings.project.file.with_name(LOCK_FILE)
    try:
        before = read_lock(path) if path.exists() else []
        manifest = ManifestFile(settings.project.file).read()
        with open_catalog(settings) as catalog:
            entries = list(locked_skills(catalog, settings.skills_dir, manifest, before))
        write_lock(path, entries)
    except RegistryError as error:
        command.stop(error.message)
    except (LockFileError, DatabaseUnusable, EmbeddingUnavailable, OSError) as error:
        command.stop(str(error))
    console.show({"path": LOCK_FILE, "skills": len(entries)}, console.facts_table, as_json=as_json)


@click.command()
@command.json_option
@command.settings_options("skills_dir", "project.file")
def verify(as_json: bool, **flags: Any) -> None:
    """Check the installed skills against skills.lock, offline. Exit codes: 1 they differ, 2 no lock to check by."""
    settings = command.load(flags)
    try:
        locked = read_lock(settings.project.file.with_name(LOCK_FILE))
    except LockFileError as error:
        command.stop(str(error), command.WRONG_USE)
    found = differences(locked, settings.skills_dir)
    console.show(console.verify_answer(locked, found), console.verify_tables, as_json=as_json)
    if found:
        sys.exit(command.FAILED)


@click.command()
@command.json_option
@command.server_option
@command.settings_options(*command.SHARED_SETTINGS, "project.file")
def generate_mdc(as_json: bool, server: str | None, **flags: Any) -> None:
    """Write the installed skills as a rule file for editors: .cursor/rules/skills.mdc in the project's folder."""
    written = command.with_target(flags, server, lambda target: target.generate_mdc(), searching=False)
    console.show(written, console.mdc_table, as_json=as_json)
