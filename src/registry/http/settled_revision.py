"""The revision of the catalog of which cached responses are true."""

from registry.db import DatabaseError, DatabaseUnavailable
from registry.errors import RegistryError
from registry.http.quick_reads import quickly
from registry.services.container import Services


async def settled_revision(services: Services) -> int | None:
    """Return the revision that searches see, None while the index catches up.

    While the database is away, it is the last one that this process has seen: nothing newer can be read then.
    """
    if not services.ready.is_set():
        return None
    search = services.engine.search
    try:
        return await quickly(services.database, search.synced_revision)
    except DatabaseUnavailable:
        return search.last_revision()
    except (DatabaseError, RegistryError):  # the application reports it in its own response
        return None
