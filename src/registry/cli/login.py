"""`skill-registry login` and `logout`: a token of a registry, got once and sent by the commands from then on."""

import sys
from typing import Any

import click

from registry.cli import command, console
from registry.cli.backend import CommandFailed, Data
from registry.cli.client import RemoteBackend
from registry.cli.credentials import Login, LoginsUnreadable, has_ended, kept_logins
from registry.config.settings import Settings
from registry.domain.hosts import is_loopback_host

_server_option = click.option(
    "--server", metavar="URL", default="http://localhost:8080", show_default=True, help="The registry."
)


@click.command()
@click.option("--username", help="Who signs in; asked for by default.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input, instead of asking for it.")
@click.option("--api-key", is_flag=True, help="Use an API key: SKILL_REGISTRY_CLIENT_API_KEY, or else standard input.")
@command.json_option
@_server_option
@command.settings_options("data_dir")
def login(username: str | None, password_stdin: bool, api_key: bool, as_json: bool, server: str, **flags: Any) -> None:
    """Get a token from a registry, for a username and password or an API key, and keep it until it ends.

    It is kept in your own configuration folder, readable by you alone, and sent to this server only, by every command
    with --server that is given no other credential. The password and the API key are not kept.
    """
    settings = command.load(flags)
    try:
        registry = RemoteBackend(server)
        if registry.is_in_the_clear and not is_loopback_host(registry.host):
            click.echo("skill-registry: warning: without https others on the way can read what is sent", err=True)
        if api_key:
            answer = RemoteBackend(server, _api_key(settings)).issue_token({})
        else:
            name = username or str(click.prompt("Username", err=True))
            answer = registry.issue_token({"username": name, "password": _password(from_stdin=password_stdin)})
        kept_logins().keep(server, Login(token=answer["token"], expires_at=answer["expires_at"]))
    except (CommandFailed, LoginsUnreadable, OSError) as error:
        command.stop(str(error))
    shown: Data = {"server": server, "role": answer["role"], "expires_at": answer["expires_at"]}
    console.show(shown, console.facts_table, as_json=as_json)


def _api_key(settings: Settings) -> str:
    """Return the API key of the environment, else the one on standard input."""
    if settings.client.api_key is not None:
        return settings.client.api_key.reveal()
    if sys.stdin.isatty():
        return str(click.prompt("API key", hide_input=True, err=True))
    return sys.stdin.readline().strip()


def _password(*, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt("Password", hide_input=True, err=True))


@click.command()
@command.json_option
@_server_option
def logout(as_json: bool, server: str) -> None:
    """End the token that login has got from a registry, there and here."""
    try:
        known = kept_logins().find(server)
        if known is None:
            raise CommandFailed(f"nobody is logged in at {server}")
        kept_logins().forget(server)
        ended = (
            {"message": "The token had ended before"}
            if has_ended(known)
            else RemoteBackend(server, known.token).end_token()
        )
    except (CommandFailed, LoginsUnreadable, OSError) as error:
        command.stop(str(error))
    console.show({"server": server, "message": ended["message"]}, console.facts_table, as_json=as_json)
