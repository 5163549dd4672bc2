"""The files of a request become a published version, or a folder in the local profile; the response has the result."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, BinaryIO, cast

from litestar import Request

from registry.domain.models import Skill
from registry.domain.roles import Principal
from registry.errors import FieldError, validation_error
from registry.http.admission import principal_of
from registry.http.request_state import request_state
from registry.http.thread_pools import ORDINARY_POOL
from registry.http.uploads import TextField, take_files
from registry.packages.expected import Expected
from registry.packages.limits import DEFAULT_LIMITS
from registry.packages.packing import FilePart
from registry.publish.jobs import Job
from registry.publish.service import JobData
from registry.services.container import Services
from registry.services.uploads import check_upload, take_upload

_WAIT_SECONDS = 30.0
_LOOKS_PER_SECOND = 20
_OTHER_PARTS = 20
"""Fields of a form besides its files."""


async def take_package(
    request: Request[Any, Any, Any], services: Services, skill_id: str | None = None
) -> JobData | Skill:
    """Return the publish job of the files in a request, or the skill that was made of them in the local profile.

    `skill_id` is the only skill that they may be of. The response waits up to 30 s for the job. Raises VALIDATION_ERROR
    with every reason to refuse the files, FORBIDDEN, CONFLICT.
    """
    await ORDINARY_POOL.run(check_upload, services, skill_id)
    async with spool(services) as source:
        parts = await receive_parts(request, services, source)
        taken = await submit_parts(request, services, source, parts, Expected(skill_id))
    return await outcome(request, services, taken)


@asynccontextmanager
async def spool(services: Services) -> AsyncIterator[BinaryIO]:
    """Return a file for the parts of a request, which has no name and ends with the block."""
    open_file = partial(tempfile.TemporaryFile, dir=services.settings.data_dir)
    file = cast(BinaryIO, await ORDINARY_POOL.run(open_file))
    try:
        yield file
    finally:
        await ORDINARY_POOL.run(file.close)


async def receive_parts(
    request: Request[Any, Any, Any], services: Services, source: BinaryIO, text: TextField | None = None
) -> list[FilePart]:
    """Write the files of a form into `source`, and its text field into `text`.

    Raises VALIDATION_ERROR, PAYLOAD_TOO_LARGE.
    """
    limits = (DEFAULT_LIMITS.entries + _OTHER_PARTS, services.settings.limits.upload_bytes)
    return await take_files(request.content_type, request.stream(), "files", source, limits, text)


async def submit_parts(
    request: Request[Any, Any, Any],
    services: Services,
    source: BinaryIO,
    parts: Sequence[FilePart],
    expected: Expected,
) -> Job | Skill:
    """Submit the parts of `source`, as `services.uploads.take_upload`, in the name of the caller."""
    caller = request_state(request.scope).principal
    return await ORDINARY_POOL.run(take_upload, services, source, parts, caller, expected)


async def outcome(
    request: Request[Any, Any, Any], services: Services, taken: Job | Skill, seconds: float = _WAIT_SECONDS
) -> JobData | Skill:
    """Return the job when it has ended, or as it is after some seconds; a skill at once.

    Raises VALIDATION_ERROR with every reason why the package was rejected.
    """
    if not isinstance(taken, Job):
        return taken
    ended = await _ended(services, taken, principal_of(request.scope), seconds)
    if ended.status == "rejected":
        raise validation_error(*(FieldError(fault.field or "files", fault.message) for fault in ended.errors))
    return ended


async def _ended(services: Services, job: Job, caller: Principal, seconds: float) -> JobData:
    """Return the job when it has ended or waits for a review, or as it is after some seconds or at a stop."""
    deadline = time.monotonic() + seconds
    while True:
        current = await ORDINARY_POOL.run(services.publishing.job, job.id, caller)
        is_over = current.completed_at is not None or current.status == "held"
        if is_over or services.draining or time.monotonic() > deadline:
            return current
        await asyncio.sleep(1 / _LOOKS_PER_SECOND)
