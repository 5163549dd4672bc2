"""Stored logins: the token of `skill-registry login` for each server, in the system's keyring or in a file.

Only its owner can read the file. It has each login; the token of one that is in the keyring is not in it.
"""

import re
import stat
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec

from registry.cli.backend import CommandFailed
from registry.cli.console import warn
from registry.cli.remote.answers import Credential, Moment
from registry.cli.system_keyring import KeyringFailed, NoKeyring, SystemKeyring
from registry.config.groups import ClientSettings
from registry.config.settings import Settings
from registry.domain.addresses import OutboundError
from registry.domain.models import now, timestamp
from registry.parsing.json_document import JsonUnreadable, read_json
from registry.runtime.atomic_files import only_writer, replace_file
from registry.sources.access import RegistryAccess

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_MIRROR = re.compile(r"/mirrors/[a-z0-9_-]+\Z")
_SCOPE = re.compile(r"/scopes/[a-z0-9_-]+\Z")


class LoginsUnreadable(CommandFailed):
    """The logins cannot be used; the message says what to do."""


class LoginExpired(CommandFailed):
    """The login for a server has expired; the message says to log in again."""


class Login(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A token and the time it expires. The file has no token if the keyring has it."""

    token: Credential | None = None
    expires_at: Moment


def has_expired(login: Login) -> bool:
    """Return whether the token of a login has expired."""
    return login.expires_at <= timestamp(now())


class Logins:
    """The logins in `file`, keyed by server: scheme, host, port and path. No other server is sent a login's token.

    `settings` say where tokens are kept. All methods raise LoginsUnreadable, OSError.
    """

    def __init__(self, file: Path, settings: ClientSettings) -> None:
        self._file = file
        self._settings = settings
        self._keyring = SystemKeyring(f"skill-registry {file}", settings.keyring_seconds)

    def find(self, url: str) -> Login | None:
        """Return the login for a server, or for the service that has a mirror or a scope at this URL, or None.

        It has no token if that has expired in the keyring, or is no longer there.
        """
        logins = self._read()
        address = next((place for place in _places(url) if place in logins), None)
        if address is None:
            return None
        login = logins[address]
        if login.token is not None or has_expired(login):
            return login
        try:
            return msgspec.convert({"token": self._keyring.find(address), "expires_at": login.expires_at}, Login)
        except (NoKeyring, KeyringFailed, msgspec.ValidationError) as error:
            reason = "it has changed" if isinstance(error, msgspec.ValidationError) else error
            raise LoginsUnreadable(
                f"the token for {address} is in the keyring of this system, and cannot be read ({reason}): unlock the "
                "keyring, or log in again with SKILL_REGISTRY_CLIENT_LOGIN_STORE=file"
            ) from None

    def servers(self) -> list[str]:
        """Return the servers with a valid login; if there is none, those whose login has expired."""
        logins = self._read()
        return [name for name, login in logins.items() if not has_expired(login)] or list(logins)

    def store(self, url: str, login: Login) -> str:
        """Store a login in place of the previous one for the server, and return where its token is, in words."""
        name = server_name(url)
        in_keyring = self._stored_in_keyring(name, login)
        entry = msgspec.structs.replace(login, token=None) if in_keyring else login
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with only_writer(self._file):
            logins = self._repaired()
            previous = logins.get(name)
            self._write({**logins, name: entry})
        if not in_keyring:
            self._forget(name, previous)
        return "the keyring of this system" if in_keyring else str(self._file)

    def delete(self, url: str) -> None:
        """Delete the login for a server, here and in the keyring."""
        if not self._file.exists():
            return
        name = server_name(url)
        with only_writer(self._file):
            logins = self._repaired()
            login = logins.pop(name, None)
            self._write(logins)
        self._forget(name, login)

    def _forget(self, name: str, login: Login | None) -> None:
        """Delete the token of a login that is gone from the keyring, if it was there."""
        if login is not None and login.token is None:
            try:
                self._keyring.delete(name)
            except (NoKeyring, KeyringFailed) as error:
                warn(f"the keyring of this system may still have the former token for {name} ({error})")

    def _stored_in_keyring(self, name: str, login: Login) -> bool:
        """Store a token in the keyring, if that is wanted and there is one. Raises LoginsUnreadable if it must be."""
        store = self._settings.login_store
        if store == "file" or login.token is None:
            return False
        try:
            self._keyring.store(name, login.token)
        except (NoKeyring, KeyringFailed) as error:
            if store == "keyring":
                raise LoginsUnreadable(
                    f"the token cannot be kept in the keyring of this system, as client.login_store says: {error}"
                ) from None
            if isinstance(error, KeyringFailed):
                warn(f"the keyring of this system cannot keep the token ({error}): it is kept in a file")
            return False
        return True

    def _read(self) -> dict[str, Login]:
        logins, broken = self._stored()
        if not broken:
            return logins
        with only_writer(self._file):
            return self._repaired()

    def _repaired(self) -> dict[str, Login]:
        """Return the logins that can be read. A file with others is set aside, so that none is lost unseen."""
        logins, broken = self._stored()
        if broken:
            aside = self._file.with_name(f"{self._file.name}.broken")
            self._file.replace(aside)
            self._write(logins)
            warn(f"{self._file} has {broken} that cannot be read, and is kept as {aside.name}: log in again")
        return logins

    def _stored(self) -> tuple[dict[str, Login], str]:
        """Return the logins of the file, and what of it cannot be read, in words."""
        if not self._file.exists():
            return {}, ""
        if stat.S_IMODE(self._file.stat().st_mode) & 0o077:
            raise LoginsUnreadable(
                f"other users can read {self._file}: run chmod 600 on it, or delete it and log in again"
            )
        try:
            entries = read_json(self._file.read_bytes(), dict[str, msgspec.Raw])
        except JsonUnreadable:
            return {}, "content"
        logins, broken = {}, []
        for name, entry in entries.items():
            try:
                logins[name] = read_json(entry, Login)
            except JsonUnreadable:
                broken.append(name)
        return logins, f"logins at {', '.join(broken)}" if broken else ""

    def _write(self, logins: dict[str, Login]) -> None:
        replace_file(self._file, msgspec.json.encode(logins), mode=0o600)


def server_name(url: str) -> str:
    """Return the canonical form of a server's address."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(_DEFAULT_PORTS.get(parts.scheme, "/"))
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def service_of(url: str) -> str:
    """Return the URL of the service that has the mirror at a URL; the URL itself if it is of no mirror."""
    return _MIRROR.sub("", url.rstrip("/"))


def _places(url: str) -> tuple[str, ...]:
    """Return the servers whose credential is one for a URL: itself, and the service that has it as mirror or scope."""
    name = server_name(url)
    return name, service_of(name), _SCOPE.sub("", service_of(name))


def stored_logins(settings: Settings) -> Logins:
    """Return the logins of the user who runs the command."""
    return Logins(Path(click.get_app_dir("skill-registry")) / "logins.json", settings.client)


def login_hint(server: str) -> str:
    """Return the end of an error message where a server rejects a missing, wrong or expired credential."""
    return f"; 'skill-registry login --server {service_of(server)}' gets a token"


def default_server(settings: Settings) -> str | None:
    """Return the server of commands that name none: `client.server`, else the server of the only stored login.

    A login that has expired counts if no other is valid. None if there are several logins, and if `client.api_key` is
    set without `client.server`: nothing says which server the key is for. Raises CommandFailed.
    """
    if settings.client.server:
        return settings.client.server.reveal()
    servers = [] if settings.client.api_key else login_servers(settings)
    return servers[0] if len(servers) == 1 else None


def has_credential_for(settings: Settings, url: str) -> bool:
    """Return whether `client.server` or the server of a login is the registry at a URL. Raises CommandFailed."""
    named = settings.client.server
    servers = [*([named.reveal()] if named else []), *login_servers(settings)]
    return not {server_name(server) for server in servers}.isdisjoint(_places(url))


def login_servers(settings: Settings) -> list[str]:
    """Return the servers with a stored login, the valid ones if there are any. Raises CommandFailed."""
    try:
        return stored_logins(settings).servers()
    except OSError as error:
        raise CommandFailed(str(error)) from None


def _other_names(server: str) -> list[str]:
    """Return the URLs of a server on this machine with the other names of it."""
    parts = urlsplit(server)
    port = f":{parts.port}" if parts.port else ""
    return [f"{parts.scheme}://{host}{port}" for host in ("localhost", "127.0.0.1", "[::1]")]


def configured_key(settings: Settings, server: str) -> str | None:
    """Return `client.api_key` if it is for a server: `client.server`, or without that any that the user has named.

    The key of a service is for its mirrors and private scopes too; that of a scope is for this scope alone.
    """
    key, owner = settings.client.api_key, settings.client.server
    is_owner = owner is None or service_of(server_name(owner.reveal())) in _places(server)
    return key.reveal() if key and is_owner else None


def find_credential(settings: Settings, server: str, *, is_named: bool = True, is_own: bool = False) -> str | None:
    """Return the API key or token for a server: from the settings, else from the stored login.

    If the user has not named the server, as when a source or a lock file names it, it gets `client.api_key` only if it
    is `client.server`. With `is_own`, the server runs on the user's data directory, so a login for another name of this
    machine, with the same port, is for it too. Raises LoginExpired, CommandFailed.
    """
    if (is_named or settings.client.server) and (key := configured_key(settings, server)):
        return key
    try:
        names = [server, *(_other_names(server) if is_own else ())]
        login = next(filter(None, map(stored_logins(settings).find, names)), None)
    except OSError as error:
        raise CommandFailed(str(error)) from None
    if login is not None and has_expired(login):
        raise LoginExpired(f"the login at {server} has expired{login_hint(server)}")
    if login is not None and login.token is None:
        raise CommandFailed(f"the keyring of this system no longer has the token for {server}{login_hint(server)}")
    return login.token if login else None


def user_access(settings: Settings, named: Sequence[str]) -> RegistryAccess:
    """Return the access of the user to registries: to those they have named, and those of their logins."""
    names = {server_name(url) for url in named}

    def credential(url: str) -> str | None:
        try:
            return find_credential(settings, url, is_named=server_name(url) in names)
        except CommandFailed as error:
            raise OutboundError(str(error)) from None

    return RegistryAccess([*named, *login_servers(settings)], credential)
