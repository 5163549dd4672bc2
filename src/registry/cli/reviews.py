"""`skill-registry reviews`: list, read, approve and reject packages that wait to be published."""

import difflib
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote

import click

from registry.cli import command, console
from registry.cli.backend import Data
from registry.cli.help.settings_options import Command, settings_options
from registry.cli.open_issuer import with_publisher
from registry.cli.remote import publishing_answers
from registry.cli.remote.client import RegistryClient
from registry.cli.risk import place
from registry.domain.api import API

_PATH = f"{API}/registry/reviews"
_PAGE = 100
_MOST_BYTES = 256 << 10
_MOST_LINES = 5_000
"""Larger texts are named and not compared."""

_COLUMNS = ("job_id", "skill_id", "version", "risk", "uploaded_by", "held_at")


def _options(function: Command) -> Command:
    username = click.option("--username", metavar="SCOPE/NAME", help="The user, if the registry needs no credential.")
    return username(command.json_option(command.registry_option(settings_options("data_dir")(function))))


@click.group()
def reviews() -> None:
    """List, read and decide on packages that wait for a review.

    'publish.hold' of the registry says which packages wait. Managers see those of their scope, administrators all.
    """


@reviews.command("list")
@_options
def list_reviews(username: str | None, as_json: bool, server: str | None, **flags: Any) -> None:
    """List the packages that wait for a review, the oldest first."""

    def call(client: RegistryClient) -> Data:
        waiting, total = client.pages(publishing_answers.WaitingReview, _PATH, None, _PAGE)
        return {"reviews": waiting, "total": total}

    console.show(with_publisher(flags, server, call, username=username), _list, as_json=as_json)


@reviews.command("show")
@click.argument("job_id")
@click.option("--diff", "with_diff", is_flag=True, help="Show what changed since the published version before.")
@_options
def show_review(
    job_id: str, with_diff: bool, username: str | None, as_json: bool, server: str | None, **flags: Any
) -> None:
    """Show the findings and the files of the package of the job JOB_ID."""

    def call(client: RegistryClient) -> Data:
        review = client.call(publishing_answers.HeldReview, "GET", f"{_PATH}/{quote(job_id, safe='')}")
        return {**review, "changes": _changes(client, review)} if with_diff else review

    console.show(with_publisher(flags, server, call, username=username), _review, as_json=as_json)


@reviews.command("approve")
@click.argument("job_id")
@click.option("--reason", required=True, metavar="TEXT", help="Why. The publisher reads it.")
@_options
def approve_review(
    job_id: str, reason: str, username: str | None, as_json: bool, server: str | None, **flags: Any
) -> None:
    """Approve the package of the job JOB_ID, which is published then. Who published it may not."""
    _decide(job_id, "approve", reason, username, flags, server, as_json=as_json)


@reviews.command("reject")
@click.argument("job_id")
@click.option("--reason", required=True, metavar="TEXT", help="Why. The publisher reads it.")
@_options
def reject_review(
    job_id: str, reason: str, username: str | None, as_json: bool, server: str | None, **flags: Any
) -> None:
    """Reject the package of the job JOB_ID, and delete it. Who published it may not."""
    _decide(job_id, "reject", reason, username, flags, server, as_json=as_json)


def _decide(
    job_id: str,
    outcome: str,
    reason: str,
    username: str | None,
    flags: dict[str, Any],
    server: str | None,
    *,
    as_json: bool,
) -> None:
    path = f"{_PATH}/{quote(job_id, safe='')}/{outcome}"
    job = with_publisher(
        flags,
        server,
        lambda client: cast(Data, client.call(publishing_answers.Publishing, "POST", path, {"reason": reason})),
        username=username,
    )
    console.show(job, _decided, as_json=as_json)


def _list(answer: console.Data) -> Iterator[console.Part]:
    if not answer["reviews"]:
        yield "No package waits for a review"
        return
    rows = ([review[name] for name in _COLUMNS] for review in answer["reviews"])
    yield console.table(("Job", "Skill", "Version", "Risk", "By", "Since"), rows)


def _review(review: console.Data) -> Iterator[console.Part]:
    yield from console.facts_table({name: value for name, value in review.items() if name != "may_decide"})
    for finding in review["findings"]:
        where = f" {place(finding)}" if finding["file"] else ""
        yield console.line((finding["severity"], "bold"), f" {finding['rule']}{where}: {finding['message']}")
    if "changes" in review:
        for change in review["changes"]:
            yield console.line((change["kind"], "bold"), f" {change['path']}")
            yield from change["lines"]
    else:
        yield console.table(("File", "Bytes"), ((file["path"], str(file["size"])) for file in review["files"]))


def _decided(job: console.Data) -> Iterator[console.Part]:
    outcome = "rejected" if job["status"] == "rejected" else "approved: it is being published"
    yield f"{job['skill_id']} {job['version']} is {outcome}"


def _changes(client: RegistryClient, review: Data) -> list[Data]:
    """Return the files that differ from the published version before, with the lines of those that are texts."""
    after = {file["path"]: file["sha256"] for file in review["files"]}
    before: dict[str, str] = {}
    held = f"{_PATH}/{quote(review['job_id'], safe='')}/files"
    published = f"{API}/skills/{quote(review['skill_id'])}/versions/{quote(review['previous'] or '', safe='')}/files"
    if review["previous"]:
        before = {
            file["path"]: file["sha256"] for file in client.call(list[publishing_answers.PackageFile], "GET", published)
        }
    changes = []
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) == after.get(path):
            continue
        kind = "added" if path not in before else "removed" if path not in after else "changed"
        old = client.text(f"{published}/{quote(path)}", _MOST_BYTES) if path in before else ""
        new = client.text(f"{held}/{quote(path)}", _MOST_BYTES) if path in after else ""
        changes.append({"kind": kind, "path": path, "lines": _difference(old, new)})
    return changes


def _difference(old: str | None, new: str | None) -> list[str]:
    """Return the changed lines of a text, or one that says why they are not shown."""
    if old is None or new is None:
        return ["  (no text, or too long to compare)"]
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MOST_LINES:
        return [f"  (more than {_MOST_LINES:,} lines)"]
    return list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
