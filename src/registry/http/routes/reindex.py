"""Reindexing: all skills or one, synchronously or as a job."""

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta

from registry.domain.api import API
from registry.http.envelope import Ok
from registry.http.routes.parameters import ERRORS, OptionalBody, ReadyServices, each, skill_id
from registry.http.thread_pools import ORDINARY_POOL
from registry.indexing.reindex import ReindexJob
from registry.services.container import Services
from search.reports import Reindexed

InBackground = Annotated[
    bool, QueryParameter(name="async", description="Answer at once with a job, and reindex in the background")
]


class ReindexBody(msgspec.Struct, kw_only=True):
    """What to reindex: some skills or all, only changes or everything."""

    force: bool = False
    skill_ids: Annotated[list[str], Meta(max_length=1000, extra={"rule": "must be at most 1,000"})] | None = None


class JobStarted(msgspec.Struct):
    """The job that reports the progress."""

    job_id: str


_REINDEX: dict[str, Any] = {
    "status_code": 200,
    "tags": ["search"],
    "responses": {
        **ERRORS,
        202: ResponseSpec(Ok[JobStarted], generate_examples=False, description="The job has started"),
    },
    "operation_class": OptionalBody,
    "role": "manager",
}


def _reindex(
    services: Services, ids: list[str] | None, force: bool, in_background: bool
) -> Response[Ok[Reindexed | JobStarted]]:
    if in_background:
        job = services.reindexing.start(ids, force=force)
        location = f"{API}/reindex/{job.job_id}"
        return Response(Ok(JobStarted(job.job_id)), status_code=202, headers={"Location": location})
    return Response(Ok(services.reindexing.run(ids, force=force)), status_code=200)


@post("/reindex", fails={404}, **_REINDEX)
@ORDINARY_POOL.handler
def reindex_all(
    services: ReadyServices, data: JSONBody[ReindexBody], in_background: InBackground = False
) -> Response[Ok[Reindexed | JobStarted]]:
    """Reindex all skills, or the named ones."""
    return _reindex(services, data.skill_ids, data.force, in_background)


@post(each("/reindex/{id}"), of_scope=False, **_REINDEX)
async def reindex_one(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    data: JSONBody[ReindexBody],
    in_background: InBackground = False,
) -> Response[Ok[Reindexed | JobStarted]]:
    """Reindex one skill."""
    return await ORDINARY_POOL.run(_reindex, services, [skill_id(request)], data.force, in_background)


@get("/reindex/{job_id:str}", tags=["search"], responses=ERRORS, role="manager")
@ORDINARY_POOL.handler
def get_reindex_job(services: ReadyServices, job_id: FromPath[str]) -> Ok[ReindexJob]:
    """Return the progress of a reindex job."""
    return Ok(services.reindexing.get(job_id))


REINDEX = [reindex_all, reindex_one, get_reindex_job]
