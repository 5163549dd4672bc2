"""The registry protocol of Microsoft APM (`apm`): versions, packages, publishing and search, below `/apm`.

An owner is a scope, and a repository a skill. A package is the zip that was published: its digest is the one that the
client checks. Errors are problem details (RFC 9457), because the client shows their title and detail.
"""

import base64
import re
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, BinaryIO, Literal

import msgspec
from litestar import Request, Response, get, put
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import OpenAPIFormat, OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.params import FromPath, QueryParameter

from registry.catalog.conditions import check_scope
from registry.domain.addresses import redact_text
from registry.domain.models import Skill
from registry.domain.roles import Principal
from registry.errors import (
    ClientGoneError,
    FieldError,
    RegistryError,
    conflict,
    payload_too_large,
    skill_not_found,
    unsupported_media_type,
    validation_error,
)
from registry.http.envelope import CLIENT_GONE, error_of
from registry.http.request_state import request_state
from registry.http.routes.parameters import ERRORS as ENVELOPED_ERRORS
from registry.http.routes.parameters import ReadyServices
from registry.http.routes.publish import package_response
from registry.http.thread_pools import ORDINARY_POOL, PACKAGE_POOL
from registry.packages.archive import Archive
from registry.packages.expected import Expected
from registry.packages.limits import PackageLimits
from registry.packages.packing import FilePart
from registry.packages.refusal import PackageRefused
from registry.protocols.file_responses import document_response, zip_response
from registry.protocols.publication import outcome, spool, submit_parts
from registry.services.container import Services
from registry.services.schemas import SearchBody, SearchFilters
from registry.services.search import SearchOutcome, search_task
from registry.services.uploads import check_upload

PREFIX = "/apm"
"""The path that everything is below."""

LOCAL_OWNER = "local"
"""The owner of skills without a scope."""

_TAGS = ["APM"]
_MAX_PAGE, _MAX_OFFSET, _MOST_VERSIONS = 100, 10_000, 10_000
_ZIP_TYPES = frozenset({"application/zip", "application/x-zip-compressed"})
_PACKED_SKILL = re.compile(r"(\.apm/skills/[^/]+/)SKILL\.md")
"""Where a project of APM has its skills."""


class ApmProblem(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An error, as RFC 9457 has it. `errors` are the rules that a request breaks, or the package in it."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    errors: list[FieldError] = msgspec.field(default_factory=list)


class ApmVersion(msgspec.Struct, kw_only=True):
    """A version: `digest` is `sha256:` and the digest of the zip, and `size_bytes` the bytes of it."""

    version: str
    digest: str
    published_at: str
    size_bytes: int


class ApmVersions(msgspec.Struct, kw_only=True):
    """The versions of a package, the highest first."""

    package: str
    versions: list[ApmVersion]


class ApmPublication(ApmVersion, kw_only=True):
    """A version that was published."""

    package: str


class _Card(msgspec.Struct):
    """What a hit says of a skill."""

    id: str
    version: str
    description: str
    installed: bool
    author: str = ""
    tags: list[str] = msgspec.field(default_factory=list)


class ApmHit(msgspec.Struct, kw_only=True):
    """A hit of a search."""

    id: str
    latest_version: str
    description: str
    author: str
    tags: list[str]
    type: Literal["skill"] = "skill"
    score: float


class ApmHits(msgspec.Struct, kw_only=True):
    """A page of hits, best first. `total` counts them up to the end of this page."""

    query: str
    total: int
    results: list[ApmHit]


@dataclass
class _Archive(Operation):
    """The body in the OpenAPI document, which is never decoded as a whole."""

    def __post_init__(self) -> None:
        package = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY, description="A zip with a skill")
        self.request_body = RequestBody(content={"application/zip": OpenAPIMediaType(schema=package)}, required=True)


_PROBLEM = "application/problem+json"

_ERRORS = {
    status: ResponseSpec(ApmProblem, media_type=_PROBLEM, generate_examples=False, description=str(problem.description))
    for status, problem in ENVELOPED_ERRORS.items()
} | {414: ENVELOPED_ERRORS[414]}
"""The errors for the OpenAPI document. A URL that is too long is refused before its route is known."""

_REFUSED = {
    422: ResponseSpec(ApmProblem, media_type=_PROBLEM, generate_examples=False, description="The package was rejected")
}


class _PackageRejected(Exception):
    """A package breaks rules; `error` names them."""

    def __init__(self, error: RegistryError) -> None:
        super().__init__(error.message)
        self.error = error


def answer_problem(request: Request[Any, Any, Any], exception: Exception) -> Response[Any]:
    """Turn any exception below `PREFIX` into problem details."""
    if isinstance(exception, ClientGoneError):
        return Response(b"", status_code=CLIENT_GONE, media_type=_PROBLEM)
    error = exception.error if isinstance(exception, _PackageRejected) else error_of(request, exception)
    status = 422 if isinstance(exception, _PackageRejected) else error.status
    faults = "; ".join(f"{fault.field}: {fault.message}" for fault in error.details)
    problem = ApmProblem(
        title=error.code.replace("_", " ").capitalize(),
        status=status,
        detail=" ".join(redact_text(faults or error.message).split()),
        code=error.code,
        errors=list(error.details),
    )
    body = msgspec.json.encode(problem)
    return Response(body, status_code=status, headers=error.headers, media_type=_PROBLEM)


def _id(services: Services, owner: str, name: str) -> str:
    """Return the id of the skill that an owner and a repository mean."""
    if owner == LOCAL_OWNER and (services.settings.profile == "local" or services.catalog.has(name)):
        return name
    return f"{owner}/{name}"


def _package_of(skill_id: str) -> str:
    return skill_id if "/" in skill_id else f"{LOCAL_OWNER}/{skill_id}"


@get(
    "/apm/v1/packages/{skill_scope:str}/{skill_name:str}/versions",
    tags=_TAGS,
    responses=_ERRORS,
    role="user",
    fails={409},
)
async def list_apm_versions(
    request: Request[Any, Any, Any], services: ReadyServices, skill_scope: FromPath[str], skill_name: FromPath[str]
) -> Response[ApmVersions]:
    """List the active versions of a package, with the digest of each zip. A folder has one version."""
    versions = await PACKAGE_POOL.run(_versions, services, _id(services, skill_scope, skill_name))
    return document_response(request, ApmVersions(package=f"{skill_scope}/{skill_name}", versions=versions))


def _versions(services: Services, skill_id: str) -> list[ApmVersion]:
    skill = services.catalog.get(skill_id)
    if not skill.enabled or not (skill.installed or services.is_published(skill_id)):
        raise skill_not_found(skill_id)
    if not services.is_published(skill_id):
        return [_of_folder(services, skill)]
    stored = {version.version: version for version in services.published.summaries(skill_id)}
    listed, _ = services.catalog.versions(skill_id, _MOST_VERSIONS, 0)
    return [
        ApmVersion(
            version=version.version,
            digest=stored[version.version].checksum,
            published_at=version.created_at,
            size_bytes=stored[version.version].size,
        )
        for version in listed
        if version.version in stored and stored[version.version].state == "active"
    ]


def _of_folder(services: Services, skill: Skill) -> ApmVersion:
    package = services.skill_files.listed(skill.id)
    return ApmVersion(
        version=skill.version,
        digest=f"sha256:{package.digest}",
        published_at=skill.updated_at,
        size_bytes=len(package.archive),
    )


@get(
    "/apm/v1/packages/{skill_scope:str}/{skill_name:str}/versions/{version:str}/download",
    tags=_TAGS,
    responses=_ERRORS,
    role="user",
    media_type="application/zip",
    fails={409, 429},
)
async def download_apm_package(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    skill_scope: FromPath[str],
    skill_name: FromPath[str],
    version: FromPath[str],
) -> Response[Any]:
    """Return the zip of a version, also of a yanked one. A revoked one gets 409."""
    skill_id = _id(services, skill_scope, skill_name)
    if await ORDINARY_POOL.run(services.is_published, skill_id):
        answer = await package_response(request, services, skill_id, version)
    else:
        package = await PACKAGE_POOL.run(services.skill_files.get, skill_id, version)
        answer = zip_response(request, package)
    if etag := re.fullmatch(r'"(?:sha256:)?([0-9a-f]{64})"', answer.headers.get("ETag", "")):
        answer.headers["Digest"] = f"sha256={base64.b64encode(bytes.fromhex(etag[1])).decode()}"
    return answer


@put(
    "/apm/v1/packages/{skill_scope:str}/{skill_name:str}/versions/{version:str}",
    status_code=201,
    tags=_TAGS,
    responses=_ERRORS | _REFUSED,
    operation_class=_Archive,
    role="manager",
    rate="publish",
    body_limit="publish_body_bytes",
    fails={409, 413, 415},
)
async def publish_apm_package(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    skill_scope: FromPath[str],
    skill_name: FromPath[str],
    version: FromPath[str],
) -> ApmPublication:
    """Publish a zip, with a SKILL.md at its top or as the only skill in `.apm/skills`, and wait for the result.

    The name and the version must be those of SKILL.md.
    """
    if str(request.headers.get("content-type", "")).partition(";")[0].strip().lower() not in _ZIP_TYPES:
        raise unsupported_media_type("Send the package as application/zip")
    await ORDINARY_POOL.run(check_upload, services, None)
    expected = _expected(request_state(request.scope).principal, skill_scope, skill_name, version)
    limit = services.settings.limits.upload_bytes
    async with spool(services) as source:
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise payload_too_large(limit)
            await ORDINARY_POOL.run(source.write, chunk)
        try:
            parts = await PACKAGE_POOL.run(_parts, source, size, limit)
            taken = await outcome(request, services, await submit_parts(request, services, source, parts, expected))
        except RegistryError as error:
            if error.code == "VALIDATION_ERROR":
                raise _PackageRejected(error) from None
            raise
    release = await PACKAGE_POOL.run(
        _taken, services, taken.id if isinstance(taken, Skill) else taken.skill_id, version
    )
    return ApmPublication(package=f"{skill_scope}/{skill_name}", **msgspec.structs.asdict(release))


def _expected(caller: Principal | None, owner: str, name: str, version: str) -> Expected:
    """Return what the package must be. Raises FORBIDDEN for an owner that is not the caller, VALIDATION_ERROR."""
    if caller is None:
        if owner != LOCAL_OWNER:
            raise validation_error(FieldError("owner", f"must be '{LOCAL_OWNER}' in the local profile"))
        return Expected(name, version)
    check_scope(caller, f"{owner}/{name}", owner)
    return Expected(f"{owner}/{name}", version)


def _parts(source: BinaryIO, size: int, limit: int) -> list[FilePart]:
    """Return the zip in `source` as one part; if it is a project of APM with one skill, the files of the skill.

    These take the place of the zip in `source`.
    """
    whole = [FilePart("package.zip", 0, size)]
    try:
        archive = Archive(source, PackageLimits(archive_bytes=limit))
        names = [entry.name for entry in archive.entries]
        roots = [match[1] for name in names if (match := _PACKED_SKILL.fullmatch(name))]
        if len(roots) != 1 or any(name.count("/") < 2 and name.endswith("SKILL.md") for name in names):
            return whole
        files = {
            name: b"".join(archive.chunks(name)) for name in names if name.startswith(roots[0]) and name[-1] != "/"
        }
    except PackageRefused:  # publishing says with every reason why
        return whole
    source.seek(0)
    source.truncate()
    parts = []
    for name, data in files.items():
        parts.append(FilePart(name.removeprefix(roots[0]), source.tell(), len(data)))
        source.write(data)
    return parts


def _taken(services: Services, skill_id: str, version: str) -> ApmVersion:
    """Return a version that was taken. One that waits for a review or for its turn is not listed yet."""
    if services.settings.profile == "local":
        return _of_folder(services, services.catalog.get(skill_id))
    listed = _versions(services, skill_id) if services.is_published(skill_id) else []
    publication = next((release for release in listed if release.version == version), None)
    if publication is None:
        raise conflict(f"Version {version} of '{skill_id}' waits for a review or for its turn: it is published later")
    return publication


@get("/apm/v1/search", tags=_TAGS, responses=_ERRORS, role="user")
async def search_apm_packages(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    text: Annotated[str, QueryParameter(name="q", min_length=1, max_length=4_000, description="What to look for")],
    limit: Annotated[int, QueryParameter(ge=1, le=_MAX_PAGE, description="Most hits")] = 50,
    offset: Annotated[int, QueryParameter(ge=0, le=_MAX_OFFSET, description="Hits to leave out")] = 0,
    kind: Annotated[str, QueryParameter(name="type", max_length=50, description="Only 'skill' finds anything")] = "",
    tag: Annotated[str, QueryParameter(max_length=50, description="A tag that every hit has")] = "",
) -> ApmHits:
    """Find the skills that fit a text, best first."""
    if kind not in ("", "skill") or not text.strip():
        return ApmHits(query=text, total=0, results=[])
    filters = SearchFilters(tags=[tag]) if tag.strip() else None
    body = SearchBody(query=text.strip(), limit=limit, offset=offset, filters=filters, group=False)
    task = search_task(services, body).then(partial(_found, services))
    hits: list[ApmHit] = await request.app.state.searches.run(request.scope, task)
    return ApmHits(query=text, total=offset + len(hits), results=hits)


def _found(services: Services, answer: SearchOutcome) -> list[ApmHit]:
    """Return the hits that have a package."""
    hits = [(hit.score, msgspec.json.decode(hit.skill, type=_Card)) for hit in answer.data.skills]
    return [
        ApmHit(
            id=_package_of(card.id),
            latest_version=card.version,
            description=card.description,
            author=card.author,
            tags=card.tags,
            score=score,
        )
        for score, card in hits
        if card.installed or services.is_published(card.id)
    ]


APM = [list_apm_versions, download_apm_package, publish_apm_package, search_apm_packages]
