"""`skill-registry tokens` and `password`: what users change of their own at a registry."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, cast
from urllib.parse import quote

import click

from registry.cli import command, console
from registry.cli.access.pasted import is_secret, pasted_credential
from registry.cli.backend import CommandFailed, Data
from registry.cli.credentials import Login, find_credential, stored_logins
from registry.cli.help.settings_options import Command, settings_options
from registry.cli.remote import answers
from registry.cli.remote.client import Limits, RegistryClient
from registry.domain.api import API
from registry.domain.models import now, timestamp

_PATH = f"{API}/auth/tokens"
_PAGE = 100
_DAYS = 90
_MOST_DAYS = 366


def _options(function: Command) -> Command:
    return command.json_option(command.registry_option(settings_options("data_dir")(function)))


@click.group()
def tokens() -> None:
    """Make, list and revoke your tokens for programs.

    A token may do only what it is made for, and it expires. Sign in first, with 'skill-registry login'. A program has
    the token in SKILL_REGISTRY_CLIENT_API_KEY.
    """


@tokens.command("list")
@_options
def list_tokens(as_json: bool, server: str | None, **flags: Any) -> None:
    """List your tokens, the newest first."""

    def call(client: RegistryClient) -> Data:
        own, total = client.pages(answers.OwnToken, _PATH, None, _PAGE)
        return {"tokens": own, "total": total}

    console.show(_signed_in(flags, server, call), _table, as_json=as_json)


@tokens.command("create")
@click.argument("name")
@click.option(
    "--for",
    "operations",
    type=click.Choice(("read", "publish", "yank")),
    multiple=True,
    required=True,
    help="What the token is for; repeatable. 'yank' is every withdrawal.",
)
@click.option(
    "--skill",
    "skills",
    multiple=True,
    metavar="SCOPE/NAME",
    help="A skill that it may change, or acme/pdf-*; repeatable.",
)
@click.option(
    "--days", type=click.IntRange(1, _MOST_DAYS), default=_DAYS, show_default=True, help="Days until it expires."
)
@_options
def create_token(
    name: str,
    operations: tuple[str, ...],
    skills: tuple[str, ...],
    days: int,
    as_json: bool,
    server: str | None,
    **flags: Any,
) -> None:
    """Make a token called NAME and print it. It cannot be shown again."""
    expires = timestamp(now() + timedelta(days=days))
    body = {"name": name, "operations": list(operations), "skills": list(skills), "expires_at": expires}

    def call(client: RegistryClient) -> Data:
        return cast(Data, client.call(answers.MadeOwnToken, "POST", _PATH, body))

    console.show(_signed_in(flags, server, call), console.facts_table, as_json=as_json)


@tokens.command("revoke")
@click.argument("token_id")
@_options
def revoke_token(token_id: str, as_json: bool, server: str | None, **flags: Any) -> None:
    """Revoke the token TOKEN_ID. This cannot be undone.

    It may also be the text of a token that has leaked, of any user. That needs no login.
    """
    token_id = pasted_credential(token_id)
    if is_secret(token_id):
        settings = command.load(flags)
        address = command.server_of(settings, server, flags)
        try:
            with RegistryClient(address, token_id, Limits.of(settings)) as client:
                told = client.call(answers.Told, "POST", "/auth/logout")
        except (CommandFailed, OSError) as error:
            command.stop(f"{address}: {error}")
    else:
        path = f"{_PATH}/{quote(token_id, safe='')}"
        told = _signed_in(flags, server, lambda client: cast(Data, client.call(answers.Told, "DELETE", path)))
    console.show(told, console.facts_table, as_json=as_json)


@click.command()
@_options
def password(as_json: bool, server: str | None, **flags: Any) -> None:
    """Change your password at a registry. Your other sign-ins end; your tokens stay."""
    settings = command.load(flags)
    try:
        address = command.server_of(settings, server, flags)
        with RegistryClient(address, find_credential(settings, address), Limits.of(settings)) as client:
            old = console.ask_secret("Old password")
            new = console.ask_secret("New password", twice=True)
            body = {"old_password": old, "new_password": new}
            token = client.call(answers.NewToken, "PUT", f"{API}/auth/me/password", body)
        stored_logins(settings).store(address, Login(token=token["token"], expires_at=token["expires_at"]))
    except (CommandFailed, OSError) as error:
        command.stop(error)
    console.show({"server": address, "message": "The password is changed"}, console.facts_table, as_json=as_json)


def _signed_in(flags: dict[str, Any], server: str | None, call: Callable[[RegistryClient], Data]) -> Data:
    """Return what `call` returns with the client of the user. Exits on failures."""
    settings = command.load(flags)
    try:
        address = command.server_of(settings, server, flags)
        with RegistryClient(address, find_credential(settings, address), Limits.of(settings)) as client:
            return call(client)
    except (CommandFailed, OSError) as error:
        command.stop(error)


def _table(answer: console.Data) -> Iterator[console.Part]:
    if not answer["tokens"]:
        yield "You have no tokens. 'skill-registry tokens create' makes one."
        return
    rows = (
        [
            *(token["id"], token["name"], ", ".join(token["operations"]), ", ".join(token["skills"]) or "all"),
            *(token["expires_at"], token["last_used_at"] or ""),
        ]
        for token in answer["tokens"]
    )
    yield console.table(("Id", "Name", "For", "Skills", "Expires", "Last used"), rows)
