"""`skill-registry login` and `logout`: get a token from a registry and store it for later commands."""

import sys
import time
from typing import Any

import click
import httpx
import msgspec

from registry.cli import command, console
from registry.cli.backend import CommandFailed, Data
from registry.cli.credentials import Login, configured_key, has_expired, stored_logins
from registry.cli.help.settings_options import settings_options
from registry.cli.open_issuer import take_token
from registry.cli.remote.answers import Audience, Credential, DeviceCode, Issuer, NewToken, SignInAnswer, Told
from registry.cli.remote.client import Limits, RegistryClient, check_url, open_http
from registry.config.settings import Settings
from registry.domain.api import API
from registry.domain.hosts import is_loopback_host
from registry.parsing.json_document import JsonUnreadable, read_json

_NO_TERMINAL = "this registry needs a password, and there is no terminal to ask for it: give"


@click.command()
@click.option("--username", help="The user. Without it, the command asks, if the registry needs one.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input instead of asking for it.")
@click.option("--api-key", is_flag=True, help="Use the API key in SKILL_REGISTRY_CLIENT_API_KEY or on standard input.")
@click.option(
    "--identity",
    is_flag=True,
    help="In a workflow: use its identity token, from GitHub Actions or in REGISTRY_IDENTITY_TOKEN.",
)
@click.option(
    "--web", is_flag=True, help="Sign in at the issuer of the registry, in a browser on this or another device."
)
@click.option("--scope", help="With --identity: the scope, if the workflow may publish to several.")
@command.json_option
@command.registry_option
@settings_options("data_dir")
def login(
    username: str | None,
    password_stdin: bool,
    api_key: bool,
    identity: bool,
    web: bool,
    scope: str | None,
    as_json: bool,
    server: str | None,
    **flags: Any,
) -> None:
    """Get a token from a registry and store it. The registry needs a user name and password, or an API key.

    A registry on this machine that issues tokens to everyone needs neither, unless --password-stdin is given.

    The token is stored in the keyring of your system if the extra keyring is installed and finds one, else in your
    configuration folder, in a file that only you can read; client.login_store chooses. Later commands send it to this
    server only, which is their default. The password and the API key are not stored.

    With --web, you sign in at the issuer of the registry, and enter the code that the command shows.

    With --identity, a workflow that an administrator has registered gets a token for 15 minutes and needs no secret.
    """
    settings = command.load(flags)
    try:
        server = command.server_of(settings, server, flags)
        limits = Limits.of(settings)
        with RegistryClient(server) as client:
            if not client.is_encrypted and not is_loopback_host(client.host):
                console.warn("without https, others can read what is sent")
        with RegistryClient(server, limits=limits) as client:
            client.reach()  # before the command asks for a name and a password
        token: Data | None
        if identity:
            token = _exchanged(server, limits, scope)
        elif web:
            token = _of_person(server, limits)
        elif api_key:
            token = _token(server, limits, {}, configured_key(settings, server) or console.ask_secret("API key"))
        elif password_stdin or (token := take_token(server, username, limits)) is None:
            if not (password_stdin or sys.stdin.isatty()):
                raise CommandFailed(f"{_NO_TERMINAL} {_other_ways(server, limits)}")
            user = username or str(click.prompt(f"Username at {server}", err=True))
            token = _token(server, limits, {"username": user, "password": _password(from_stdin=password_stdin)})
        login = Login(token=token["token"], expires_at=token["expires_at"])
        place = _stored(settings, server, login)
    except (CommandFailed, OSError) as error:
        command.stop(error)
    answer = {"server": server, "role": token["role"], "expires_at": token["expires_at"], "token_in": place}
    console.show(answer, console.facts_table, as_json=as_json)


def _other_ways(server: str, limits: Limits) -> str:
    """Return the options of a login without a terminal. Raises CommandFailed."""
    with RegistryClient(server, limits=limits) as client:
        has_issuer = client.call(Issuer, "GET", f"{API}/status").get("sign_in")
    ways = ("--username and --password-stdin", "--api-key")
    return f"{', '.join(ways)}, or --web" if has_issuer else ", or ".join(ways)


def _stored(settings: Settings, server: str, login: Login) -> str:
    """Store a login, and return where. Raises CommandFailed, also for a home that cannot be written to."""
    try:
        return stored_logins(settings).store(server, login)
    except OSError as error:
        way = "without a login, commands take an API key from SKILL_REGISTRY_CLIENT_API_KEY"
        raise CommandFailed(f"{error.filename}: {error.strerror}, so the token cannot be stored: {way}") from None


def _exchanged(server: str, limits: Limits, scope: str | None) -> Data:
    """Return a token for the identity token of the workflow that runs this. Raises CommandFailed."""
    with RegistryClient(server, limits=limits) as client:
        audience = client.call(Audience, "GET", "/auth/oidc/audience")["audience"]
        body = {"token": _identity_token(audience, limits)} | ({"scope": scope} if scope else {})
        token: Data = client.call(NewToken, "POST", "/auth/oidc/token", body)
    return token


def _of_person(server: str, limits: Limits) -> Data:
    """Return a token for the person who enters a code in a browser (RFC 8628). Raises CommandFailed."""
    with RegistryClient(server, limits=limits) as client:
        code = client.call(DeviceCode, "POST", "/auth/sign-in/device")
        console.tell(f"open {code['verification_uri']} and enter the code {code['user_code']}")
        wait, until = code["interval"], time.monotonic() + code["expires_in"]
        while time.monotonic() < until:
            time.sleep(wait)
            body = {"device_code": code["device_code"]}
            answer = client.call(SignInAnswer, "POST", "/auth/sign-in/device/token", body)
            if answer.get("token"):
                token: Data = answer["token"]
                return token
            wait += 5 if answer.get("slow_down") else 0
    raise CommandFailed("the code was not entered in time: begin again")


def _identity_token(audience: str, limits: Limits) -> str:
    """Return the identity token of this workflow, from the environment or GitHub Actions. Raises CommandFailed."""
    environment = click.get_current_context().find_root().obj
    if token := environment.get("REGISTRY_IDENTITY_TOKEN"):
        return str(token)
    url, secret = (environment.get(f"ACTIONS_ID_TOKEN_REQUEST_{name}") for name in ("URL", "TOKEN"))
    if not url or not secret:
        raise CommandFailed(
            "this is no workflow with an identity token: at GitHub, the job needs the permission 'id-token: write'; "
            "elsewhere, set REGISTRY_IDENTITY_TOKEN to a token for the audience " + repr(audience)
        )
    target = str(httpx.URL(url).copy_merge_params({"audience": audience}))
    origin = str(httpx.URL(url).copy_with(raw_path=b"/"))
    try:
        with open_http(origin, {"Authorization": f"Bearer {secret}"}, limits) as client:
            return str(read_json(client.get(target).content, _Identity).value)
    except (httpx.HTTPError, JsonUnreadable) as error:
        raise CommandFailed(f"the build server gives no identity token: {error}") from None


class _Identity(msgspec.Struct):
    value: Credential


def _token(server: str, limits: Limits, body: Data, api_key: str | None = None) -> Data:
    """Return a new token for the credential in the body or the API key. Raises CommandFailed."""
    with RegistryClient(server, api_key, limits) as client:
        token: Data = client.call(NewToken, "POST", "/auth/token", body)
    return token


def _password(*, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt("Password", hide_input=True, err=True))


@click.command()
@command.json_option
@command.registry_option
@settings_options("data_dir")
def logout(as_json: bool, server: str | None, **flags: Any) -> None:
    """Revoke the stored token of a registry and delete it."""
    settings = command.load(flags)
    try:
        server = command.server_of(settings, server, flags)
        check_url(server)
        logins = stored_logins(settings)
        stored = logins.find(server)
        if stored is None:
            raise CommandFailed(f"there is no login at {server}")
        logins.delete(server)
        if has_expired(stored):
            message = "The token had already expired"
        elif stored.token is None:
            message = "The keyring of this system no longer had the token, so that it is not revoked"
        else:
            message = _revoke(server, stored.token, Limits.of(settings))
    except (CommandFailed, OSError) as error:
        command.stop(error)
    console.show({"server": server, "message": message}, console.facts_table, as_json=as_json)


def _revoke(server: str, token: str, limits: Limits) -> str:
    with RegistryClient(server, token, limits) as client:
        return str(client.call(Told, "POST", "/auth/logout")["message"])
