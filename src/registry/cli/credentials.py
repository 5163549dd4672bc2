"""Tokens that `skill-registry login` has got, each for one server, in a file that only its owner can read."""

import stat
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec

from registry.cli.backend import CommandFailed
from registry.config.settings import Settings
from registry.domain.models import now, timestamp
from registry.runtime.atomic_files import only_writer, replace_file

_PORTS = {"http": ":80", "https": ":443"}


class LoginsUnreadable(Exception):
    """The file cannot be used; the message says what to do."""


class Login(msgspec.Struct, kw_only=True):
    """A token and when it ends."""

    token: str
    expires_at: str


def has_ended(login: Login) -> bool:
    """Return whether a login's time is over."""
    return login.expires_at <= timestamp(now())


class Logins:
    """The logins in `file`, by server: scheme, host, port and path, so that none is ever sent anywhere else.

    All methods raise LoginsUnreadable, OSError.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def find(self, url: str) -> Login | None:
        """Return the login at a server, if there is one."""
        return self._read().get(server_name(url))

    def keep(self, url: str, login: Login) -> None:
        """Keep a login, in place of the one before."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with only_writer(self._file):
            self._write({**self._read(), server_name(url): login})

    def forget(self, url: str) -> None:
        """Forget the login at a server."""
        if self._file.exists():
            with only_writer(self._file):
                self._write({name: login for name, login in self._read().items() if name != server_name(url)})

    def _read(self) -> dict[str, Login]:
        if not self._file.exists():
            return {}
        if stat.S_IMODE(self._file.stat().st_mode) & 0o077:
            raise LoginsUnreadable(f"others can read {self._file}: chmod 600 it, or delete it and log in again")
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, Login])
        except msgspec.DecodeError:
            raise LoginsUnreadable(f"{self._file} cannot be read: delete it and log in again") from None

    def _write(self, logins: dict[str, Login]) -> None:
        replace_file(self._file, msgspec.json.encode(logins), mode=0o600)


def server_name(url: str) -> str:
    """Return the one way to write the address of a server."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(_PORTS.get(parts.scheme, "/"))
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def kept_logins() -> Logins:
    """Return the logins of the user who runs the command."""
    return Logins(Path(click.get_app_dir("skill-registry")) / "logins.json")


def login_hint(server: str) -> str:
    """Return what helps where a server wants a credential, or another one."""
    return f"; 'skill-registry login --server {server}' gets a token"


def credential(settings: Settings, server: str) -> str | None:
    """Return the API key or token that a server is sent: that of the settings, else of the login there.

    Raises CommandFailed where the login has ended.
    """
    if settings.client.api_key:
        return settings.client.api_key.reveal()
    try:
        login = kept_logins().find(server)
    except (LoginsUnreadable, OSError) as error:
        raise CommandFailed(str(error)) from None
    if login is not None and has_ended(login):
        raise CommandFailed(f"the login at {server} has ended{login_hint(server)}")
    return login.token if login else None
