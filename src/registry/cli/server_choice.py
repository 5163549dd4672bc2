"""Which server a command talks to when the user names none."""

from contextlib import suppress

from registry.cli.backend import CommandFailed
from registry.cli.console import note
from registry.cli.credentials import default_server, login_servers
from registry.config.settings import Settings
from registry.runtime.data_dir import running_server

_DEFAULT_PORT = 8080
"""The port of `serve` where `server.port` is 0, which chooses a free one."""


def choose_registry(settings: Settings, *, names_data_dir: bool) -> str:
    """Return the server of a command that needs one, and say on standard error which it is.

    It is the first of: `client.server`, the only login, the server that runs on the data directory, the address
    of `serve` on this machine. A data directory that the user names on the command line comes first.

    Raises CommandFailed if there is a choice that the user must make, OSError.
    """
    running = running_server(settings.data_dir)
    if running and names_data_dir:
        return _noted(running, "it runs on the data directory")
    if server := default_server(settings):
        return _noted(server, _reason(settings))
    if running:
        return _noted(running, "it runs on the data directory")
    if settings.client.api_key and not settings.client.server:
        raise CommandFailed(
            "client.api_key is set, but not the server it is for: give --server, or set SKILL_REGISTRY_SERVER"
        )
    if servers := login_servers(settings):
        raise CommandFailed(_choice(servers))
    return _noted(f"http://localhost:{settings.server.port or _DEFAULT_PORT}", "the default")


def registry_besides(settings: Settings, *, names_data_dir: bool) -> str | None:
    """Return the registry of the user's login, for a command that asks it besides the data directory; None without one.

    A command that reads from one place, as `choose_catalog` says, asks no other.
    """
    if settings.client.server or names_data_dir or not has_catalog(settings):
        return None
    with suppress(CommandFailed):  # a data directory can be read without logins
        server = default_server(settings)
        return None if server == running_server(settings.data_dir) else server
    return None


def choose_catalog(settings: Settings, *, names_data_dir: bool, asks_login: bool = False) -> str | None:
    """Return the server that a command reads from, and say on standard error which it is; None: the data directory.

    It is `client.server`, or the only login if the data directory holds no catalog. A data directory that the user
    names on the command line comes first. `asks_login` says that the command asks `registry_besides` too. Raises
    CommandFailed if there is no catalog, and several logins.
    """
    if settings.client.server and not names_data_dir:
        return _noted(settings.client.server.reveal(), _reason(settings))
    if names_data_dir:
        return None
    if has_catalog(settings):
        with suppress(CommandFailed):  # a data directory can be read without logins
            if not asks_login and (server := default_server(settings)):
                note(f"using {settings.data_dir.name}: for your login at {server}, use --server")
        return None
    server = default_server(settings)
    if server is None and (servers := login_servers(settings)):
        raise CommandFailed(f"{settings.data_dir.name} holds no catalog, and {_choice(servers)}")
    return _noted(server, _reason(settings)) if server else None


def has_catalog(settings: Settings) -> bool:
    """Return whether the data directory holds a catalog. One in PostgreSQL is assumed to exist."""
    path = settings.database_path
    return path is None or path.exists()


def _reason(settings: Settings) -> str:
    return "client.server" if settings.client.server else "your login"


def _choice(servers: list[str]) -> str:
    return f"there are logins at {', '.join(servers)}: choose one with --server or SKILL_REGISTRY_SERVER"


def _noted(server: str, reason: str) -> str:
    note(f"using {server} ({reason})")
    return server
