"""From settings to a served application: the checks before a start, the lock, the sockets, one process or several."""

import functools
import logging

from registry.answer_cache import AnswerCache
from registry.app import create_app
from registry.data_dir import DataDirLock
from registry.guard import Guard
from registry.listening import ListenError, listen
from registry.logs import configure_logging
from registry.request_log import RequestLog
from registry.server import Site, serve
from registry.services import Services
from registry.settings import Settings
from registry.skill_folder import remove_leftovers
from registry.workers import serve_workers

_log = logging.getLogger("registry")

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class StartError(Exception):
    """The service must not start as it is configured; the message is one line for the operator."""


def run(settings: Settings) -> int:
    """Serve until a stop signal; return the exit code.

    Raises StartError, DataDirInUse, DatabaseUnusable, EmbeddingUnavailable.
    """
    check(settings)
    configure_logging(settings.log.format, settings.log.level)
    lock = DataDirLock(settings.data_dir)
    try:
        listener = listen(settings.server.host, settings.server.port)
        lock.announce(listener.url)
        _warn(settings)
        remove_leftovers(settings.skills_dir)  # before any worker makes a temporary folder of its own
        if settings.server.workers > 1:
            make_site = functools.partial(_worker_site, settings)
            return serve_workers(make_site, settings.server.workers, listener, settings.limits)
        return serve(site(settings), listener, settings.limits)
    except ListenError as error:
        raise StartError(str(error)) from None
    finally:
        lock.release()


def check(settings: Settings) -> None:
    """Raise StartError where the settings ask for what cannot be, with the specification's words where it has them."""
    if settings.registry.enabled:
        if settings.s3.bucket is None and settings.blobs.dir is None:
            raise StartError("Registry is enabled but blob storage is not configured: set s3.bucket or blobs.dir")
        if settings.registry_index.url is None:
            raise StartError("Registry is enabled but the registry index is not configured: set registryIndex.url")
    if settings.profile == "registry":
        raise StartError(
            "the profile 'registry' is not part of this release: without its tokens and roles nothing is served"
        )


def _warn(settings: Settings) -> None:
    if settings.server.host not in _LOOPBACK:
        _log.warning(
            "listening on %s with no authentication: whoever reaches the port can change the skills; put a proxy with "
            "authentication before it, or use --read-only",
            settings.server.host,
        )


def site(settings: Settings, worker: int = 0) -> Site:
    """Return the application with everything round it, over services of its own."""
    services = Services(settings, worker=worker)
    server = settings.server
    app = AnswerCache(create_app(services), services.settled_number)
    guarded = Guard(app, server.host, server.allowed_hosts, server.allowed_origins)
    return Site(RequestLog(guarded), services.drain)


def _worker_site(settings: Settings, worker: int) -> Site:
    configure_logging(settings.log.format, settings.log.level)
    return site(settings, worker)
