"""`skill-registry publish`: sends packages to a registry."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from registry.cli import command, console
from registry.cli.backend import CommandFailed, Data
from registry.cli.help.settings_options import settings_options
from registry.cli.open_issuer import with_publisher
from registry.cli.publishing.packages import opened_package
from registry.cli.publishing.sending import ACCEPTED, HELD, UNCHANGED, Sender
from registry.cli.remote.client import ConnectionFailed, RegistryClient

_FAILED = "failed"
_SAID = {ACCEPTED: "published", HELD: "waits for a review"}
_SAID_OF_CHECKS = {ACCEPTED: "would be published"}


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--all", "takes_all", is_flag=True, help="Publish every skill in PATH, a folder of skills.")
@click.option("--dry-run", is_flag=True, help="Let the registry check what would be published. Publish nothing.")
@click.option("--username", metavar="SCOPE/NAME", help="The user, if the registry needs no credential.")
@click.option("--include-secrets", is_flag=True, help="Also publish files like .env and id_rsa, which hold secrets.")
@command.json_option
@command.registry_option
@settings_options("data_dir")
@click.pass_context
def publish(
    context: click.Context,
    /,
    paths: tuple[Path, ...],
    takes_all: bool,
    dry_run: bool,
    username: str | None,
    include_secrets: bool,
    as_json: bool,
    server: str | None,
    **flags: Any,
) -> None:
    """Publish PATH, a skill folder or a zip of it. Exit code 1: a package is rejected.

    The credential is SKILL_REGISTRY_CLIENT_API_KEY, an API key with a scope or a token, else the token from 'login'.
    Without one, a registry on this machine may issue a token to everyone. The command then uses it, as 'dev-user'
    unless --username names another user. The scope of the skill is the part of the name before the slash.

    A published version stays for good. Of a folder, files of tools, such as node_modules and .DS_Store, and files that
    git ignores are left out; a zip is sent as it is. Neither is sent if it has a file that by its name holds secrets,
    or a placeholder of 'init'. A version that is published already is no failure if it has the same files.

    \b
    skill-registry publish skills/pdf
    skill-registry publish --all skills
    """
    how = _How(context.find_root().obj, include_secrets, dry_run, as_json, takes_all)
    connected = partial(with_publisher, flags, server, username=username)
    if takes_all or len(paths) > 1:
        _tell_of_many(connected(lambda client: _send_all(client, _skills_at(paths, how), how)), as_json=as_json)
        return
    _tell_of_one(connected(lambda client: _send(client, paths[0], how)), how)


class _How(NamedTuple):
    """The options of the command, and the environment of the user for git."""

    environment: Mapping[str, str]
    include_secrets: bool
    dry_run: bool
    as_json: bool
    takes_all: bool


def _skills_at(paths: Sequence[Path], how: _How) -> list[Path]:
    """Return the folders of the skills to publish: those at the paths, or with --all those below them."""
    if not how.takes_all:
        return list(dict.fromkeys(paths))
    from registry.packages.author_paths import skills_at  # noqa: PLC0415 - it loads YAML, which one skill does not need

    return list(skills_at(paths))


def _sender(client: RegistryClient, how: _How, *, alone: bool) -> Sender:
    return Sender(client, dry_run=how.dry_run, shows_progress=alone and not how.as_json)


def _send(client: RegistryClient, path: Path, how: _How) -> Data:
    """Return what became of a skill. Raises CommandFailed."""
    with opened_package(path, how.environment, include_secrets=how.include_secrets) as package:
        return {**_sender(client, how, alone=True).send(package.file), "left_out": package.left_out}


def _send_all(client: RegistryClient, skills: Sequence[Path], how: _How) -> Data:
    """Return what became of each skill, and print a line about it at once.

    Without a server, or without a valid credential, the others are not sent.
    """
    sender, results, ended = _sender(client, how, alone=False), list[Data](), None
    for path in skills:
        try:
            if ended is not None:
                raise CommandFailed(f"not sent: {ended}")
            with opened_package(path, how.environment, include_secrets=how.include_secrets) as package:
                results.append({"path": str(path), **sender.send(package.file), "left_out": package.left_out})
        except CommandFailed as error:
            if isinstance(error, ConnectionFailed) or error.code == "UNAUTHORIZED":
                ended = error
            results.append({"path": str(path), "status": _FAILED, "message": str(error)})
        if not how.as_json:
            click.echo(console.printable(_line(results[-1], how)))
    return {"results": results}


def _line(result: Data, how: _How) -> str:
    """Return a line about one of many skills."""
    if result["status"] == _FAILED:
        return f"failed: {result['path']}: {result['message']}"
    reasons = "; ".join(_reason(finding) for finding in result["errors"])
    said = (_SAID_OF_CHECKS if how.dry_run else _SAID).get(result["status"], result["status"])
    line = f"{said}: {result['skill_id']} {result['version']}"
    return f"{line}: {reasons}" if reasons else line


def _reason(finding: Data) -> str:
    return f"{finding['field']}: {finding['message']}" if finding["field"] else str(finding["message"])


def _tell_of_many(answer: Data, *, as_json: bool) -> None:
    if as_json:
        console.show_json(answer)
    counts = Counter(result["status"] for result in answer["results"])
    console.note(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    if counts.keys() - {ACCEPTED, HELD, UNCHANGED}:
        raise SystemExit(command.FAILED)


def _tell_of_one(result: Data, how: _How) -> None:
    console.show(result, partial(_parts, dry_run=how.dry_run), as_json=how.as_json)
    if result["status"] == HELD:
        console.note(
            f"it waits for a review: another manager of the scope, or an administrator, approves it with "
            f"'skill-registry reviews approve {result['job_id']}'"
        )
    elif result["status"] not in (ACCEPTED, UNCHANGED):
        command.stop(f"{result['skill_id']} {result['version']} is {result['status']}")


def _parts(result: console.Data, dry_run: bool) -> Iterator[console.Part]:
    name, status = f"{result['skill_id']} {result['version']}", result["status"]
    if status == UNCHANGED:
        yield console.line("Unchanged: ", (name, "bold"), " is published already, with the same files")
    elif status == ACCEPTED:
        yield console.line("Would publish " if dry_run else "Published ", (name, "bold"), f"  {result['checksum']}")
    else:
        yield console.line("", (name, "bold"), f": {status}  {result['checksum']}")
    for field, color in (("errors", "red"), ("warnings", "yellow")):
        for finding in result[field]:
            yield console.line((finding["kind"], color), f" {_reason(finding)}")
    if "page" in result:
        yield f"Page:    {result['page']}"
        yield f"Install: {result['install']}"
