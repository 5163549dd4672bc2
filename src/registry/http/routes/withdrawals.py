"""Withdrawals: yank and revoke versions, deprecate skills, each with a reason and a replacement."""

from typing import Any

import msgspec
from litestar import Request, post
from litestar.params import FromPath, JSONBody

from registry.domain.withdrawals import NO_NOTE, WithdrawalNote
from registry.http.admission import principal_of
from registry.http.envelope import Ok
from registry.http.routes.parameters import ERRORS, OptionalBody, ReadyServices
from registry.http.thread_pools import ORDINARY_POOL
from registry.publish.published_version import VersionState

_EACH = "/registry/skills/{skill_scope:str}/{skill_name:str}"
_OPTIONS: dict[str, Any] = {"status_code": 200, "tags": ["publish"], "responses": ERRORS, "operations": ("yank",)}


class VersionChanged(msgspec.Struct, kw_only=True):
    """The new state of a published version."""

    skill_id: str
    version: str
    state: VersionState
    message: str


class SkillDeprecated(msgspec.Struct, kw_only=True):
    """Whether a published skill is deprecated now."""

    skill_id: str
    deprecated: bool
    message: str


@post(f"{_EACH}/{{version:str}}/yank", operation_class=OptionalBody, role="manager", **_OPTIONS)
@ORDINARY_POOL.handler
def yank(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str], data: JSONBody[WithdrawalNote]
) -> Ok[VersionChanged]:
    """Yank a published version: it leaves lists and search, and its exact number still downloads."""
    return _set_state(request, services, version, "yanked", data)


@post(f"{_EACH}/{{version:str}}/unyank", role="manager", **_OPTIONS)
@ORDINARY_POOL.handler
def unyank(request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str]) -> Ok[VersionChanged]:
    """List a yanked version again."""
    return _set_state(request, services, version, "active", NO_NOTE)


@post(f"{_EACH}/{{version:str}}/revoke", operation_class=OptionalBody, role="admin", **_OPTIONS)
@ORDINARY_POOL.handler
def revoke(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str], data: JSONBody[WithdrawalNote]
) -> Ok[VersionChanged]:
    """Revoke a published version: its bytes are refused for ever."""
    return _set_state(request, services, version, "revoked", data)


@post(f"{_EACH}/deprecate", operation_class=OptionalBody, role="manager", **_OPTIONS)
@ORDINARY_POOL.handler
def deprecate(
    request: Request[Any, Any, Any], services: ReadyServices, data: JSONBody[WithdrawalNote]
) -> Ok[SkillDeprecated]:
    """Deprecate a published skill: it stays found, marked and below others, and it can be installed."""
    return _set_deprecated(request, services, data)


@post(f"{_EACH}/undeprecate", role="manager", **_OPTIONS)
@ORDINARY_POOL.handler
def undeprecate(request: Request[Any, Any, Any], services: ReadyServices) -> Ok[SkillDeprecated]:
    """Undo the deprecation of a skill."""
    return _set_deprecated(request, services, None)


def _skill_id(request: Request[Any, Any, Any]) -> str:
    return f"{request.path_params['skill_scope']}/{request.path_params['skill_name']}"


def _set_state(
    request: Request[Any, Any, Any], services: ReadyServices, version: str, state: VersionState, note: WithdrawalNote
) -> Ok[VersionChanged]:
    skill_id = _skill_id(request)
    services.publishing.set_state(principal_of(request.scope), skill_id, version, state, note=note)
    word = {"active": "listed again"}.get(state, state)
    message = f"{skill_id} {version} is {word}"
    return Ok(VersionChanged(skill_id=skill_id, version=version, state=state, message=message))


def _set_deprecated(
    request: Request[Any, Any, Any], services: ReadyServices, note: WithdrawalNote | None
) -> Ok[SkillDeprecated]:
    skill_id = _skill_id(request)
    services.publishing.set_deprecated(principal_of(request.scope), skill_id, note)
    message = f"{skill_id} is {'deprecated' if note else 'not deprecated any more'}"
    return Ok(SkillDeprecated(skill_id=skill_id, deprecated=note is not None, message=message))


WITHDRAWALS = [yank, unyank, revoke, deprecate, undeprecate]
