"""The discovery document: what a program needs to know of a registry before it asks for anything else."""

from typing import Literal

import msgspec
from litestar import get

from registry import __version__
from registry.domain.roles import PUBLIC
from registry.http.routes.log import VerifierKey, verifier_key
from registry.http.routes.parameters import ERRORS, RunningServices


class Discovery(msgspec.Struct, kw_only=True):
    """A registry. `url` is where others reach it, null if it does not know. `log` has the key of its checkpoints."""

    protocol: Literal["skill-registry"] = "skill-registry"
    version: Literal[1] = 1
    service_version: str
    url: str | None
    anonymous_read: bool
    log: VerifierKey


@get("/.well-known/skill-registry.json", sync_to_thread=False, tags=["service"], responses=ERRORS, role=PUBLIC)
def discover(running: RunningServices) -> Discovery:
    """Describe this registry, for programs that know nothing but its address."""
    return Discovery(
        service_version=__version__,
        url=running.settings.absolute("") or None,
        anonymous_read=running.settings.auth.anonymous_read,
        log=verifier_key(running),
    )


DISCOVERY = [discover]
