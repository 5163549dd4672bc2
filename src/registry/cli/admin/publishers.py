"""`skill-registry admin publishers`: register workflows that publish to a registry without a secret.

Like `keys` and `users`, the commands work on the database, whether a server runs on it or not.
"""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from registry.auth.oidc.publishers import NewTrustedPublisher, TrustedPublishers
from registry.auth.revocations import Revocations
from registry.cli import console
from registry.cli.admin.accounts import audited_database, local_database, local_options
from registry.db import Database
from registry.domain.models import now
from registry.domain.roles import Segment
from registry.domain.validation import convert

_ALL = 10_000


@click.group()
def publishers() -> None:
    """Register workflows that publish without a secret.

    A build server proves which workflow it runs, with an identity token of OpenID Connect. The registry gives it a
    token for 15 minutes.
    """


@publishers.command("add")
@click.argument("scope")
@click.option("--name", default="", help="What it is. Default: the repository or the issuer.")
@click.option("--skill", "skills", multiple=True, metavar="SCOPE/NAME", help="A skill it may publish, or acme/pdf-*.")
@click.option("--github", metavar="OWNER/REPOSITORY", help="A repository at GitHub, with --owner-id and --workflow.")
@click.option(
    "--owner-id", help="The number of the owner of the repository: .id of https://api.github.com/users/OWNER."
)
@click.option("--workflow", metavar="FILE", help="The file in .github/workflows, such as publish.yml.")
@click.option("--environment", help="The environment that the job must run in.")
@click.option("--issuer", metavar="URL", help="Another issuer of identity tokens, with --claim.")
@click.option("--claim", "claims", multiple=True, metavar="NAME=VALUE", help="What its tokens must say; repeatable.")
@local_options
def add_publisher(scope: str, skills: tuple[str, ...], claims: tuple[str, ...], as_json: bool, **flags: Any) -> None:
    """Let a workflow publish to SCOPE."""
    named = ("name", "github", "owner_id", "workflow", "environment", "issuer")
    name, github, owner_id, workflow, environment, issuer = (flags.pop(option) for option in named)
    body: dict[str, Any] = {"name": name or github or issuer or scope, "scope": scope, "skills": list(skills)}
    if github:
        short = {"repository": github, "owner_id": owner_id, "workflow": workflow, "environment": environment}
        body["github"] = {option: value for option, value in short.items() if value is not None}
    if issuer:
        body["issuer"] = issuer
    if claims:
        body["claims"] = dict(claim.partition("=")[::2] for claim in claims)
    with audited_database(flags, scope, creates=True) as (_, database):
        publisher = _publishers(database).add(convert(body, NewTrustedPublisher))
    console.show(msgspec.to_builtins(publisher), console.facts_table, as_json=as_json)


@publishers.command("list")
@local_options
def list_publishers(as_json: bool, **flags: Any) -> None:
    """List the publishers, and the scopes that only they publish to."""
    with local_database(flags) as (_, database):
        registered, _ = _publishers(database).list(_ALL, 0)
        scopes = list(_publishers(database).trusted_scopes())
    answer = {"publishers": msgspec.to_builtins(registered), "trusted_scopes": scopes}
    console.show(answer, _publishers_table, as_json=as_json)


@publishers.command("remove")
@click.argument("publisher_id")
@local_options
def remove_publisher(publisher_id: str, as_json: bool, **flags: Any) -> None:
    """Remove the publisher PUBLISHER_ID. This revokes the tokens it has got."""
    with audited_database(flags, publisher_id) as (_, database):
        _publishers(database).remove(publisher_id)
    answer = {"id": publisher_id, "message": f"Publisher '{publisher_id}' removed"}
    console.show(answer, console.facts_table, as_json=as_json)


@publishers.command("only")
@click.argument("scope")
@click.option("--off", is_flag=True, help="Let everybody whose role allows it publish to the scope again.")
@local_options
def trusted_only(scope: str, off: bool, as_json: bool, **flags: Any) -> None:
    """Let only trusted publishers publish to SCOPE."""
    with audited_database(flags, scope) as (_, database):
        name: str = convert(scope, Segment, field="SCOPE")
        _publishers(database).set_trusted_only(name, only=not off)
    console.show({"scope": scope, "trusted_only": not off}, console.facts_table, as_json=as_json)


def _publishers(database: Database) -> TrustedPublishers:
    return TrustedPublishers(database, now, Revocations(database, now))


def _publishers_table(answer: console.Data) -> Iterator[console.Part]:
    if not answer["publishers"]:
        yield "There are no trusted publishers. 'skill-registry admin publishers add' registers one."
    else:
        rows = (
            [
                *(publisher["id"], publisher["name"], publisher["scope"], ", ".join(publisher["skills"]) or "all"),
                "\n".join([publisher["issuer"], *(f"{name}={value}" for name, value in publisher["claims"].items())]),
                publisher["last_used_at"] or "",
            ]
            for publisher in answer["publishers"]
        )
        yield console.table(("Id", "Name", "Scope", "Skills", "Must say", "Last used"), rows)
    for scope in answer["trusted_scopes"]:
        yield console.line((scope, "bold"), ": only trusted publishers publish to it")
