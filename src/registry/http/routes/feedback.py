"""Learning from use: what became of a search, and what is stored of it."""

from typing import Annotated, Any

from litestar import Request, Response, delete, get, post
from litestar.params import JSONBody, QueryParameter

from registry.catalog.examples import Choice
from registry.http.counted_uses import count_use
from registry.http.cursors import paged
from registry.http.envelope import Ok
from registry.http.request_state import request_state
from registry.http.routes.parameters import ERRORS, ListPage, ReadyServices
from registry.http.thread_pools import ORDINARY_POOL
from registry.services.feedback import FeedbackBody, FeedbackData, Forgotten

_OPTIONS: dict[str, Any] = {"tags": ["search"], "responses": ERRORS}

OfSkill = Annotated[str, QueryParameter(max_length=200, description="Only those of this skill")]
OfExample = Annotated[str, QueryParameter(max_length=16, description="Only those of this query, by its `example_id`")]


@post("/search/feedback", status_code=200, role="user", operations=("read",), fails={404}, **_OPTIONS)
async def give_feedback(
    request: Request[Any, Any, Any], services: ReadyServices, data: JSONBody[FeedbackBody]
) -> Ok[FeedbackData]:
    """Say what became of a skill that a search showed, so that later searches rank better."""
    principal = request_state(request.scope).principal
    outcome = await ORDINARY_POOL.run(services.feedback.give, data, principal)
    if data.outcome in ("chosen", "installed"):
        count_use(request, data.skill_id, data.outcome)
    return Ok(outcome)


@get("/search/feedback", role="manager", **_OPTIONS)
async def list_feedback(
    request: Request[Any, Any, Any], services: ReadyServices, page: ListPage, skill_id: OfSkill = ""
) -> Response[Ok[list[Choice]]]:
    """List the stored choices of a skill, newest first. Administrators may list those of all skills."""
    principal = request_state(request.scope).principal
    choices, total = await ORDINARY_POOL.run(
        services.feedback.list, skill_id or None, page.limit, page.offset, principal
    )
    return paged(request, services, choices, total, page)


@delete("/search/feedback", status_code=200, role="manager", fails={404}, **_OPTIONS)
async def forget_feedback(
    request: Request[Any, Any, Any], services: ReadyServices, skill_id: OfSkill = "", example_id: OfExample = ""
) -> Ok[Forgotten]:
    """Delete stored choices of a skill, of one query, or both. Administrators may delete those of all skills."""
    principal = request_state(request.scope).principal
    return Ok(await ORDINARY_POOL.run(services.feedback.forget, skill_id or None, example_id or None, principal))


@delete("/search/feedback/own", status_code=200, role="user", **_OPTIONS)
async def forget_own_feedback(request: Request[Any, Any, Any], services: ReadyServices) -> Ok[Forgotten]:
    """Delete all stored choices of the caller."""
    principal = request_state(request.scope).principal
    return Ok(await ORDINARY_POOL.run(services.feedback.forget_own, principal))


FEEDBACK = [give_feedback, list_feedback, forget_feedback, forget_own_feedback]
