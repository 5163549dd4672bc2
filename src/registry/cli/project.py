"""`skill-registry lock` and `verify`: write down the installed skills of a project, and check them."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.markup import escape
from rich.table import Table

from registry.cli import command, console
from registry.cli.backend import CommandFailed
from registry.cli.client import RegistryClient, connect
from registry.cli.local_backend import open_catalog
from registry.config.settings import Settings
from registry.db import DatabaseUnusable
from registry.domain.api import API
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


_key_option = click.option(
    "--key", metavar="KEY", help="The log's public key, name+hash+base64, or a file that holds it."
)
_index_option = click.option(
    "--index", type=click.Path(path_type=Path, exists=True, file_okay=False), help="A clone of the registry's index."
)


@click.command()
@click.option("--log", "registry", metavar="URL", help="Also write skills.proofs, from the log of this registry.")
@_key_option
@_index_option
@command.json_option
@command.settings_options(*command.SHARED_SETTINGS, "project.file")
def lock(registry: str | None, key: str | None, index: Path | None, as_json: bool, **flags: Any) -> None:
    """Write skills.lock: the installed skills, with a digest of each skill's files.

    The file is beside the project's manifest. With --log and --key the command also writes skills.proofs. With it,
    'verify --log' proves offline that the registry published exactly these files, and that it shows everybody the same
    log.
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
    except (LockFileError, DatabaseUnusable, *_LOG_ERRORS, OSError) as error:
        command.stop(str(error))
    console.show(answer, console.facts_table, as_json=as_json)


def _verifier(key: str | None) -> Verifier:
    if key is None:
        command.stop(
            "--log needs --key, the public key of the registry's log (GET /api/v1/log/key)", command.WRONG_USAGE
        )
    try:
        return Verifier(Path(key).read_text(encoding="ascii") if "+" not in key else key)
    except (CheckpointInvalid, OSError, ValueError):
        command.stop(f"--key {key}: neither a verifier key nor a file that holds one", command.WRONG_USAGE)


def _prove(
    settings: Settings, registry: str, verifier: Verifier, index: Path | None, entries: Sequence[LockedSkill]
) -> dict[str, Any]:
    """Write the proofs for the locked skills, and return the fields of the answer."""
    path = settings.project.file.with_name(PROOFS_FILE)
    known = read_proofs(path) if path.exists() else None
    notes = [*(proof.checkpoint for proof in known.earlier), known.checkpoint] if known else []
    notes += _seen(settings, verifier, index)
    locked = [Locked.of(entry) for entry in entries]
    with connect(settings, registry) as client:
        checkpoint = client.send("GET", f"{API}/log/checkpoint").decode("utf-8", "replace")
        proofs = make_proofs(registry, checkpoint, _log_entries(client), verifier, locked, notes)
    write_proofs(path, proofs)
    return {"proofs": PROOFS_FILE, "proven": len(proofs.skills)}


def _log_entries(client: RegistryClient) -> Iterator[str]:
    """Yield the entries of the registry's log from the first on. Raises CommandFailed."""
    start = 0
    while entries := client.call("GET", f"/log/entries?start={start}")["entries"]:
        yield from entries
        start += len(entries)


def _seen(settings: Settings, verifier: Verifier, index: Path | None) -> list[str]:
    """Return the checkpoints that were seen before, by this machine and in the index."""
    notes = seen_state(settings.data_dir, verifier)
    if index is not None:
        notes.append((index / checkpoint_file(verifier.name)).read_text(encoding="utf-8", errors="replace"))
    return notes


@click.command()
@click.option("--log", "with_log", is_flag=True, help="Also check skills.proofs with the registry's public key.")
@_key_option
@_index_option
@command.json_option
@command.settings_options("skills_dir", "data_dir", "project.file")
def verify(with_log: bool, key: str | None, index: Path | None, as_json: bool, **flags: Any) -> None:
    """Check the installed skills against skills.lock, offline. Exit codes: 1 they differ, 2 there is no usable lock.

    With --log and --key the command also checks that the transparency log of the registry holds every skill, and that
    the log extends the states seen before. With --index it checks that the index shows the same log.
    """
    settings = command.load(flags)
    verifier = _verifier(key) if with_log else None
    try:
        locked = read_lock(settings.project.file.with_name(LOCK_FILE))
        logged = _logged(settings, verifier, index, locked) if verifier else None
    except (LockFileError, ProofsError, OSError) as error:
        command.stop(str(error), command.WRONG_USAGE)
    changes = differences(locked, settings.skills_dir)
    answer = {"skills": len(locked), "differences": msgspec.to_builtins(changes)} | ({"log": logged} if logged else {})
    console.show(answer, _verify_tables, as_json=as_json)
    if changes or (logged and logged["faults"]):
        sys.exit(command.FAILED)


def _logged(
    settings: Settings, verifier: Verifier, index: Path | None, locked: Sequence[LockedSkill]
) -> dict[str, Any]:
    """Compare the lock with the log, and return the result. Later states must extend a state that passes."""
    proofs = read_proofs(settings.project.file.with_name(PROOFS_FILE))
    faults = check_proofs(proofs, verifier, locked, _seen(settings, verifier, index))
    if not faults:
        save_seen_state(settings.data_dir, verifier, proofs.checkpoint)
    return {"name": verifier.name, "proven": 0 if faults else len(proofs.skills), "faults": faults}


def _verify_tables(answer: console.Data) -> Iterator[Table | str]:
    changes = answer["differences"]
    yield from console.problems_table(
        "Differs", {change["path"]: f"{change['kind']}: {change['message']}" for change in changes}
    )
    yield f"Differences from the lock of {answer['skills']} skills: {len(changes)}"
    if (logged := answer.get("log")) is not None:
        for fault in logged["faults"]:
            yield f"[red]log {escape(logged['name'])}[/]: {escape(console.printable(fault))}"
        if not logged["faults"]:
            yield f"In the log {escape(logged['name'])}: {logged['proven']} of {answer['skills']} skills"
