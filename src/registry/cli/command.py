"""What the commands share: options for settings, access to a catalog, and one-line failures."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from registry.cli.backend import CommandBackend, CommandFailed, Needs
from registry.cli.console import tell
from registry.cli.help.settings_options import Command, parameter, settings_options
from registry.cli.remote.backend import RemoteBackend
from registry.cli.remote.client import connect
from registry.cli.server_choice import choose_catalog, choose_registry, has_catalog, registry_besides
from registry.config.scope_settings import kept_scopes, settings_of_scope
from registry.config.settings import SETTINGS, Settings, SettingsError, load_settings
from registry.domain.addresses import redact_text
from registry.domain.agents import SHARED
from registry.domain.validation import convert
from registry.errors import RegistryError
from registry.runtime.data_dir import DataDirInUse, DataDirLock
from registry.runtime.home_folder import expanded

FAILED, WRONG_USAGE, NO_RESULTS = 1, 2, 3

_T = TypeVar("_T")

SHARED_SETTINGS = ("skills_dir", "data_dir", "embedding.provider", "embedding.model")
"""The settings of commands that only read a catalog."""


server_option = click.option("--server", metavar="URL", help="Use a running server instead of the data directory.")
registry_option = click.option(
    "--server",
    metavar="URL",
    help="The registry. Default: client.server, else the server of your only login, else the one that runs on the data "
    "directory, else http://localhost:8080.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


global_option = click.option(
    "--global",
    "is_global",
    is_flag=True,
    help="The skills of all your projects: ~/.agents/skills, and the folders of agents in your home folder.",
)


private_scope_option = click.option(
    "--private-scope", metavar="NAME", help="Act on a private scope of this registry, which has a catalog of its own."
)


def backend_options(command: Command) -> Command:
    """Give a command `--json` and the options that select a catalog."""
    return json_option(server_option(settings_options(*SHARED_SETTINGS)(command)))


def load(flags: dict[str, Any]) -> Settings:
    """Return the settings. The environment is the object of the root command's context."""
    config, scope = flags.pop("config", None), flags.pop("private_scope", None)
    values = {setting.key: flags.get(parameter(setting.key)) for setting in SETTINGS}
    environment: Mapping[str, str] = click.get_current_context().find_root().obj
    if flags.get("is_global"):
        values = {key: value for key, value in values.items() if value} | {
            key: place for key, place in _of_user(environment).items() if not values.get(key)
        }
    try:
        settings = load_settings(values, environment, config)
    except SettingsError as error:
        stop(error, WRONG_USAGE)
    return settings if scope is None else _of_scope(settings, scope)


def _of_scope(settings: Settings, scope: str) -> Settings:
    if scope not in kept_scopes(settings):
        stop(f"there is no private scope {scope!r} in {settings.data_dir}", WRONG_USAGE)
    return settings_of_scope(settings, scope)


def home_of(environment: Mapping[str, str]) -> Path:
    """Return the home folder of the user."""
    return expanded(environment.get("HOME") or "~")


def _of_user(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of what a user installs for all projects."""
    home = home_of(environment)
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local/share") / "skill-registry"
    places = {"skills_dir": home / SHARED, "data_dir": data / "catalog", "project.file": data / "skill-project.toml"}
    return {key: str(place) for key, place in places.items()}


def stop(reason: str | Exception, code: int = FAILED) -> NoReturn:
    """Print one line that says why the command failed, without the passwords of URLs, and exit."""
    tell(redact_text(" ".join(reason_in_words(reason).split())))
    sys.exit(code)


def reason_in_words(reason: str | Exception) -> str:
    """Return why something failed: of an error of the system, the file (of a copy, the new one) and the error."""
    if not isinstance(reason, OSError) or not reason.strerror:
        return str(reason)
    if not reason.filename:
        return reason.strerror
    return f"{reason.filename2 or reason.filename}: {_in_the_way(reason) or reason.strerror}"


def _in_the_way(error: OSError) -> str:
    """Return what stands where a folder was to be made, empty if the error is another one."""
    if not isinstance(error, FileExistsError | NotADirectoryError):
        return ""
    path = Path(error.filename)
    if path.is_symlink() and not path.exists():
        return f"it is a link to {path.readlink()}, which does not exist: make that folder, or remove the link"
    return "it is a file, where a folder is needed" if path.is_file() else ""


def with_backend(
    flags: dict[str, Any],
    server: str | None,
    call: Callable[[CommandBackend], Any],
    needs: Needs = Needs(),  # noqa: B008 - immutable
    *,
    reads: bool = False,
    asks_login: bool = False,
    named: Sequence[str] = (),
) -> Any:
    """Call a function with the catalog that the flags select, and return its result.

    Args:
        flags: The options of the command.
        server: The URL of a server, to use instead of the data directory.
        call: The function.
        needs: What the function needs of the data directory.
        reads: Whether the command only reads, so that a default server may answer instead of the data directory.
        asks_login: Whether the command also asks the registry of the login, `registry_of_login`.
        named: The URLs of registries that the user has named, which may have private addresses.
    """
    settings = load(flags)
    try:
        server = catalog_server(settings, server, flags, asks_login=asks_login) if reads else server
        with _without_new_folders(settings), open_backend(settings, server, named, needs) as backend:
            return call(backend)
    except (CommandFailed, OSError) as error:
        stop(error)


def catalog_server(
    settings: Settings, server: str | None, flags: Mapping[str, Any], *, asks_login: bool = False
) -> str | None:
    """Return the server of a command that reads a catalog: `server`, else a default; None for the data directory.

    Raises CommandFailed, OSError.
    """
    return server or choose_catalog(settings, names_data_dir=_names_data_dir(flags), asks_login=asks_login)


def registry_of_login(settings: Settings, server: str | None, flags: Mapping[str, Any]) -> str | None:
    """Return the registry that a command asks besides the data directory, None if it has one place to read."""
    return None if server else registry_besides(settings, names_data_dir=_names_data_dir(flags))


def converted(values: Mapping[str, Any], kind: type[_T]) -> _T:
    """Return the options that were given as a `kind`. Exits with the code for wrong usage, and every broken rule."""
    try:
        return convert({name: value for name, value in values.items() if value is not None}, kind)
    except RegistryError as error:
        stop(error.line, WRONG_USAGE)


def server_of(settings: Settings, server: str | None, flags: Mapping[str, Any]) -> str:
    """Return the server of a command that needs one: `server`, else a default. Raises CommandFailed, OSError."""
    return server or choose_registry(settings, names_data_dir=_names_data_dir(flags))


def _names_data_dir(flags: Mapping[str, Any]) -> bool:
    return bool(flags.get(parameter("data_dir")) or flags.get("is_global"))


@contextmanager
def open_backend(
    settings: Settings, server: str | None, named: Sequence[str], needs: Needs
) -> Iterator[CommandBackend]:
    """Yield the server at `server`, else the one that runs on the data directory, else the directory itself.

    Raises CommandFailed, OSError.
    """
    is_of_data_dir = not server
    if not server:
        if not needs.creates and not settings.sources:  # a catalog of configured sources is made when it is needed
            check_catalog(settings)
        try:
            lock = DataDirLock.wait(settings.data_dir)
        except DataDirInUse as running:
            if running.url is None:
                raise CommandFailed(str(running)) from None
            server = running.url
        else:
            from registry.cli.local_backend import open_local  # noqa: PLC0415 - loads the search engine

            with open_local(settings, lock, named, needs) as local:
                yield local
            return
    with connect(settings, server, is_own=is_of_data_dir) as client:
        yield RemoteBackend(client, settings, is_of_data_dir=is_of_data_dir)


@contextmanager
def _without_new_folders(settings: Settings) -> Iterator[None]:
    """Remove the folders that the block has created, if it fails: a command that did nothing leaves nothing."""
    new = [folder for folder in (settings.data_dir, settings.skills_dir) if not os.path.lexists(folder)]
    try:
        yield
    except Exception:
        with contextlib.suppress(OSError, DataDirInUse):
            if settings.data_dir in new and settings.data_dir.exists():
                lock = DataDirLock(settings.data_dir)  # so that a service which starts meanwhile keeps its files
                shutil.rmtree(settings.data_dir)
                lock.release()
            if settings.skills_dir in new:
                settings.skills_dir.rmdir()
        raise


def check_own_catalog(settings: Settings) -> None:
    """Raise CommandFailed if the data directory, which the command of an operator needs, holds no catalog."""
    if not has_catalog(settings):
        raise CommandFailed(
            f"there is no catalog in {settings.data_dir}: set --data-dir to the data directory of the service"
        )


def check_catalog(settings: Settings) -> None:
    """Raise CommandFailed if there is no catalog yet."""
    if not has_catalog(settings):
        raise CommandFailed(
            f"{settings.data_dir.name} holds no catalog yet: start 'skill-registry serve' once, run "
            "'skill-registry scan', or name a running server with --server"
        )
