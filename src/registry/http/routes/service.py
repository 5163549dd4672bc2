"""The probes and the status of the service."""

from typing import Any, Literal

import msgspec
from litestar import Request, Response, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.status_codes import HTTP_200_OK, HTTP_503_SERVICE_UNAVAILABLE

from registry import __version__
from registry.domain.roles import PUBLIC, Role
from registry.errors import RegistryError
from registry.http.envelope import Ok
from registry.http.routes.parameters import ERRORS, RunningServices
from registry.http.thread_pools import ADMINISTRATION_POOL
from registry.services.container import Services
from registry.services.schemas import StatusData
from registry.services.status import service_status


class Health(msgspec.Struct):
    """The answer of the liveness probe."""

    status: Literal["ok"]
    version: str


class Readiness(msgspec.Struct):
    """The answer of the readiness probe."""

    status: Literal["ready", "draining", "damaged", "unavailable"]


@get("/healthz", sync_to_thread=False, tags=["service"], responses=ERRORS, role=PUBLIC, any_host=True)
def healthz() -> Health:
    """Report that the process is alive. It never waits for anything."""
    return Health("ok", __version__)


_RETRY_SECONDS = 5
_NOT_READY = ResponseSpec(Readiness, generate_examples=False, description="The service takes no traffic just now")


@get(
    "/readyz",
    sync_to_thread=False,
    tags=["service"],
    responses={**ERRORS, 503: _NOT_READY},
    role=PUBLIC,
    any_host=True,
)
def readyz(running: RunningServices) -> Response[Readiness]:
    """Report whether the service takes traffic: 503 once a stop is requested, and while the database is unusable.

    A database that does not answer is noticed within two seconds, as is its return.
    """
    state = _readiness(running)
    if state.status == "ready":
        return Response(state, status_code=HTTP_200_OK)
    return Response(state, status_code=HTTP_503_SERVICE_UNAVAILABLE, headers={"Retry-After": str(_RETRY_SECONDS)})


def _readiness(running: Services) -> Readiness:
    """Return what is known without asking the database."""
    if running.draining:
        return Readiness("draining")
    if running.database.is_damaged:
        return Readiness("damaged")
    return Readiness("unavailable" if running.database.is_away else "ready")


@get("/status", tags=["service"], responses=ERRORS, role=PUBLIC)
@ADMINISTRATION_POOL.handler
def status(request: Request[Any, Any, Any], running: RunningServices) -> Ok[StatusData]:
    """Return the state of the catalog and its indexes. Anonymous callers of a registry get no folder names."""
    return Ok(service_status(running, _role_of(request, running)))


def _role_of(request: Request[Any, Any, Any], running: Services) -> Role | None:
    if running.settings.profile == "local":
        return "admin"
    try:
        principal = running.registry.access.identify(request.scope["headers"])
    except RegistryError:
        return None
    return None if principal is None else principal.role


PROBES = [healthz, readyz]
SERVICE = [status]
