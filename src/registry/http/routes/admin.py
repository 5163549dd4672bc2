"""Routes for administrators: API keys, users, and the audit log."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, delete, get, post, put
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.response import Stream

from registry.auth.audit import AuditEntry, AuditFilter
from registry.auth.keys import ApiKey, MadeKey, NewKey
from registry.auth.users import NewUser, User, UserChanges
from registry.domain.api import API
from registry.domain.models import timestamp
from registry.errors import FieldError, validation_error
from registry.http.cursors import paged
from registry.http.envelope import Ok
from registry.http.routes.parameters import ERRORS, ListPage, RunningServices, each, skill_id
from registry.http.thread_pools import ADMINISTRATION_POOL

_OPTIONS: dict[str, Any] = {"tags": ["administration"], "responses": ERRORS, "role": "admin"}


class Removed(msgspec.Struct, kw_only=True):
    """What was removed."""

    id: str
    message: str


@get("/auth/keys", **_OPTIONS)
@ADMINISTRATION_POOL.handler
def list_keys(request: Request[Any, Any, Any], running: RunningServices, page: ListPage) -> Response[Ok[list[ApiKey]]]:
    """List the API keys, oldest first, without their secrets."""
    keys, total = running.registry.access.keys.list(page.limit, page.offset)
    return paged(request, running, keys, total, page)


@post("/auth/keys", **_OPTIONS)
@ADMINISTRATION_POOL.handler
def create_key(running: RunningServices, data: JSONBody[NewKey]) -> Response[Ok[MadeKey]]:
    """Create an API key. Only this response ever shows its text."""
    key = running.registry.access.keys.create(data)
    headers = {"Location": f"{API}/auth/keys/{key.id}", "Cache-Control": "no-store"}
    return Response(Ok(key), status_code=201, headers=headers)


@delete("/auth/keys/{key_id:str}", status_code=200, **_OPTIONS)
@ADMINISTRATION_POOL.handler
def revoke_key(running: RunningServices, key_id: FromPath[str]) -> Ok[Removed]:
    """Revoke an API key for good."""
    running.registry.access.keys.revoke(key_id)
    return Ok(Removed(id=key_id, message=f"API key '{key_id}' revoked"))


@get("/auth/users", **_OPTIONS)
@ADMINISTRATION_POOL.handler
def list_users(request: Request[Any, Any, Any], running: RunningServices, page: ListPage) -> Response[Ok[list[User]]]:
    """List the users, by name."""
    users, total = running.registry.access.users.list(page.limit, page.offset)
    return paged(request, running, users, total, page)


@post("/auth/users", fails={409}, **_OPTIONS)
@ADMINISTRATION_POOL.handler
def add_user(running: RunningServices, data: JSONBody[NewUser]) -> Response[Ok[User]]:
    """Add a user with a password."""
    user = running.registry.access.users.add(data)
    return Response(Ok(user), status_code=201, headers={"Location": f"{API}/auth/users/{user.name}"})


@put(each("/auth/users/{id}"), **_OPTIONS)
async def change_user(
    request: Request[Any, Any, Any], running: RunningServices, data: JSONBody[UserChanges]
) -> Ok[User]:
    """Change a user's password, role or scope. Tokens issued before are revoked."""
    if data == UserChanges():
        raise validation_error(message="The body changes nothing: send at least one field")
    return Ok(await ADMINISTRATION_POOL.run(running.registry.access.users.change, skill_id(request), data))


@delete(each("/auth/users/{id}"), status_code=200, **_OPTIONS)
async def remove_user(request: Request[Any, Any, Any], running: RunningServices) -> Ok[Removed]:
    """Remove a user. Tokens issued before are revoked."""
    name = skill_id(request)
    await ADMINISTRATION_POOL.run(running.registry.access.users.remove, name)
    return Ok(Removed(id=name, message=f"User '{name}' removed"))


Actor = Annotated[str, QueryParameter(max_length=200, description="Only changes by who has this name")]
Action = Annotated[str, QueryParameter(max_length=200, description="Only actions that contain this text")]
Target = Annotated[str, QueryParameter(max_length=200, description="Only targets and details that contain this text")]
Since = Annotated[str, QueryParameter(max_length=40, description="Only entries from this time on, in RFC 3339")]
Until = Annotated[str, QueryParameter(max_length=40, description="Only entries before this time, in RFC 3339")]


@get("/audit", **_OPTIONS)
@ADMINISTRATION_POOL.handler
def list_audit(
    request: Request[Any, Any, Any],
    running: RunningServices,
    page: ListPage,
    actor: Actor = "",
    action: Action = "",
    target: Target = "",
    since: Since = "",
    until: Until = "",
) -> Response[Ok[list[AuditEntry]]]:
    """List changes, and tokens issued to managers and administrators, newest first."""
    filters = _wanted(actor, action, target, since, until)
    entries, total = running.registry.access.audit.list(page.limit, page.offset, filters)
    return paged(request, running, entries, total, page)


@get("/audit/export", media_type="application/x-ndjson", **_OPTIONS)
async def export_audit(
    running: RunningServices,
    actor: Actor = "",
    action: Action = "",
    target: Target = "",
    since: Since = "",
    until: Until = "",
) -> Stream:
    """Return all entries of the audit log that match, as lines of JSON, the oldest first."""
    filters, audit = _wanted(actor, action, target, since, until), running.registry.access.audit

    async def lines() -> AsyncIterator[bytes]:
        after: int | None = 0
        while after is not None:
            some, after = await ADMINISTRATION_POOL.run(audit.export, filters, after)
            yield some

    headers = {"Content-Disposition": 'attachment; filename="audit.ndjson"'}
    return Stream(lines(), media_type="application/x-ndjson", headers=headers)


def _wanted(actor: str, action: str, target: str, since: str, until: str) -> AuditFilter:
    """Return the filter of a query. Raises VALIDATION_ERROR for what is no time."""
    times = {name: _time(name, text) for name, text in (("since", since), ("until", until))}
    return AuditFilter(actor=actor, action=action, target=target, **times)


def _time(name: str, text: str) -> str:
    """Return a time of a query as the log has times, empty without one. Raises VALIDATION_ERROR."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+"))
        return timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        fault = FieldError(name, "must be a time in RFC 3339, such as 2026-11-25 or 2026-11-25T09:30:00Z")
        raise validation_error(fault) from None


ADMINISTRATION = [
    *(list_keys, create_key, revoke_key, list_users, add_user, change_user, remove_user),
    *(list_audit, export_audit),
]
