"""From settings to a served application: the checks before a start, the lock, the sockets, one process or several."""

import functools
import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from litestar import Litestar
from litestar.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from registry.auth.access import signing_keys
from registry.auth.issuing import issuer_mode
from registry.auth.keys import has_keys
from registry.auth.secret import WeakSecret
from registry.auth.shared_counts import SharedCounts
from registry.auth.shared_secrets import OtherSecrets, check_secrets
from registry.auth.users import has_users
from registry.blobs import BlobUnavailable, configured_store
from registry.blobs.folder import prepare_folder
from registry.blobs.folder import remove_leftovers as remove_leftover_blobs
from registry.config.settings import Settings
from registry.database import open_database
from registry.domain.hosts import is_loopback_host
from registry.http.admission import admits_reading
from registry.http.base_path import BasePath
from registry.http.fast_search import SEARCH, FastSearch
from registry.http.host_guard import HostGuard
from registry.http.implied_methods import ImpliedMethods
from registry.http.query_params import QueryRules
from registry.http.request_log import RequestLog
from registry.http.request_traces import traced
from registry.http.response_cache import ResponseCache
from registry.http.scope_door import ScopeDoor
from registry.http.settled_revision import settled_revision
from registry.outbound import OutboundError
from registry.outbound.proxies import proxies_of
from registry.publish.leftovers import remove_unfinished
from registry.publish.service import git_index
from registry.publish.stored_packages import FOLDER
from registry.runtime.data_dir import PATIENCE_SECONDS, DataDirLock
from registry.runtime.event_loop import refuse_waiting
from registry.runtime.logs import configure_logging
from registry.runtime.private_files import PrivateFileExposed
from registry.runtime.stop_signals import exit_on_stop_signals
from registry.server.app import create_app, refused_early
from registry.server.http_server import Site, serve
from registry.server.private_scopes import PrivateScopeApps
from registry.server.sockets import ListenError, listen
from registry.server.start_report import report_start
from registry.server.workers import serve_workers
from registry.services.container import Services
from registry.services.registry_profile import configured_witnesses, log_signer
from registry.skill_folder import remove_leftovers
from registry.sources.fetching import remove_fetched
from registry.transparency.checkpoint import KeyUnusable

_log = logging.getLogger("registry.server")


class StartError(Exception):
    """The configuration does not allow a start. The message is one line for the operator."""


def _say_that_it_waits(folder: Path) -> None:
    _log.warning(
        "another skill-registry uses the data directory %s: waiting for it, at most %g s", folder.name, PATIENCE_SECONDS
    )


def run(settings: Settings) -> int:
    """Serve until a stop signal; return the exit code.

    Raises StartError, DataDirInUse, DatabaseUnusable, EmbeddingUnavailable.
    """
    exit_on_stop_signals()
    check(settings)
    configure_logging(settings.log.format, settings.log.level)
    lock = DataDirLock.wait(settings.data_dir, on_wait=functools.partial(_say_that_it_waits, settings.data_dir))
    try:
        _check_secret(settings)
        _prepare_registry(settings)
        listener = listen(settings.server.host, settings.server.port)
        lock.announce(listener.url)
        _warn(settings)
        remove_leftovers(
            settings.skills_dir, settings.staging_dir
        )  # before any worker makes a temporary folder of its own
        remove_fetched(settings.data_dir)
        if settings.server.workers > 1:
            if not settings.is_replicated:
                _share_counts(settings)
            make_site = functools.partial(_worker_site, settings)
            return serve_workers(make_site, settings.server.workers, listener, settings.limits)
        return serve(site(settings), listener, settings.limits)
    except ListenError as error:
        raise StartError(str(error)) from None
    finally:
        lock.release()


def check(settings: Settings) -> None:
    """Raise StartError for settings that cannot work, in the specification's words where it has them."""
    if settings.registry.enabled:
        if settings.s3.bucket is None and settings.blobs.dir is None:
            raise StartError("Registry is enabled but blob storage is not configured: set s3.bucket or blobs.dir")
        if settings.registry_index.url is None:
            raise StartError("Registry is enabled but the registry index is not configured: set registryIndex.url")
    if settings.telemetry.endpoint is not None:
        try:
            import registry.runtime.traces  # noqa: F401, PLC0415 - an extra
        except ImportError:
            raise StartError("telemetry.endpoint needs the extra otel: pip install 'skill-registry[otel]'") from None


def _prepare_registry(settings: Settings) -> None:
    """Clone the index if there is no clone, make the package folder, and remove unfinished uploads of a crash.

    A package folder that cannot be used is told of, and stops no reading. Raises StartError, OSError.
    """
    if not settings.registry.enabled:
        return
    try:
        configured_store(settings)
        git_index(settings).prepare()
    except (BlobUnavailable, OutboundError) as error:
        raise StartError(f"registry mode cannot start: {error}") from None
    remove_unfinished(settings.data_dir / FOLDER, float("-inf"))
    if settings.blobs.dir is not None:
        if problem := prepare_folder(settings.blobs.dir):
            _log.warning("no package can be published to %s (blobs.dir): %s", settings.blobs.dir, problem)
        remove_leftover_blobs(settings.blobs.dir)


def _check_secret(settings: Settings) -> None:
    """Raise StartError if tokens or the log cannot be signed, or not as the other replicas sign them.

    Secrets that are not configured are created here, before the workers start.
    """
    if settings.profile == "registry":
        try:
            signing, verifier_key = signing_keys(settings), log_signer(settings).verifier_key
            configured_witnesses(settings)
            if settings.is_replicated:
                with closing(open_database(settings)) as database:
                    check_secrets(database, settings, signing, verifier_key)
        except (WeakSecret, PrivateFileExposed, KeyUnusable, OtherSecrets, OSError) as error:
            raise StartError(str(error)) from None


def _warn(settings: Settings) -> None:
    elsewhere = not is_loopback_host(settings.server.host)
    if settings.profile == "registry":
        _warn_of_issuer(settings, elsewhere=elsewhere)
        if elsewhere and not _answers_any_host(settings) and not _named_hosts(settings):
            _log.warning(
                "requests are answered for IP addresses and localhost only, because some need no credential "
                "(auth.issuer, auth.anonymous_read): set server.public_url or server.allowed_hosts to the names in use"
            )
    elif elsewhere:
        _log.warning(
            "listening on %s with no authentication: everybody who reaches it can change the skills; put a proxy with "
            "authentication before it, or use --profile registry or --read-only",
            settings.server.host,
        )

    if proxies := proxies_of(settings.outbound).names():
        _log.info(
            "outgoing requests go through %s, which decides what they reach; outbound.allowed_hosts holds for direct "
            "requests and for addresses in URLs",
            ", ".join(proxies),
        )


def _warn_of_issuer(settings: Settings, *, elsewhere: bool) -> None:
    mode = issuer_mode(settings)
    if mode == "open" and elsewhere:
        host = settings.server.host
        _log.warning("auth.issuer is open on %s: everybody who reaches the port can be an administrator", host)
    elif mode in {"open", "loopback"}:
        _log.warning("programs on this machine get any token for the asking; auth.issuer = closed ends that")
    elif not _has_credentials(settings):
        _log.warning(
            "tokens are issued for a credential only; the first one is made with: "
            "skill-registry admin keys create --role admin --data-dir %s",
            settings.data_dir,
        )


def _has_credentials(settings: Settings) -> bool:
    """Return whether there is an API key or a user, whose credential gets a token."""
    with closing(open_database(settings)) as database:
        return has_keys(database) or has_users(database)


def site(settings: Settings, worker: int = 0) -> Site:
    """Return the application with its middleware, over services of its own."""
    if settings.server.debug:
        refuse_waiting()
    services = Services(settings, worker=worker)
    application = create_app(services)
    if settings.profile == "local":
        return Site(wrapped(application, services), services.drain, functools.partial(report_start, services))
    scopes = PrivateScopeApps(services, _app_of_scope, worker)
    services.attach(scopes)
    app = wrapped(application, services, scopes)
    return Site(app, services.drain, functools.partial(report_start, services))


def _app_of_scope(services: Services) -> tuple[ASGIApp, Callable[[], None]]:
    application = create_app(services)
    return _searching(application, services), application.state.searches.close


def _searching(application: Litestar, services: Services) -> ASGIApp:
    """Return the application with what answers searches and `HEAD` before the framework does."""
    query = QueryRules(application.route_handler_method_map[SEARCH]["GET"])
    searching = FastSearch(application, services, application.state.searches, query)
    admits = functools.partial(admits_reading, services)
    cached = ResponseCache(searching, searching.routes, functools.partial(settled_revision, services), admits)
    return ImpliedMethods(cached)


def wrapped(application: Litestar, services: Services, scopes: PrivateScopeApps | None = None) -> ASGIApp:
    """Return the application over built services with its middleware, and with the private scopes."""
    server = services.settings.server
    app = _searching(application, services)
    if scopes is not None:
        app = ScopeDoor(app, services, scopes.app, refused_early)
    is_registry = services.settings.profile == "registry"
    trusts_loopback = is_registry and services.registry.issuer.mode == "loopback"
    on_proxied = services.registry.proxies.noticed if trusts_loopback else None
    hosts = (server.host, _named_hosts(services.settings), server.allowed_origins)
    any_host = _answers_any_host(services.settings)
    guarded = HostGuard(app, *hosts, any_host=any_host, answer=refused_early, on_proxied=on_proxied)
    on_answer = services.registry.metrics.answered if is_registry else None
    outermost: ASGIApp = RequestLog(traced(guarded, services.settings), on_answer)
    proxies = cast(Any, ProxyHeadersMiddleware)(outermost, list(server.trusted_proxies))
    public_url = server.public_url.reveal() if server.public_url else None
    return BasePath(proxies if server.trusted_proxies else outermost, public_url, proxies.trusted_hosts)


def _named_hosts(settings: Settings) -> list[str]:
    """Return the host names that an operator has given the service."""
    public_url = settings.server.public_url
    host = urlsplit(public_url.reveal()).hostname if public_url else None
    return [*settings.server.allowed_hosts, *([host] if host else [])]


def _answers_any_host(settings: Settings) -> bool:
    """Return whether requests may name any host, because each of them needs a credential.

    Otherwise a web page could reach the service through a name of its own that resolves to the service's address (DNS
    rebinding), and read what needs no credential or get a token.
    """
    server, auth = settings.server, settings.auth
    if settings.profile != "registry" or is_loopback_host(server.host) or server.allowed_hosts:
        return False
    return issuer_mode(settings) == "closed" and not auth.anonymous_read


def _share_counts(settings: Settings) -> None:
    """Create the table in which workers count the requests of each caller. Without it they use the database."""
    try:
        SharedCounts.create(settings.data_dir, settings.server.workers)
    except OSError as error:
        _log.warning("the workers cannot share their counts of requests in memory: %s", error)


def _worker_site(settings: Settings, worker: int) -> Site:
    configure_logging(settings.log.format, settings.log.level)
    return site(settings, worker)
