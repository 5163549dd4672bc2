"""`skill-registry lock`, `verify` and `generate-mdc`: what a project has installed, written down and checked."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from embeddings import EmbeddingUnavailable
from registry.cli import command, console
from registry.cli.backend import CommandFailed
from registry.cli.client import RemoteBackend, open_catalog
from registry.cli.credentials import credential
from registry.config.settings import Settings
from registry.db import DatabaseUnusable
from registry.errors import RegistryError
from registry.project.lock_entries import locked_skills
from registry.project.lock_file import LOCK_FILE, LockedSkill, LockFileError, read_lock, write_lock
from registry.project.manifest_file import ManifestFile
from registry.project.proofs import (
    PROOFS_FILE,
    Locked,
    ProofsError,
    check_proofs,
    make_proofs,
    read_proofs,
    save_seen_state,
    seen_state,
    write_proofs,
)
from registry.project.verify import differences
from registry.transparency.checkpoint import CheckpointInvalid, Verifier, checkpoint_file

_LOG_ERRORS = (ProofsError, CheckpointInvalid, CommandFailed)


_key_option = click.option("--key", metavar="KEY", help="The log's public key, name+hash+base64, or a file with it.")
_index_option = click.option(
    "--index", type=click.Path(path_type=Path, exists=True, file_okay=False), help="A clone of the registry's index."
)


@click.command()
@click.option("--log", "registry", metavar="URL", help="Write skills.proofs too, from the log of this registry.")
@_key_option
@_index_option
@command.json_option
@command.settings_options(*command.SHARED_SETTINGS, "project.file")
def lock(registry: str | None, key: str | None, index: Path | None, as_json: bool, **flags: Any) -> None:
    """Write skills.lock beside the project's manifest: what is installed, with a digest of each skill's files.

    With --log and --key also skills.proofs, by which 'verify --log' shows offline that the registry has published
    these very files, and tells everybody the same.
    """
    settings = command.load(flags)
    path = settings.project.file.with_name(LOCK_FILE)
    verifier = _verifier(key) if registry else None
    try:
        before = read_lock(path) if path.exists() else []
        manifest = ManifestFile(settings.project.file).read()
        with open_catalog(settings) as catalog:
            entries = list(locked_skills(catalog, settings.skills_dir, manifest, before))
        write_lock(path, entries)
        answer: dict[str, Any] = {"path": LOCK_FILE, "skills": len(entries)}
        if registry and verifier:
            answer |= _prove(settings, registry, verifier, index, entries)
    except RegistryError as error:
        command.stop(error.message)
    except (LockFileError, DatabaseUnusable, EmbeddingUnavailable, *_LOG_ERRORS, OSError) as error:
        command.stop(str(error))
    console.show(answer, console.facts_table, as_json=as_json)


def _verifier(key: str | None) -> Verifier:
    if key is None:
        command.stop("--log needs --key, the public key of the registry's log (GET /api/v1/log/key)", command.WRONG_USE)
    try:
        return Verifier(Path(key).read_text(encoding="ascii") if "+" not in key else key)
    except (CheckpointInvalid, OSError, ValueError):
        command.stop(f"--key {key}: not a verifier key, and no file with one", command.WRONG_USE)


def _prove(
    settings: Settings, registry: str, verifier: Verifier, index: Path | None, entries: Sequence[LockedSkill]
) -> dict[str, Any]:
    """Write the proofs for what was locked; return how many there are."""
    path = settings.project.file.with_name(PROOFS_FILE)
    known = read_proofs(path) if path.exists() else None
    notes = [*(one.checkpoint for one in known.earlier), known.checkpoint] if known else []
    notes += _seen(settings, verifier, index)
    server = RemoteBackend(registry, credential(settings, registry))
    locked = [Locked.of(one) for one in entries]
    proofs = make_proofs(registry, server.log_checkpoint(), server.log_entries(), verifier, locked, notes)
    write_proofs(path, proofs)
    return {"proofs": PROOFS_FILE, "proven": len(proofs.skills)}


def _seen(settings: Settings, verifier: Verifier, index: Path | None) -> list[str]:
    """Return the signed states that were seen before: here, and in the index."""
    notes = seen_state(settings.data_dir, verifier)
    if index is not None:
        notes.append((index / checkpoint_file(verifier.name)).read_text(encoding="utf-8", errors="replace"))
    return notes


@click.command()
@click.option("--log", "with_log", is_flag=True, help="Check skills.proofs too, by the registry's public key.")
@_key_option
@_index_option
@command.json_option
@command.settings_options("skills_dir", "data_dir", "project.file")
def verify(with_log: bool, key: str | None, index: Path | None, as_json: bool, **flags: Any) -> None:
    """Check the installed skills against skills.lock, offline. Exit codes: 1 they differ, 2 no lock to check by.

    With --log and --key it also checks that every skill of the registry is in its transparency log, that the log goes
    on from what was seen before, and, with --index, that the index says the same.
    """
    settings = command.load(flags)
    verifier = _verifier(key) if with_log else None
    try:
        locked = read_lock(settings.project.file.with_name(LOCK_FILE))
        logged = _logged(settings, verifier, index, locked) if verifier else None
    except (LockFileError, ProofsError, OSError) as error:
        command.stop(str(error), command.WRONG_USE)
    found = differences(locked, settings.skills_dir)
    console.show(console.verify_answer(locked, found, logged), console.verify_tables, as_json=as_json)
    if found or (logged and logged["faults"]):
        sys.exit(command.FAILED)


def _logged(
    settings: Settings, verifier: Verifier, index: Path | None, locked: Sequence[LockedSkill]
) -> dict[str, Any]:
    """Return how the lock stands to the log; a state in which all holds is the one that later ones must go on from."""
    proofs = read_proofs(settings.project.file.with_name(PROOFS_FILE))
    faults = check_proofs(proofs, verifier, locked, _seen(settings, verifier, index))
    if not faults:
        save_seen_state(settings.data_dir, verifier, proofs.checkpoint)
    return {"name": verifier.name, "proven": 0 if faults else len(proofs.skills), "faults": faults}


@click.command()
@command.json_option
@command.server_option
@command.settings_options(*command.SHARED_SETTINGS, "project.file")
def generate_mdc(as_json: bool, server: str | None, **flags: Any) -> None:
    """Write the installed skills as a rule file for editors: .cursor/rules/skills.mdc in the project's folder."""
    written = command.with_target(flags, server, lambda target: target.generate_mdc(), searching=False)
    console.show(written, console.mdc_table, as_json=as_json)
