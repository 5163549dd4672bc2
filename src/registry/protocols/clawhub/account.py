"""The address of the ClawHub protocol, who a caller is, and the telemetry of clients, which is not kept."""

from typing import Any, Literal

import msgspec
from litestar import Request, get, post

from registry.domain.roles import PUBLIC, Principal
from registry.http.links import base_url
from registry.http.request_state import request_state
from registry.http.routes.parameters import ERRORS as ENVELOPED_ERRORS
from registry.http.routes.parameters import ReadyServices, RunningServices
from registry.protocols.clawhub.errors import ERRORS, PREFIX
from registry.protocols.clawhub.finding import TAGS
from registry.protocols.clawhub.references import LOCAL_OWNER


class ClawHubDiscovery(msgspec.Struct, kw_only=True, rename="camel"):
    """Where the protocol is."""

    api_base: str


class User(msgspec.Struct, kw_only=True, rename="camel"):
    """A caller. `handle` is the owner of what it publishes, null for a caller without a scope."""

    handle: str | None
    display_name: str
    role: Literal["admin", "user"]


class Whoami(msgspec.Struct, kw_only=True):
    """Who the caller is."""

    user: User


class Done(msgspec.Struct, kw_only=True):
    """It is done."""

    ok: Literal[True] = True


@get("/.well-known/clawhub.json", sync_to_thread=False, tags=TAGS, responses=ENVELOPED_ERRORS, role=PUBLIC)
def discover_clawhub(request: Request[Any, Any, Any], running: RunningServices) -> ClawHubDiscovery:
    """Say where ClawHub clients find this registry."""
    return ClawHubDiscovery(api_base=f"{base_url(request, running)}{PREFIX}")


_OF_ANY_TOKEN: dict[str, Any] = {"role": "user", "operations": ("read", "publish", "yank")}


@get("/clawhub/api/v1/whoami", sync_to_thread=False, tags=TAGS, responses=ERRORS, **_OF_ANY_TOKEN)
def get_clawhub_user(request: Request[Any, Any, Any], services: ReadyServices) -> Whoami:
    """Return who the caller is; in the local profile, everybody is `local`."""
    caller = request_state(request.scope).principal
    if caller is None:
        return Whoami(user=User(handle=LOCAL_OWNER, display_name=LOCAL_OWNER, role="admin"))
    return Whoami(user=User(handle=caller.scope, display_name=caller.name, role=_role(caller)))


def _role(caller: Principal) -> Literal["admin", "user"]:
    return "admin" if caller.role == "admin" else "user"


@post(
    "/clawhub/api/cli/telemetry/install",
    status_code=200,
    sync_to_thread=False,
    tags=TAGS,
    responses=ERRORS,
    role="user",
    changes=False,
)
def take_telemetry(services: ReadyServices) -> Done:
    """Answer the report of an installation. It is not read."""
    return Done()


ACCOUNT = [get_clawhub_user, take_telemetry]
