"""Publishing: uploads, jobs and downloads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import msgspec
from litestar import Request, Response, get, post
from litestar.enums import RequestEncodingType
from litestar.openapi.spec import OpenAPIFormat, OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.params import FromPath
from litestar.response import Stream

from registry.domain.api import API
from registry.errors import FieldError, not_found, validation_error
from registry.http.admission import principal_of
from registry.http.conditional_requests import not_modified
from registry.http.counted_uses import count_use
from registry.http.cursors import paged
from registry.http.envelope import Ok
from registry.http.request_state import request_state
from registry.http.routes.parameters import ERRORS, ListPage, ReadyServices, RunningServices
from registry.http.sent_files import sent
from registry.http.thread_pools import ORDINARY_POOL, PACKAGE_POOL
from registry.http.uploads import take_file
from registry.publish.checking import PackageCheck
from registry.publish.indexed_skills import IndexedSkill
from registry.publish.service import JobData, Publishing
from registry.publish.submission import Upload

_TAGS = ["publish"]
_FIELDS = ("package", "file")
_REQUEST_KEY = "Idempotency-Key"
_MAX_KEY = 200
KEPT_FOREVER = {"Cache-Control": "private, max-age=31536000, immutable"}


class Submitted(msgspec.Struct, kw_only=True):
    """The response to an upload. The job tells its result."""

    job_id: str
    status: str
    skill_id: str
    version: str
    message: str


@dataclass
class _PackageUpload(Operation):
    """The body in the OpenAPI document. The file is never decoded as a whole."""

    def __post_init__(self) -> None:
        package = Schema(
            type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY, description="A zip that holds a SKILL.md"
        )
        schema = Schema(type=OpenAPIType.OBJECT, required=["package"], properties={"package": package})
        content = {RequestEncodingType.MULTI_PART.value: OpenAPIMediaType(schema=schema)}
        self.request_body = RequestBody(content=content, required=True)


@asynccontextmanager
async def _received(
    request: Request[Any, Any, Any], publishing: Publishing, *, synced: bool = True
) -> AsyncIterator[Upload]:
    """Receive the package of a request for the block. What is left of it is discarded at its end."""
    receiver = await ORDINARY_POOL.run(publishing.receive)
    try:
        await take_file(request.content_type, request.stream(), _FIELDS, receiver, publishing.upload_bytes)
        yield await ORDINARY_POOL.run(partial(receiver.finish, synced=synced))
    finally:
        receiver.discard()


@post(
    "/registry/publish",
    tags=_TAGS,
    responses=ERRORS,
    operation_class=_PackageUpload,
    status_code=202,
    role="manager",
    operations=("publish",),
    rate="publish",
    body_limit="publish_body_bytes",
    fails={409},
)
async def publish(request: Request[Any, Any, Any], services: ReadyServices) -> Response[Ok[Submitted]]:
    """Accept a package, a zip in the multipart field `package` (or `file`), and check it in the background."""
    publishing, caller = services.publishing, principal_of(request.scope)
    key = _request_key(request)
    async with _received(request, publishing) as upload:
        job = await ORDINARY_POOL.run(publishing.submit, upload, caller, key)
    message = f"Version {job.version} of '{job.skill_id}' is being checked"
    answer = Submitted(job_id=job.id, status=job.state, skill_id=job.skill_id, version=job.version, message=message)
    location = f"{API}/registry/publish/{job.id}/status"
    return Response(Ok(answer), status_code=202, headers={"Location": location})


def _request_key(request: Request[Any, Any, Any]) -> str | None:
    """Return the key by which an upload is known again, None without one. Raises VALIDATION_ERROR."""
    key = request.headers.get(_REQUEST_KEY, "")
    if len(key) > _MAX_KEY:
        raise validation_error(FieldError(_REQUEST_KEY, f"must have at most {_MAX_KEY} characters"))
    return key or None


@post(
    "/registry/publish/check",
    tags=_TAGS,
    responses=ERRORS,
    operation_class=_PackageUpload,
    status_code=200,
    role="manager",
    operations=("publish",),
    rate="publish",
    changes=False,
    body_limit="publish_body_bytes",
)
async def check_package(request: Request[Any, Any, Any], services: ReadyServices) -> Ok[PackageCheck]:
    """Check a package as publishing would, and return what it would publish and what it finds. Nothing is stored."""
    publishing, caller = services.publishing, principal_of(request.scope)
    async with _received(request, publishing, synced=False) as upload:
        return Ok(await PACKAGE_POOL.run(publishing.checker.check, upload, caller))


@get("/registry/publish", tags=_TAGS, responses=ERRORS, role="user", operations=("read", "publish"))
@ORDINARY_POOL.handler
def list_publish_jobs(
    request: Request[Any, Any, Any], running: RunningServices, page: ListPage
) -> Response[Ok[list[JobData]]]:
    """List publish jobs, newest first: those of the caller and its scope, to administrators all."""
    jobs, total = running.publishing.all_jobs(principal_of(request.scope), page.limit, page.offset)
    return paged(request, running, jobs, total, page)


@get(
    ["/registry/publish/{job_id:str}/status", "/registry/publish/status/{job_id:str}"],
    tags=_TAGS,
    responses=ERRORS,
    role="user",
    operations=("read", "publish"),
)
async def publish_status(
    request: Request[Any, Any, Any], running: RunningServices, job_id: FromPath[str]
) -> Ok[JobData]:
    """Return the state of a publish job, to its uploader, its scope and administrators."""
    return Ok(await ORDINARY_POOL.run(running.publishing.job, job_id, principal_of(request.scope)))


@post("/registry/publish/{job_id:str}/retry", status_code=200, tags=_TAGS, responses=ERRORS, role="admin", fails={409})
@ORDINARY_POOL.handler
def retry_publish(services: ReadyServices, job_id: FromPath[str]) -> Ok[JobData]:
    """Retry a job that was set aside because the service died twice during it. Another one is not found."""
    return Ok(services.publishing.retry(job_id))


@get("/registry/index/skills", tags=_TAGS, responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def list_index(services: ReadyServices) -> Ok[list[IndexedSkill]]:
    """List the published skills with their active versions, newest first."""
    return Ok(services.publishing.index_skills())


@get(
    "/packages/{skill_scope:str}/{skill_name:str}/{file:str}",
    tags=_TAGS,
    responses=ERRORS,
    role="user",
    media_type="application/zip",
    fails={429},
)
async def download(
    request: Request[Any, Any, Any],
    running: RunningServices,
    skill_scope: FromPath[str],
    skill_name: FromPath[str],
    file: FromPath[str],
) -> Response[Any]:
    """Return the package of a version, `<version>.zip`. With a wrong digest, it is never sent whole."""
    return await package_response(request, running, f"{skill_scope}/{skill_name}", version_of(file))


def version_of(file: str) -> str:
    """Return the version in the name of a package, `<version>.zip`. Raises NOT_FOUND for another name."""
    version = file.removesuffix(".zip")
    if version == file:
        raise not_found("Package")
    return version


async def package_response(
    request: Request[Any, Any, Any], running: RunningServices, skill_id: str, version: str
) -> Response[Any]:
    """Return the package of a published version, with its stored bytes. With a wrong digest, it is never sent whole.

    Raises SKILL_NOT_FOUND, CONFLICT if it is revoked, RATE_LIMITED, SERVICE_UNAVAILABLE.
    """
    release = await ORDINARY_POOL.run(running.publishing.published.find, skill_id, version)
    response = not_modified(request, None, f'"{release.checksum}"', KEPT_FOREVER)
    if release.state != "revoked" and response.status_code == 304:
        return Response(b"", status_code=304, media_type="application/zip", headers=response.headers)
    request.app.state.downloads.begin(request.scope)
    package = await PACKAGE_POOL.run(running.publishing.packages.stream, release)
    request_state(request.scope).at_end(package.close)
    count_use(request, skill_id, "downloaded")
    return sent_package(package, release.size, f"{skill_id.rpartition('/')[2]}-{version}.zip", response)


def sent_package(package: BinaryIO, size: int, name: str, response: Response[Any]) -> Stream:
    """Return the response with an open package of `size` bytes, to be saved as `name`, with the headers of another."""
    headers = {
        **response.headers,
        "Content-Length": str(size),
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Content-Type-Options": "nosniff",
    }
    return Stream(sent(package, size, PACKAGE_POOL), media_type="application/zip", headers=headers)


PUBLISH = [publish, check_package, list_publish_jobs, publish_status, retry_publish, list_index]
PACKAGES = [download]
