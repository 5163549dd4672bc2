"""What keeps a scope from being private."""

from collections.abc import Callable

from registry.auth.issuing import issuer_mode
from registry.config.settings import Settings
from registry.db import Reader
from registry.errors import conflict


def refusing(settings: Settings, scope: str) -> Callable[[Reader], None]:
    """Return the function that raises CONFLICT if the service cannot have a private scope of this name."""

    def refuse(reader: Reader) -> None:
        if settings.is_replicated:
            raise conflict("A private scope needs the SQLite database of one machine, and this service has PostgreSQL")
        if issuer_mode(settings) == "open":
            raise conflict("Everybody gets any token here, so nothing is private: set auth.issuer to closed")
        if _is_published(reader, scope):
            raise conflict(f"Skills of the scope '{scope}' are published already, and the log tells of them for good")

    return refuse


def _is_published(reader: Reader, scope: str) -> bool:
    """Return whether any version of a skill of this scope was ever published."""
    sql = "select 1 from published where skill_id > ? and skill_id < ? limit 1"
    return bool(reader.read(sql, (f"{scope}/", f"{scope}0")))  # 0 comes after the slash
