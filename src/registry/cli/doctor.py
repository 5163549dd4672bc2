"""`skill-registry doctor`: what is configured, what is missing, and how to fix it."""

import contextlib
import importlib.util
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import click

from registry import __version__
from registry.cli import command, console
from registry.cli.backend import CommandFailed
from registry.cli.credentials import default_server, login_servers
from registry.cli.help.settings_options import settings_options
from registry.cli.remote.client import connect
from registry.cli.server_choice import has_catalog
from registry.config.settings import CONFIG_FILE, CONFIG_VARIABLE, Settings
from registry.database import check_database
from registry.db import CatalogMissing, DatabaseError
from registry.domain.api import API
from registry.domain.counts import counted
from registry.install.package_cache import PackageCache
from registry.runtime.data_dir import running_server
from registry.skill_folder import find_skill_folders

_INSTALL_LOCAL = "pip install 'skill-registry[local]'"


_State = Literal["ok", "missing", "fails"]

_COLOURS = {"ok": "green", "missing": "yellow", "fails": "red"}


class _Check(NamedTuple):
    """One thing that was checked. `fails` is what was configured and does not work; `missing` is no error."""

    name: str
    state: _State
    message: str
    remedy: str | None = None


@click.command()
@command.json_option
@settings_options(hides_rare=True)
def doctor(as_json: bool, **flags: Any) -> None:
    """Show what is configured and missing, and how to fix it. Exit code 1: something does not work.

    It looks at the skills directory, the data directory, the cache of packages, the model for semantic search, git, the
    packages that your settings need, and your registry. It changes nothing.
    """
    config = flags["config"]
    settings = command.load(flags)
    checks = [_version(), _configuration(config), *_folders(settings), _cache(settings), _service(settings)]
    checks += [_search(settings), *_programs(settings), *_registry(settings)]
    answer = {"checks": [check._asdict() for check in checks]}
    console.show(answer, _tables, as_json=as_json)
    if any(check.state == "fails" for check in checks):
        sys.exit(command.FAILED)


def _tables(answer: console.Data) -> Iterator[console.Part]:
    rows: list[tuple[Any, ...]] = []
    for check in answer["checks"]:
        rows.append((console.line((check["state"], _COLOURS[check["state"]])), check["name"], check["message"]))
        if check["remedy"]:
            rows.append(("", "", f"→ {check['remedy']}"))
    yield console.plain_table(rows)


def _version() -> _Check:
    number = ".".join(map(str, sys.version_info[:3]))
    return _Check("version", "ok", f"skill-registry {__version__} on Python {number}")


def _configuration(config: Any) -> _Check:
    """The settings are valid, or the command would have ended."""
    environment = click.get_current_context().find_root().obj
    file = str(config or _file(environment) or "")
    if not file:
        return _Check("settings", "ok", f"no {CONFIG_FILE} here: flags, the environment and defaults decide")
    return _Check("settings", "ok", f"read from {file}")


def _file(environment: Any) -> str | None:
    """Return the configuration file that the environment names, or the one in the current folder."""
    return environment.get(CONFIG_VARIABLE) or (CONFIG_FILE if os.path.lexists(CONFIG_FILE) else None)


def _folders(settings: Settings) -> Iterator[_Check]:
    folder = settings.skills_dir
    if not folder.is_dir():
        remedy = "name your folder with --skills-dir, or make a skill: skill-registry init skills/my-skill"
        yield _Check("skills directory", "missing", f"there is no folder {folder}", remedy)
    else:
        count = sum(1 for _ in find_skill_folders(folder))
        advice = None if count else "make a skill: skill-registry init skills/my-skill"
        yield _Check("skills directory", "ok" if count else "missing", f"{folder}: {counted(count, 'skill')}", advice)
    data = settings.data_dir
    nearest = next(parent for parent in (data, *data.parents) if parent.exists())
    if not os.access(nearest, os.W_OK | os.X_OK) or not nearest.is_dir():
        yield _Check("data directory", "fails", f"{nearest} cannot be written", "choose another with --data-dir")
    else:
        yield _catalog(settings)


def _catalog(settings: Settings) -> _Check:
    data = settings.data_dir
    try:
        if has_catalog(settings):
            check_database(settings)
            return _Check("data directory", "ok", str(data))
    except CatalogMissing:
        pass
    except (DatabaseError, OSError) as error:
        return _Check("data directory", "fails", str(error))
    return _Check("data directory", "missing", f"{data} holds no catalog yet", "skill-registry serve makes one")


def _cache(settings: Settings) -> _Check:
    """Look at the cache of fetched packages. A registry has none: its packages are in its store."""
    if settings.profile != "local":
        return _Check("package cache", "ok", "a registry has none")
    cache = PackageCache.configured(settings)
    if cache is None:
        return _Check("package cache", "missing", "it is off", "set cache.dir and cache.bytes to keep what is fetched")
    try:
        usage = cache.usage()
    except OSError as error:
        return _Check("package cache", "fails", str(error), "choose another folder with --cache-dir")
    used = f"{counted(usage.packages, 'package')}, {usage.bytes >> 20} of {cache.most_bytes >> 20} MiB"
    nearest = next(parent for parent in (cache.folder, *cache.folder.parents) if parent.exists())
    if not os.access(nearest, os.W_OK | os.X_OK):
        return _Check("package cache", "missing", f"{nearest} cannot be written", "choose another with --cache-dir")
    return _Check("package cache", "ok", f"{cache.folder}: {used}")


def _service(settings: Settings) -> _Check:
    if url := running_server(settings.data_dir):
        return _Check("service", "ok", f"runs at {url}")
    host, port = settings.server.host, settings.server.port
    is_taken = False
    with contextlib.suppress(OSError, UnicodeError), socket.create_connection((host, port), timeout=1):
        is_taken = True
    if is_taken:
        message = f"it does not run, and another program listens on port {port}"
        return _Check("service", "missing", message, "skill-registry serve --port 0 takes a free port")
    return _Check("service", "missing", "it does not run on the data directory", "skill-registry serve")


def _search(settings: Settings) -> _Check:
    from embeddings import EmbeddingUnavailable  # noqa: PLC0415 - loads numpy
    from registry.indexing.embedder import choose_embedder  # noqa: PLC0415

    name = "semantic search"
    if settings.embedding.provider == "none":
        return _Check(name, "missing", "embedding.provider is none: search uses words only")
    try:
        embedder = choose_embedder(settings)
    except EmbeddingUnavailable as error:
        return _Check(name, "fails", str(error))
    if embedder is None:
        remedy = f"{_INSTALL_LOCAL}, or set OPENAI_API_KEY"
        return _Check(name, "missing", "no model is available: search uses words only", remedy)
    return _Check(name, "ok", f"{embedder.provider} model {embedder.model}")


def _programs(settings: Settings) -> Iterator[_Check]:
    if shutil.which("git") is None:
        state: _State = "fails" if settings.registry.enabled else "missing"
        yield _Check("git", state, "it is not on the PATH: git sources and the registry index need it", "install git")
    needed = {
        "psycopg": ("postgres", settings.database_path is None),
        "boto3": ("s3", bool(settings.s3.bucket or settings.s3.private_bucket)),
        "keyring": ("keyring", settings.client.login_store == "keyring"),
    }
    for package, (extra, is_needed) in needed.items():
        if is_needed and importlib.util.find_spec(package) is None:
            remedy = f"pip install 'skill-registry[{extra}]'"
            yield _Check(package, "fails", "the settings need it, and it is not installed", remedy)


def _registry(settings: Settings) -> Iterator[_Check]:
    """Look at the registry of the commands that need one: whether it answers, and takes the credential."""
    try:
        server, logins = default_server(settings), login_servers(settings)
        if server is None and len(logins) > 1:
            yield _Check("registry", "ok", f"logins at {', '.join(logins)}", "choose one with SKILL_REGISTRY_SERVER")
        elif server is None:
            hint = "to publish: skill-registry login --server URL, or set SKILL_REGISTRY_SERVER"
            yield _Check("registry", "missing", "none is configured", hint)
        else:
            with connect(settings, server) as client:
                client.call(list, "GET", f"{API}/skills?limit=1")
            yield _Check("registry", "ok", f"{server} answers, and takes your credential")
    except (CommandFailed, OSError) as error:
        yield _Check("registry", "fails", str(error), "check SKILL_REGISTRY_SERVER, or log in again")
