"""Publishing by the ClawHub protocol: as a form (`clawhub` 0.20), or by upload tickets (0.23)."""

from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO, Literal, cast
from urllib.parse import urlencode

import msgspec
from litestar import Request, post
from litestar.enums import RequestEncodingType
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta

from registry.catalog.conditions import check_scope
from registry.domain.models import Skill, Version
from registry.errors import FieldError, RegistryError, scope_needed, validation_error
from registry.http.links import base_url
from registry.http.request_body import StrictRequest, is_upload
from registry.http.request_state import request_state
from registry.http.routes.parameters import ReadyServices
from registry.http.thread_pools import ORDINARY_POOL
from registry.http.uploads import TextField
from registry.packages.expected import Expected
from registry.packages.limits import DEFAULT_LIMITS
from registry.parsing.strict_json import decode
from registry.protocols.clawhub.errors import ERRORS, PREFIX
from registry.protocols.clawhub.finding import TAGS
from registry.protocols.clawhub.references import LOCAL_OWNER, owner_handle
from registry.protocols.publication import outcome, receive_parts, spool, submit_parts
from registry.publish.service import JobData
from registry.services.container import Services
from registry.services.ticketed_uploads import TicketedFile, TicketedUploads, UploadedFile
from registry.services.uploads import check_upload

_PAYLOAD_BYTES = 64 << 10
_WAIT_SECONDS = 10.0
"""`clawhub` 0.23 waits 15 s for the response, and then sends the request again."""

_Slug = Annotated[str, Meta(max_length=100)]
_Handle = Annotated[str, Meta(max_length=100)]
_Path = Annotated[str, Meta(min_length=1, max_length=500)]
_Size = Annotated[int, Meta(ge=0, le=DEFAULT_LIMITS.total_bytes)]
_Digest = Annotated[
    str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)", extra={"rule": "must be a SHA-256 in hexadecimal digits"})
]
_Ticket = Annotated[str, Meta(max_length=200)]


class NewFile(msgspec.Struct, kw_only=True):
    """A file to be uploaded."""

    path: _Path
    size: _Size
    sha256: _Digest


class UploadTicket(msgspec.Struct, kw_only=True, rename="camel"):
    """Where to upload a file, and the ticket to publish it with. Both are valid for 10 minutes."""

    upload_url: str
    upload_ticket: str


class StoredFile(msgspec.Struct, kw_only=True, rename="camel"):
    """The id of an uploaded file."""

    storage_id: str


class PublishedFile(NewFile, kw_only=True, rename="camel"):
    """An uploaded file to be published."""

    storage_id: _Ticket
    upload_ticket: _Ticket


class NewClawHubVersion(msgspec.Struct, kw_only=True, rename="camel"):
    """What is published. Only what SKILL.md says is shown: name, description, labels and version."""

    slug: _Slug
    version: Version
    owner_handle: _Handle = ""


class TicketedVersion(NewClawHubVersion, kw_only=True, rename="camel"):
    """What is published, with files that were uploaded before."""

    files: Annotated[list[PublishedFile], Meta(min_length=1, max_length=DEFAULT_LIMITS.entries)]


class ClawHubPublication(msgspec.Struct, kw_only=True, rename="camel"):
    """A publication. `pending` goes on after the response."""

    ok: Literal[True] = True
    skill_id: str
    version_id: str
    slug: str
    version: str
    publication_status: Literal["published", "pending"]


@dataclass
class _FormOrTickets(Operation):
    """The body in the OpenAPI document: a form, which is never decoded as a whole, or JSON."""

    def __post_init__(self) -> None:
        text = Schema(type=OpenAPIType.STRING, description="JSON with slug, version and ownerHandle")
        files = Schema(type=OpenAPIType.ARRAY, items=Schema(type=OpenAPIType.STRING, content_encoding="binary"))
        form = Schema(
            type=OpenAPIType.OBJECT, required=["payload", "files"], properties={"payload": text, "files": files}
        )
        fields = Schema(type=OpenAPIType.OBJECT, description="slug, version, ownerHandle and the uploaded files")
        content = {
            RequestEncodingType.MULTI_PART.value: OpenAPIMediaType(schema=form),
            RequestEncodingType.JSON.value: OpenAPIMediaType(schema=fields),
        }
        self.request_body = RequestBody(content=content, required=True)


@post(
    "/clawhub/api/v1/skills/-/upload-url",
    status_code=200,
    tags=TAGS,
    responses=ERRORS,
    role="manager",
    operations=("publish",),
    rate="read",
    fails={409},
)
async def issue_upload_ticket(
    request: Request[Any, Any, Any], services: ReadyServices, data: JSONBody[NewFile]
) -> UploadTicket:
    """Return a ticket for the upload of one file."""
    await ORDINARY_POOL.run(check_upload, services, None)
    file = UploadedFile(data.path, data.size, data.sha256)
    ticket = await ORDINARY_POOL.run(_uploads(request).issue, file, _caller(request))
    url = f"{base_url(request, services)}{PREFIX}/api/v1/uploads/{ticket}?{urlencode(file._asdict())}"
    return UploadTicket(upload_url=url, upload_ticket=ticket)


@post(
    "/clawhub/api/v1/uploads/{ticket:str}",
    status_code=200,
    tags=TAGS,
    responses=ERRORS,
    role="manager",
    operations=("publish",),
    body_limit="upload_bytes",
    fails={409, 413},
)
async def take_clawhub_upload(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    ticket: FromPath[str],
    path: Annotated[str, QueryParameter(name="path", max_length=500, description="The path of the ticket")],
    size: Annotated[int, QueryParameter(ge=0, le=DEFAULT_LIMITS.total_bytes, description="The size in bytes")],
    sha256: Annotated[str, QueryParameter(max_length=64, description="The SHA-256 in hexadecimal digits")],
) -> StoredFile:
    """Keep the bytes of a file until it is published, for 10 minutes at most."""
    uploads, caller, file = _uploads(request), _caller(request), UploadedFile(path, size, sha256)
    receiver = await ORDINARY_POOL.run(uploads.receive, ticket, file, caller)
    try:
        async for chunk in request.stream():
            if receiver.size + len(chunk) > size:
                raise validation_error(FieldError("file", f"is larger than {size:,} bytes, the size of the ticket"))
            await ORDINARY_POOL.run(receiver.write, chunk)
        return StoredFile(storage_id=await ORDINARY_POOL.run(uploads.keep, receiver, ticket, file, caller))
    finally:
        await ORDINARY_POOL.run(uploads.end, receiver)


@post(
    "/clawhub/api/v1/skills",
    status_code=200,
    tags=TAGS,
    responses=ERRORS,
    operation_class=_FormOrTickets,
    role="manager",
    operations=("publish",),
    rate="publish",
    uploads=True,
    fails={404, 409},
)
async def publish_clawhub_version(request: Request[Any, Any, Any], services: ReadyServices) -> ClawHubPublication:
    """Publish files and wait for the result, for 10 s. In the local profile, they become a folder.

    The version must be that of SKILL.md. What else a client says about the skill is not kept.
    """
    await ORDINARY_POOL.run(check_upload, services, None)
    async with spool(services) as source:
        if is_upload(request, request.route_handler):
            return await _publish_form(cast(StrictRequest, request), services, source)
        return await _publish_ticketed(cast(StrictRequest, request), services, source)


async def _publish_form(request: StrictRequest, services: Services, source: BinaryIO) -> ClawHubPublication:
    payload = TextField("payload", _PAYLOAD_BYTES)
    parts = await receive_parts(request, services, source, payload)
    if not payload.data:
        raise validation_error(FieldError("payload", "is required: JSON with slug and version"))
    new = decode(bytes(payload.data), NewClawHubVersion)
    taken = await submit_parts(request, services, source, parts, _expected(request, services, new))
    return _publication(new, await outcome(request, services, taken, _WAIT_SECONDS))


async def _publish_ticketed(request: StrictRequest, services: Services, source: BinaryIO) -> ClawHubPublication:
    new = await request.decoded(TicketedVersion)
    uploads, caller = _uploads(request), _caller(request)
    files = [
        TicketedFile(UploadedFile(file.path, file.size, file.sha256), file.upload_ticket, file.storage_id)
        for file in new.files
    ]
    try:
        parts = await ORDINARY_POOL.run(uploads.collect, files, caller, source)
        taken = await submit_parts(request, services, source, parts, _expected(request, services, new))
        ended = await outcome(request, services, taken, _WAIT_SECONDS)
    except RegistryError as error:
        if error.status < 500:  # clients repeat a request that failed otherwise, with the same tickets
            await ORDINARY_POOL.run(uploads.discard, files, caller)
        raise
    await ORDINARY_POOL.run(uploads.discard, files, caller)
    return _publication(new, ended)


def _expected(request: Request[Any, Any, Any], services: Services, new: NewClawHubVersion) -> Expected:
    """Return what the package must be. Raises FORBIDDEN for an owner that is not the caller, VALIDATION_ERROR."""
    owner = owner_handle(new.owner_handle)
    caller = request_state(request.scope).principal
    if caller is None:
        if owner not in (None, LOCAL_OWNER):
            raise validation_error(FieldError("ownerHandle", f"must be '{LOCAL_OWNER}' in the local profile"))
        return Expected(new.slug, new.version)
    owner = owner or caller.scope
    if owner is None:
        raise scope_needed()
    check_scope(caller, f"{owner}/{new.slug}", owner)
    return Expected(f"{owner}/{new.slug}", new.version)


def _publication(new: NewClawHubVersion, taken: JobData | Skill) -> ClawHubPublication:
    skill_id, is_done = (taken.id, True) if isinstance(taken, Skill) else (taken.skill_id, taken.status == "accepted")
    return ClawHubPublication(
        skill_id=skill_id,
        version_id=f"{skill_id}@{taken.version}",
        slug=new.slug,
        version=taken.version,
        publication_status="published" if is_done else "pending",
    )


def _uploads(request: Request[Any, Any, Any]) -> TicketedUploads:
    uploads: TicketedUploads = request.app.state.ticketed_uploads
    return uploads


def _caller(request: Request[Any, Any, Any]) -> str:
    """Return the name that tickets are tied to."""
    caller = request_state(request.scope).principal
    return LOCAL_OWNER if caller is None else caller.account


PUBLISHING = [issue_upload_ticket, take_clawhub_upload, publish_clawhub_version]
