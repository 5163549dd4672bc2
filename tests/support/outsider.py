"""Everything that the OpenAPI document lets a caller send, filled in with what may be hidden, and comparable answers.

What no two runs answer alike, such as times and random ids, is replaced in the answers.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx

from support.publishing import Registry, skill_package

_METHODS = ("get", "post", "put", "delete", "patch")
_SECONDS = 20

_VARYING = (
    (re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|\+00:00)"), b"TIME"),
    (re.compile(rb"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"), b"TIME"),
    (re.compile(rb"eyJ[\w-]+\.[\w-]+\.[\w-]+"), b"TOKEN"),
    (re.compile(rb'"(took_ms|duration_ms|uptime_seconds|expires_in|index_age_seconds)":[\d.]+'), rb'"\1":0'),
    (re.compile(rb'"(search_id|request_id|uploadTicket|id|job_id)":"[\w.=-]{10,}"'), rb'"\1":"ID"'),
    (re.compile(rb"\b[0-9a-f]{32}\b"), b"ID"),
    (re.compile(rb"(?<=\xe2\x80\x94 )(skill-registry) [\w+/=]{60,}"), rb"\1 SIGNATURE"),
    (re.compile(rb"/uploads/[\w-]{40,}"), b"/uploads/ID"),
)
_TIMES_AND_IDS = {"date", "x-request-id", "ratelimit-remaining", "ratelimit-reset", "last-modified", "location", "etag",
                  "content-length"}  # fmt: skip
"""Headers that differ from run to run, or with the times in a body."""


Caller = Callable[[], dict[str, str]]
"""Returns the headers of a caller."""


class Hidden(NamedTuple):
    """What nobody may learn of: the id of a skill, a version, the id of its job, a file, and words of its texts."""

    skill_id: str
    version: str
    job_id: str
    path: str
    words: str


class Answer(NamedTuple):
    """An answer without what varies."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def answers(
    registry: Registry, callers: Mapping[str, Caller], hidden: Mapping[str, list[Hidden]], below: str = ""
) -> dict[str, Answer]:
    """Send every operation of the document as each caller, filled in with what is hidden; return the answers.

    The paths are those of the document, `below` a path.

    A caller comes with a new credential after the operation that ends it. What only a manager may do comes last,
    because ranks depend on how far the index is with what that changes. Metrics count and time requests, so of those
    only the names are compared.
    """
    document = registry.http.get("/schema/openapi.json").json()
    taken: dict[str, Answer] = {}
    credentials = {who: caller() for who, caller in callers.items()}
    for is_late in (False, True):
        for path, item in sorted(document["paths"].items()):
            for method in _METHODS:
                if method in item and (_needs_manager(item[method]) == is_late):
                    for who, caller in callers.items():
                        for secret in hidden[who]:
                            for url, options in _requests(path, item[method], secret):
                                title = f"{who}: {method.upper()} {below}{url} {options}"
                                taken[title] = _sent(registry, method, f"{below}{url}", credentials[who], options)
                                if path.endswith("/logout"):
                                    credentials[who] = caller()
    return taken


def _needs_manager(operation: Mapping[str, Any]) -> bool:
    """Return whether an operation needs a credential although anybody may read."""
    return {} not in operation.get("security", [{}])


def _requests(path: str, operation: Mapping[str, Any], hidden: Hidden) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the requests of an operation: one with what it needs, and one with every parameter of its query."""
    scope, _, name = hidden.skill_id.partition("/")
    values = {
        "id": hidden.skill_id, "skill_id": hidden.skill_id, "skill_scope": scope, "skill_name": name, "name": name,
        "scope_name": scope, "version": hidden.version, "job_id": hidden.job_id, "path": hidden.path,
        "file": f"{hidden.version}.zip",
        "slug": name, "q": hidden.words, "tags": hidden.words.partition(" ")[0], "ownerHandle": scope,
        "author": hidden.words, "license": hidden.words, "service": "git-upload-pack",
    }  # fmt: skip
    query: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    for parameter in operation.get("parameters", ()):
        value = values.get(parameter["name"], parameter.get("example", hidden.words))
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(str(value), safe="/"))
        elif parameter["in"] == "query":
            (query if parameter.get("required") else optional)[parameter["name"]] = value
    body = _body(operation, hidden)
    yield path, {"params": query, **body}
    if optional:
        searched = {name: value for name, value in optional.items() if name in ("q", "limit")}
        yield path, {"params": query | searched, **body}
        yield path, {"params": query | optional, **body}


def _body(operation: Mapping[str, Any], hidden: Hidden) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    for media_type, described in content.items():
        if media_type == "application/json" and "example" in described:
            return {"json": _filled(described["example"], hidden)}
        if media_type == "multipart/form-data":
            return {"files": {"package": ("package.zip", b"no zip")}}
        if isinstance(described.get("example"), str):
            text = described["example"].replace("pdf-forms", hidden.skill_id)
            return {"content": text.encode(), "headers": {"Content-Type": media_type}}
    return {"json": {}} if content else {}


def _filled(value: Any, hidden: Hidden) -> Any:
    """Return an example with the hidden skill in the place of its own."""
    if isinstance(value, dict):
        return {key: hidden.words if key in ("query", "prompt", "q") and isinstance(of_key, str)
                else _filled(of_key, hidden) for key, of_key in value.items()}  # fmt: skip
    if isinstance(value, list):
        return [_filled(item, hidden) for item in value]
    if isinstance(value, str):
        return value.replace("acme/pdf-forms", hidden.skill_id).replace("pdf-forms", hidden.skill_id)
    return value


def _sent(registry: Registry, method: str, url: str, caller: Mapping[str, str], options: dict[str, Any]) -> Answer:
    headers = {**caller, **options.get("headers", {})}
    try:
        answer = registry.http.request(method, url, **{**options, "headers": headers}, timeout=_SECONDS)
    except httpx.ReadTimeout:
        return Answer(0, (), b"no end")
    return comparable(registry, answer)


def comparable(registry: Registry, answer: httpx.Response) -> Answer:
    """Return an answer without what varies."""
    body = answer.content.replace(registry.url.encode(), b"URL")
    if answer.url.path == "/metrics":
        body = b"\n".join(sorted({line.split(b" ")[0].split(b"{")[0] for line in body.splitlines()}))
    for pattern, replacement in _VARYING:
        body = pattern.sub(replacement, body)
    kept = ((name, value) for name, value in answer.headers.items() if name not in _TIMES_AND_IDS)
    return Answer(
        answer.status_code, tuple(sorted((name, value.replace(registry.url, "URL")) for name, value in kept)), body
    )


def with_and_without(
    folder: Path,
    settings: Mapping[str, str],
    published: Iterable[tuple[str, str]],
    hide: Callable[[Registry], list[Hidden]],
    ask: Callable[[Registry, list[Hidden]], dict[str, Answer]],
) -> tuple[dict[str, Answer], dict[str, Answer]]:
    """Return the answers of a registry that hides something, and of the same registry before it did.

    `published` are the scopes and names of skills that both have.
    """
    place, before = folder / "registry", folder / "before"
    with Registry(place, env=settings) as registry:
        for scope, name in published:
            answer = registry.publish(skill_package(name), registry.caller(f"{scope}/ann"))
            assert registry.finished(answer, synced=True)["status"] == "accepted"
    shutil.copytree(place, before, symlinks=True)
    with Registry(place, env=settings) as registry:
        hidden = hide(registry)
        with_it = ask(registry, hidden)
    shutil.rmtree(place)
    before.rename(place)
    with Registry(place, env=settings) as registry:
        return with_it, ask(registry, hidden)


def assert_equal(with_it: Mapping[str, Answer], without: Mapping[str, Answer]) -> None:
    """Assert that all answers are the same, and show the first five that are not."""
    assert with_it.keys() == without.keys()
    differing = [title for title in with_it if with_it[title] != without[title]]
    told = [f"{title}\n{_as_text(with_it[title])}\n{_as_text(without[title])}" for title in differing[:5]]
    assert differing == [], "\n".join(told)


def _as_text(answer: Answer) -> str:
    """Return an answer for a message."""
    return json.dumps([answer.status, answer.headers, answer.body.decode("utf-8", "replace")[:2000]])
