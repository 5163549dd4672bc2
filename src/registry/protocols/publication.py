"""The files of a request become a published version, or a folder in the local profile; the response has the result."""

import asyncio
import tempfile
import time
from typing import Any, BinaryIO

from litestar import Request

from registry.domain.models import Skill
from registry.domain.roles import Principal
from registry.errors import FieldError, validation_error
from registry.http.admission import principal_of
from registry.http.thread_pools import ORDINARY_POOL
from registry.http.uploads import take_files
from registry.packages.limits import DEFAULT_LIMITS
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
    caller = principal_of(request.scope) if services.settings.profile == "registry" else None
    limits = (DEFAULT_LIMITS.entries + _OTHER_PARTS, services.settings.limits.upload_bytes)
    source: BinaryIO
    with tempfile.TemporaryFile(dir=services.settings.data_dir) as source:
        parts = await take_files(request.content_type, request.stream(), "files", source, limits)
        taken = await ORDINARY_POOL.run(take_upload, services, source, parts, caller, skill_id)
    return await _accepted(services, taken, principal_of(request.scope)) if isinstance(taken, Job) else taken


async def _accepted(services: Services, job: Job, caller: Principal) -> JobData:
    ended = await _ended(services, job, caller)
    if ended.status == "rejected":
        raise validation_error(*(FieldError(fault.field or "files", fault.message) for fault in ended.errors))
    return ended


async def _ended(services: Services, job: Job, caller: Principal) -> JobData:
    """Return the job when it has ended, or as it is after 30 s or when the service stops."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        current = await ORDINARY_POOL.run(services.publishing.job, job.id, caller)
        if current.completed_at is not None or services.draining or time.monotonic() > deadline:
            return current
        await asyncio.sleep(1 / _LOOKS_PER_SECOND)
