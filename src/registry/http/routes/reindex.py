"""Reindexing: all skills or one, at once or as a job to look at."""

from typing import Annotated, Any

import msgspec
from anyio import to_thread
from litestar import Request, Response, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta

from registry.http.envelope import Ok
from registry.http.routes.parameters import ERRORS, ReadyServices, each, skill_id
from registry.indexing.reindex import ReindexJob
from registry.services.container import Services
from search.reports import Reindexed

InBackground = Annotated[
    bool, QueryParameter(name="async", description="Answer at once with a job, and reindex in the background")
]


class ReindexBody(msgspec.Struct, kw_only=True):
    """What to reindex: these skills or all, what changed or everything."""

    force: bool = False
    skill_ids: Annotated[list[str], Meta(max_length=1000, extra={"rule": "must be at most 1,000"})] | None = None


class JobStarted(msgspec.Struct):
    """Where to ask for the progress."""

    job_id: str


_STARTED = {
    **ERRORS,
    202: ResponseSpec(Ok[JobStarted], generate_examples=False, description="The job has started"),
}


def _reindex(
    services: Services, ids: list[str] | None, force: bool, in_background: bool
) -> Response[Ok[Reindexed | JobStarted]]:
    if in_background:
        job = services.reindexing.start(ids, force=force)
        location = f"/api/v1/reindex/{job.job_id}"
        return Response(Ok(JobStarted(job.job_id)), status_code=202, headers={"Location": location})
    return Response(Ok(services.reindexing.run(ids, force=force)), status_code=200)


@post("/reindex", status_code=200, sync_to_thread=True, tags=["search"], responses=_STARTED, role="manager")
def reindex_all(
    services: ReadyServices, data: JSONBody[ReindexBody], in_background: InBackground = False
) -> Response[Ok[Reindexed | JobStarted]]:
    """Make search right for all skills, or those named."""
    return _reindex(services, data.skill_ids, data.force, in_background)


@post(each("/reindex/{id}"), status_code=200, tags=["search"], responses=_STARTED, role="manager")
async def reindex_one(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    data: JSONBody[ReindexBody],
    in_background: InBackground = False,
) -> Response[Ok[Reindexed | JobStarted]]:
    """Make search right for one skill."""
    return await to_thread.run_sync(_reindex, services, [skill_id(request)], data.force, in_background)


@get("/reindex/{job_id:str}", sync_to_thread=True, tags=["search"], responses=ERRORS, role="manager")
def get_reindex_job(services: ReadyServices, job_id: FromPath[str]) -> Ok[ReindexJob]:
    """Return how far a reindexing is."""
    return Ok(services.reindexing.get(job_id))


REINDEX = [reindex_all, reindex_one, get_reindex_job]
