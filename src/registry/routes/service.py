"""How the service is: its probes and its status."""

from typing import Literal

import msgspec
from litestar import Response, get
from litestar.status_codes import HTTP_200_OK, HTTP_503_SERVICE_UNAVAILABLE

from registry import __version__
from registry.answers import StatusData, status_data
from registry.envelope import Ok
from registry.routes.parameters import ERRORS, RunningServices


class Health(msgspec.Struct):
    """The answer of the liveness probe."""

    status: Literal["ok"]
    version: str


class Readiness(msgspec.Struct):
    """The answer of the readiness probe."""

    status: Literal["ready", "draining"]


@get("/healthz", sync_to_thread=False, tags=["service"], responses=ERRORS)
def healthz() -> Health:
    """Say that the process lives. Never waits for anything."""
    return Health("ok", __version__)


@get("/readyz", sync_to_thread=False, tags=["service"], responses=ERRORS)
def readyz(running: RunningServices) -> Response[Readiness]:
    """Say whether to send requests here: 503 from the moment a stop is asked for."""
    if running.draining:
        return Response(Readiness("draining"), status_code=HTTP_503_SERVICE_UNAVAILABLE)
    return Response(Readiness("ready"), status_code=HTTP_200_OK)


@get("/status", sync_to_thread=True, tags=["service"], responses=ERRORS)
def status(running: RunningServices) -> Ok[StatusData]:
    """Return how the catalog and its indexes stand."""
    return Ok(status_data(running))


PROBES = [healthz, readyz]
SERVICE = [status]
