"""The use case of the status: how the service is."""

import time

from registry import __version__
from registry.catalog.installed_withdrawals import withdrawn_skills
from registry.domain.roles import Role
from registry.services.container import Services
from registry.services.schemas import EmbeddingStatus, ProtocolsStatus, StatusData


def _notices(services: Services) -> dict[str, str]:
    """Return what an administrator should do: about settings, and about installed skills that were withdrawn."""
    settings = {} if services.settings.profile == "local" else services.registry.proxies.notices()
    return {**settings, **withdrawn_skills(services.database)}


def service_status(services: Services, role: Role | None) -> StatusData:
    """Return the status for a caller of this role. Callers without a credential get no names of folders and skills."""
    skills = services.catalog.count()  # before what is pending: see the engine's status
    engine = services.engine.status()
    in_full = role is not None
    is_local = services.settings.profile == "local"
    return StatusData(
        status=services.state(),
        version=__version__,
        profile=services.settings.profile,
        uptime_seconds=round(time.monotonic() - services.started_at, 3),
        skills=skills,
        indexed=engine.indexed,
        pending=engine.pending,
        drift=engine.drift,
        embedding=EmbeddingStatus(
            provider=engine.provider, model=engine.model, dim=engine.dim, error=engine.last_error
        ),
        generation=engine.generation,
        writable=services.writable(),
        public_url=services.settings.public_base,
        issuer=None if is_local else services.registry.issuer.mode,
        sign_in=None if is_local else services.registry.sign_in.is_on,
        anonymous_read=None if is_local else services.settings.auth.anonymous_read,
        problems=services.problems() if in_full else {},
        skipped=services.catalog.problems() if in_full else {},
        warnings=services.catalog.warnings() if in_full else {},
        notices=_notices(services) if is_local or role == "admin" else {},
        publishing=services.settings.registry.enabled,
        protocols=ProtocolsStatus(left_out=services.names.left_out()),
    )
