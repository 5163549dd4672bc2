"""Stored logins: the token of `skill-registry login` for each server, in a file that only its owner can read."""

import stat
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec

from registry.cli.backend import CommandFailed
from registry.config.settings import Settings
from registry.domain.models import now, timestamp
from registry.runtime.atomic_files import only_writer, replace_file

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class LoginsUnreadable(Exception):
    """The file cannot be used; the message says what to do."""


class Login(msgspec.Struct, kw_only=True):
    """A token and the time it expires."""

    token: str
    expires_at: str


def has_expired(login: Login) -> bool:
    """Return whether the token of a login has expired."""
    return login.expires_at <= timestamp(now())


class Logins:
    """The logins in `file`, keyed by server: scheme, host, port and path. No other server is sent a login's token.

    All methods raise LoginsUnreadable, OSError.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def find(self, url: str) -> Login | None:
        """Return the login for a server, or None."""
        return self._read().get(server_name(url))

    def store(self, url: str, login: Login) -> None:
        """Store a login in place of the previous one for the server."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with only_writer(self._file):
            self._write({**self._read(), server_name(url): login})

    def delete(self, url: str) -> None:
        """Delete the login for a server."""
        if self._file.exists():
            with only_writer(self._file):
                self._write({name: login for name, login in self._read().items() if name != server_name(url)})

    def _read(self) -> dict[str, Login]:
        if not self._file.exists():
            return {}
        if stat.S_IMODE(self._file.stat().st_mode) & 0o077:
            raise LoginsUnreadable(
                f"other users can read {self._file}: run chmod 600 on it, or delete it and log in again"
            )
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, Login])
        except msgspec.DecodeError:
            raise LoginsUnreadable(f"{self._file} cannot be read: delete it and log in again") from None

    def _write(self, logins: dict[str, Login]) -> None:
        replace_file(self._file, msgspec.json.encode(logins), mode=0o600)


def server_name(url: str) -> str:
    """Return the canonical form of a server's address."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(_DEFAULT_PORTS.get(parts.scheme, "/"))
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def stored_logins() -> Logins:
    """Return the logins of the user who runs the command."""
    return Logins(Path(click.get_app_dir("skill-registry")) / "logins.json")


def login_hint(server: str) -> str:
    """Return the end of an error message where a server rejects a missing, wrong or expired credential."""
    return f"; 'skill-registry login --server {server}' gets a token"


def find_credential(settings: Settings, server: str) -> str | None:
    """Return the API key or token for a server: from the settings, else from the stored login.

    Raises CommandFailed if the login has expired.
    """
    if settings.client.api_key:
        return settings.client.api_key.reveal()
    try:
        login = stored_logins().find(server)
    except (LoginsUnreadable, OSError) as error:
        raise CommandFailed(str(error)) from None
    if login is not None and has_expired(login):
        raise CommandFailed(f"the login at {server} has expired{login_hint(server)}")
    return login.token if login else None
