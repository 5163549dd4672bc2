"""Tokens of registries on this machine that issue them without a credential."""

from collections.abc import Callable
from typing import Any

from registry.cli import command
from registry.cli.backend import CommandFailed, Data
from registry.cli.console import note
from registry.cli.credentials import LoginExpired, find_credential, login_hint
from registry.cli.remote.answers import Issuer, NewToken
from registry.cli.remote.client import Limits, RegistryClient
from registry.config.settings import Settings
from registry.domain.api import API
from registry.domain.hosts import is_loopback_host
from registry.domain.roles import DEFAULT_USER, Role

_GETS_TOKENS = {"open": "everyone", "loopback": "everyone on this machine"}


def take_token(server: str, username: str | None, limits: Limits, role: Role = "manager") -> Data | None:
    """Return a token of a role for a user, or for the default user, and say so on standard error.

    None if the server is not on loopback or issues tokens for a credential only: no other server is asked for one.
    Raises CommandFailed.
    """
    with RegistryClient(server, limits=limits) as client:
        if not is_loopback_host(client.host):
            return None
        issuer = client.call(Issuer, "GET", f"{API}/status").get("issuer")
        if issuer is None:
            raise CommandFailed(
                f"{server} has no logins and publishes nothing: it serves the local profile ('make registry' or "
                "'skill-registry serve --enable-registry' runs a registry)"
            )
        if issuer not in _GETS_TOKENS:
            return None
        user = username or DEFAULT_USER
        token: Data = client.call(NewToken, "POST", "/auth/token", {"role": role, "username": user})
        choice = "" if username else "; --username SCOPE/NAME chooses another user, and so the scope"
        note(f"{server} issues tokens to {_GETS_TOKENS[issuer]}: this one is for {user}{choice}")
        return token


def with_publisher(
    flags: dict[str, Any],
    server: str | None,
    call: Callable[[RegistryClient], Data],
    *,
    username: str | None = None,
    scope: str | None = None,
    role: Role = "manager",
) -> Data:
    """Return what `call` returns with the client of `connect_as_publisher`. Exits on failures."""
    settings = command.load(flags)
    try:
        server = command.server_of(settings, server, flags)
        with connect_as_publisher(settings, server, username, scope, role) as client:
            return call(client)
    except (CommandFailed, OSError) as error:
        command.stop(error)


def connect_as_publisher(
    settings: Settings, server: str, username: str | None, scope: str | None, role: Role = "manager"
) -> RegistryClient:
    """Return a client with the credential for a server, or with a token of an open issuer on loopback.

    Args:
        settings: The settings.
        server: The URL of the server.
        username: A user to take a token for, even if there is a credential.
        scope: The user to take a token for otherwise; None for the default user.
        role: The role of the token.

    Raises CommandFailed.
    """
    limits = Limits.of(settings)
    if username:
        token = take_token(server, username, limits, role)
        if token is None:
            raise CommandFailed(f"--username: {server} issues tokens for a credential only; use 'skill-registry login'")
        return RegistryClient(server, token["token"], limits)
    try:
        credential, expired = find_credential(settings, server), None
    except LoginExpired as error:
        credential, expired = None, error
    if credential is None and (taken := take_token(server, scope, limits, role)):
        credential = taken["token"]
    elif expired:
        raise expired
    elif credential is None:  # nothing is read, packed or sent in vain
        raise CommandFailed(f"there is no login for {server} here{login_hint(server)}")
    return RegistryClient(server, credential, limits)
