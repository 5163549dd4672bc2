"""`skill-registry lock`, `verify` and `cache`: what is installed in a project, and the packages that were fetched."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from registry.cli import command, console
from registry.cli.backend import CommandFailed
from registry.cli.help.settings_options import settings_options
from registry.cli.installing.agents import places_of
from registry.cli.local_backend import open_catalog
from registry.db import DatabaseUnusable
from registry.domain.agents import agents_named
from registry.domain.counts import counted
from registry.domain.release_proofs import PublisherRun
from registry.errors import RegistryError
from registry.install.package_cache import PackageCache
from registry.project.agent_folders import agent_differences
from registry.project.lock_entries import locked_skills
from registry.project.lock_file import LOCK_FILE, LockFileError, read_lock, write_lock
from registry.project.log_check import check_log
from registry.project.manifest_file import ManifestFile
from registry.project.verify import differences
from registry.transparency.checkpoint import CheckpointInvalid, Verifier


@click.command()
@command.global_option
@command.json_option
@settings_options(*command.SHARED_SETTINGS, "project.file")
def lock(as_json: bool, **flags: Any) -> None:
    """Write skills.lock, which names the installed skills. It has a digest of each skill's files.

    The file is beside the project's manifest. A skill from a registry also has the digest of its package, and the proof
    that the transparency log of the registry includes it. 'verify --log' checks that proof offline.
    """
    settings = command.load(flags)
    path = settings.project.file.with_name(LOCK_FILE)
    try:
        before = read_lock(path) if path.exists() else []
        manifest = ManifestFile(settings.project.file).read()
        with open_catalog(settings) as catalog:
            entries = list(locked_skills(catalog, settings, manifest, before))
        write_lock(path, entries)
    except RegistryError as error:
        command.stop(error.line)
    except (LockFileError, DatabaseUnusable, CommandFailed, OSError) as error:
        command.stop(error)
    console.show({"path": LOCK_FILE, "skills": len(entries)}, console.facts_table, as_json=as_json)


@click.command()
@click.option("--log", "with_log", is_flag=True, help="Also check the proofs from the logs of registries.")
@click.option(
    "--key",
    metavar="KEY",
    help="The public key of the log, name+hash+base64, or a file that holds it. Default: the key in the lock.",
)
@click.option(
    "--index", type=click.Path(path_type=Path, exists=True, file_okay=False), help="A clone of the registry's index."
)
@command.global_option
@command.json_option
@settings_options("skills_dir", "data_dir", "project.file")
def verify(with_log: bool, key: str | None, index: Path | None, as_json: bool, **flags: Any) -> None:
    """Check the installed skills against skills.lock, offline. Exit codes: 1 they differ, 2 there is no usable lock.

    The folders of the agents that the manifest names must have the same skills.

    With --log the command also checks that the transparency log of its registry includes every skill from a registry.
    With --index it checks too that a clone of the registry's index lists the same packages and shows the same log.
    """
    is_global = flags["is_global"]
    settings = command.load(flags)
    if not with_log and (key or index):
        command.stop("--key and --index need --log", command.WRONG_USAGE)
    try:
        locked = read_lock(settings.project.file.with_name(LOCK_FILE))
        logged = check_log(locked, verifier_of(key), index) if with_log else None
        manifest = ManifestFile(settings.project.file).read()
        agents = agents_named(manifest.tool.agents) if manifest else []
    except RegistryError as error:
        command.stop(error.line, command.WRONG_USAGE)
    except (LockFileError, OSError) as error:
        command.stop(error, command.WRONG_USAGE)
    folders = places_of(settings, is_global=is_global).folders(agents)
    changes = [
        *differences(locked, settings.skills_dir),
        *agent_differences(locked, folders, settings.skills_dir),
    ]
    answer = {"skills": len(locked), "differences": msgspec.to_builtins(changes)}
    answer |= {"log": msgspec.to_builtins(logged)} if logged else {}
    console.show(answer, _verify_tables, as_json=as_json)
    if changes or (logged and logged.faults):
        sys.exit(command.FAILED)


def verifier_of(key: str | None) -> Verifier | None:
    """Return the verifier of a key or of the file that holds it, None without one. Exits if it is neither."""
    if key is None:
        return None
    try:
        return Verifier(Path(key).read_text(encoding="ascii") if "+" not in key else key)
    except (CheckpointInvalid, OSError, ValueError):
        command.stop(f"--key {key}: neither a verifier key nor a file that holds one", command.WRONG_USAGE)


def _verify_tables(answer: console.Data) -> Iterator[console.Part]:
    changes = answer["differences"]
    yield from console.problems_table(
        "Differs", {change["path"]: f"{change['kind']}: {change['message']}" for change in changes}
    )
    skills = counted(answer["skills"], "skill")
    yield f"Differences from the lock of {skills}: {len(changes)}"
    if (logged := answer.get("log")) is not None:
        for fault in logged["faults"]:
            yield console.line(("log", "red"), f": {fault}")
        for skill_id, run in logged["publishers"].items():
            yield console.line((skill_id, "bold"), f": published by {msgspec.convert(run, PublisherRun).line()}")
        yield f"In the log of their registry: {logged['proven']} of {skills}"


@click.command()
@click.option("--clear", is_flag=True, help="Remove all packages from the cache.")
@command.json_option
@settings_options("cache.dir", "cache.bytes")
def cache(clear: bool, as_json: bool, **flags: Any) -> None:
    """Show the cache of packages, or empty it. Every package that 'install' and 'upgrade' fetch is kept there.

    What skills.lock names is installed from it when a registry cannot be reached. A package is compared with its digest
    whenever it is read. cache.bytes limits the size: what was not used for longest goes first.
    """
    settings = command.load(flags)
    packages = PackageCache.configured(settings)
    if packages is None:
        command.stop("there is no cache: cache.bytes is 0, or there is neither cache.dir nor a home folder")
    try:
        usage = packages.clear() if clear else packages.usage()
    except OSError as error:
        command.stop(error)
    answer = {
        "folder": str(packages.folder),
        "packages": usage.packages,
        "bytes": usage.bytes,
        "limit": packages.most_bytes,
    }
    console.show(answer | ({"cleared": True} if clear else {}), console.facts_table, as_json=as_json)
