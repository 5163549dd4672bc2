"""`skill-registry dev conformance`: run the rows of the HTTP specification against a service that claims to keep it."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, Literal

import click
import httpx
import msgspec

from registry.cli import command, console
from registry.cli.backend import CommandFailed
from registry.cli.credentials import find_credential
from registry.cli.help.settings_options import settings_options
from registry.cli.remote.client import Limits, check_url, credential_headers, open_http
from registry.conformance.answer import Mismatch
from registry.conformance.rows import Result
from registry.conformance.running import rows_of, run
from registry.conformance.service import NAME, NotAService, Service

_COLOURS = {"pass": "green", "fail": "red", "skip": "yellow"}
_WRITES = (
    f"--write creates skills, versions and manifest entries with ids that begin with '{NAME}-', users of the scope "
    f"'{NAME}' and trusted publishers, and removes them; "
    "it also reindexes and refreshes all sources"
)
_PUBLISHES = (
    f"--publish publishes small packages with names that begin with '{NAME}-', into the scope '{NAME}' or that of "
    "your credential: their versions, numbers and log entries stay for good; it also adds private scopes with such "
    "names, and closes them"
)


@click.command()
@click.argument("url", required=False)
@click.option("--server", metavar="URL", help="The same as URL, as in other commands.")
@click.option("--profile", type=click.Choice(["local", "registry"]), help="The profile. Without it, it is found out.")
@click.option("--token", help="A token or an API key, best of an administrator. Default: your login at URL.")
@click.option("--write", is_flag=True, help="Also create, change and remove skills, with ids of their own.")
@click.option("--publish", is_flag=True, help="Also publish packages, which stay for good. Implies --write.")
@click.option("--only-specification", is_flag=True, help="Leave out what the specification leaves open.")
@click.option("--section", "sections", multiple=True, help="Only sections whose name contains this. May be repeated.")
@command.json_option
@settings_options("data_dir")
def conformance(
    url: str | None,
    server: str | None,
    profile: Literal["local", "registry"] | None,
    token: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Check whether a service keeps the HTTP specification. URL may be that of any implementation.

    Without --write and --publish, nothing is changed. In the registry profile, the command takes a token of each role,
    with your credential if there is one, and ends them. Exit codes: 0 nothing failed, 1 something failed, 2 wrong
    usage, or no service that speaks the protocol.
    """
    url = _one_of(url, server)
    chosen = {name: options.pop(name) for name in ("write", "publish", "only_specification", "sections")}
    if chosen["write"] or chosen["publish"]:
        console.note(_WRITES)
    if chosen["publish"]:
        console.note(_PUBLISHES)
    try:
        settings = command.load(options)
        credential = credential_headers(token or find_credential(settings, url))
        with closing(_open(url, Limits.of(settings))) as http:
            service = Service(http, credential, _levels(**chosen), profile)
            report = _report(service, url, as_json=as_json, **chosen)
    except (CommandFailed, NotAService, Mismatch, OSError) as error:
        command.stop(f"{url}: {error}" if isinstance(error, NotAService) else str(error), command.WRONG_USAGE)
    if as_json:
        console.show_json(report)
    if report["failed"] or report["left"]:
        sys.exit(command.FAILED)


def _one_of(url: str | None, server: str | None) -> str:
    """Return the URL of the service, which is given once."""
    if url and server:
        raise click.UsageError("give the URL or --server, not both")
    if not (url or server):
        raise click.UsageError("give the URL of the service")
    return str(url or server)


def _open(url: str, limits: Limits) -> httpx.Client:
    check_url(url, "URL")
    return open_http(url, {"Accept": "*/*", "Accept-Encoding": "gzip"}, limits, base_url=url.rstrip("/"))


def _levels(*, write: bool, publish: bool, **_: Any) -> frozenset[str]:
    return frozenset({"read", *(["write"] if write or publish else []), *(["publish"] if publish else [])})


def _report(
    service: Service, url: str, *, as_json: bool, only_specification: bool, sections: Sequence[str], **_: Any
) -> dict[str, Any]:
    """Run the rows, show each as it ends unless the answer is JSON, and return all of them. Raises CommandFailed."""
    rows = rows_of(service.profile, only_specification=only_specification, sections=sections)
    if not rows:
        raise CommandFailed("no section has such a name")
    results: list[Result] = []
    screen = console.terminal(soft_wrap=True, quiet=as_json)
    for result in run(service, rows):
        if not results or results[-1].section != result.section:
            screen.print()
            screen.print(console.line((result.section, "bold")))
        results.append(result)
        for line in _lines(result):
            screen.print(line)
    counts = Counter(result.outcome for result in results)
    numbers = {"passed": counts["pass"], "failed": counts["fail"], "skipped": counts["skip"]}
    screen.print(f"\n{service.profile} profile: {', '.join(f'{count} {name}' for name, count in numbers.items())}")
    for skill in service.leftovers:
        screen.print(console.line(("could not be removed:", "red"), f" {skill}"))
    about = {"url": url, "profile": service.profile, "registry_mode": service.registry_mode}
    return about | numbers | {"left": service.leftovers, "rows": [_row(result) for result in results]}


def _lines(result: Result) -> Iterator[console.Part]:
    reason = f" ({result.reason})" if result.reason else ""
    yield console.line("  ", (result.outcome, _COLOURS[result.outcome]), f"  {result.row}{reason}")
    if result.outcome == "fail":
        yield console.line(f"        expected  {result.expected}")
        yield console.line(f"        seen      {result.seen}")


def _row(result: Result) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(result).items() if value is not None}
