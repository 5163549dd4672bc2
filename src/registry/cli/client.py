"""The command's two ways to reach a catalog: a running server, or a data directory opened in this process."""

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from registry.catalog.store import Catalog
from registry.cli.backend import CommandBackend, CommandFailed, Data, Progress
from registry.cli.credentials import credential, login_hint
from registry.cli.local_backend import LocalBackend
from registry.config.settings import Settings
from registry.database import open_database
from registry.domain.models import now
from registry.domain.source_entry import SourceEntry
from registry.install.schemas import SkillRequest, UpgradeBody
from registry.runtime.data_dir import DataDirInUse, DataDirLock
from registry.services.container import Services
from registry.services.schemas import SearchBody
from registry.skill_folder import remove_leftovers
from registry.sources.fetching import remove_fetched

_TIMEOUT_SECONDS = 30
_FETCH_SECONDS = 600
"""How long a server is waited for that itself waits for others: it has its own limits for each."""
_POLL_SECONDS = 0.3


_API = "/api/v1"


class _SameServer(urllib.request.HTTPRedirectHandler):
    """Follows redirects on one server only: others must not get the credential, which urllib would send along."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if (before.scheme, before.netloc) != (after.scheme, after.netloc):
            raise CommandFailed(f"the server leads to {after.scheme}://{after.netloc}: name that one, if you trust it")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_SameServer)


class RemoteBackend:
    """A running server, over HTTP."""

    def __init__(self, url: str, api_key: str | None = None) -> None:
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise CommandFailed(f"--server {url}: not an http(s) URL, such as http://localhost:8080")
        self._base = url.rstrip("/")
        self._credential = _credential(api_key)

    @property
    def host(self) -> str:
        """The name or address of the server."""
        return str(urlsplit(self._base).hostname)

    @property
    def is_in_the_clear(self) -> bool:
        """Whether others on the way can read what is sent."""
        return urlsplit(self._base).scheme == "http"

    def issue_token(self, body: Data) -> Data:
        """Return a token, for the credential in the body or the one this server is sent."""
        answer: Data = self._decoded(self._send("POST", "/auth/token", body))
        return answer

    def end_token(self) -> Data:
        """End the token this server is sent."""
        answer: Data = self._decoded(self._send("POST", "/auth/logout"))
        return answer

    def search(self, body: SearchBody) -> Data:
        """Search."""
        answer: Data = self._call("POST", "/search", msgspec.to_builtins(body))
        return answer

    def reindex(self, skill_id: str | None, *, force: bool, progress: Progress) -> Data:
        """Reindex one skill or all, saying how far it is."""
        path = f"/reindex/{quote(skill_id)}" if skill_id else "/reindex"
        job = self._call("POST", f"{path}?async=true", {"force": force})
        while (state := self._call("GET", f"/reindex/{job['job_id']}"))["status"] == "running":
            progress(state["done"], state["total"])
            time.sleep(_POLL_SECONDS)
        if state.get("result") is None:
            raise CommandFailed(f"reindexing failed: {state.get('error')}")
        result: Data = state["result"]
        return result

    def status(self) -> Data:
        """Return how the service is."""
        answer: Data = self._call("GET", "/status")
        return answer

    def sources(self) -> list[Data]:
        """Return the sources."""
        found: list[Data] = self._call("GET", "/registry/sources")
        return found

    def add_source(self, source: SourceEntry) -> Data:
        """Add a source and return it."""
        answer: Data = self._call("POST", "/registry/sources", msgspec.to_builtins(source))
        return answer

    def remove_source(self, name: str) -> Data:
        """Remove a source."""
        answer: Data = self._call("DELETE", f"/registry/sources/{quote(name, safe='')}")
        return answer

    def refresh_sources(self) -> list[Data]:
        """Read every source anew and return the sources."""
        self._call("POST", "/registry/refresh")
        return self.sources()

    def install(self, body: SkillRequest) -> Data:
        """Install a skill and return it."""
        answer: Data = self._call("POST", "/skills", msgspec.to_builtins(body), _FETCH_SECONDS)
        return answer

    def uninstall(self, skill_id: str) -> Data:
        """Remove a skill."""
        answer: Data = self._call("DELETE", f"/skills/{quote(skill_id, safe='')}")
        return answer

    def upgrade(self, body: UpgradeBody, progress: Progress) -> Data:
        """Upgrade one skill or all."""
        answer: Data = self._call("POST", "/skills/upgrade", msgspec.to_builtins(body), _FETCH_SECONDS)
        return answer

    def generate_mdc(self) -> Data:
        """Write the rule file of the server's project."""
        answer: Data = self._call("POST", "/manifest/generate-mdc", {})
        return answer

    def log_checkpoint(self) -> str:
        """Return the signed state of the registry's log."""
        return self._send("GET", f"{_API}/log/checkpoint").decode("utf-8", "replace")

    def log_entries(self) -> Iterator[str]:
        """Yield the entries of the registry's log from the first on."""
        start = 0
        while entries := self._call("GET", f"/log/entries?start={start}")["entries"]:
            yield from entries
            start += len(entries)

    def _call(self, method: str, path: str, body: object = None, seconds: float = _TIMEOUT_SECONDS) -> Any:
        return self._decoded(self._send(method, f"{_API}{path}", body, seconds))

    def _decoded(self, answer: bytes) -> Any:
        try:
            return msgspec.json.decode(answer)["data"]
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            raise self._no_registry(error) from None

    def _send(self, method: str, path: str, body: object = None, seconds: float = _TIMEOUT_SECONDS) -> bytes:
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            f"{self._base}{path}",
            method=method,
            data=None if body is None else msgspec.json.encode(body),
            headers={"Content-Type": "application/json", "Accept": "application/json", **self._credential},
        )
        try:
            with _OPENER.open(request, timeout=seconds) as answer:
                found: bytes = answer.read()
                return found
        except urllib.error.HTTPError as error:
            hint = login_hint(self._base) if error.code == HTTPStatus.UNAUTHORIZED and path.startswith(_API) else ""
            raise CommandFailed(_message(error) + hint) from None
        except OSError as error:
            raise self._no_registry(error) from None

    def _no_registry(self, error: Exception) -> CommandFailed:
        reason = getattr(error, "reason", error)
        return CommandFailed(f"{self._base} does not answer as a skill registry ({reason}): is it running?")


def _credential(api_key: str | None) -> dict[str, str]:
    """Return the header that carries an API key, or a token in its place. Raises CommandFailed."""
    if api_key is None:
        return {}
    if not api_key.isascii() or not api_key.isprintable():
        raise CommandFailed("client.api_key holds characters that no HTTP header takes")
    return {"x-api-key": api_key} if api_key.startswith("sk_") else {"Authorization": f"Bearer {api_key}"}


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(msgspec.json.decode(error.read())["error"]["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"the server answered {error.code} {error.reason}"


@contextmanager
def open_backend(
    settings: Settings, server: str | None, *, searching: bool = True, making: bool = False
) -> Iterator[CommandBackend]:
    """Yield the server at `server`, else the one that runs on the data directory, else the directory itself.

    With `searching` the directory's indexes are brought up to date first; with `making` a new one is made where there
    is none, and the skills directory read.
    """
    if server:
        yield RemoteBackend(server, credential(settings, server))
        return
    if not making:
        check_catalog(settings)
    try:
        lock = DataDirLock(settings.data_dir)
    except DataDirInUse as running:
        if running.url is None:
            raise CommandFailed(str(running)) from None
        yield RemoteBackend(running.url, credential(settings, running.url))
        return
    with closing_services(settings, lock) as services:
        if making:
            remove_leftovers(settings.skills_dir)
            remove_fetched(settings.data_dir)
            services.scan()
        if searching:
            services.engine.changed()
            if services.database.lead():
                services.engine.start_indexing()
            services.engine.wait_until_embedded(_TIMEOUT_SECONDS)
            services.ready.set()
        yield LocalBackend(services)


@contextmanager
def open_catalog(settings: Settings) -> Iterator[Catalog]:
    """Yield the catalog of the skills directory: scanned now, or as the server that runs on it has it."""
    try:
        lock = DataDirLock(settings.data_dir)
    except DataDirInUse:
        database = open_database(settings)
        try:
            yield Catalog(database, now)
        finally:
            database.close()
        return
    with closing_services(settings, lock) as services:
        services.scan()
        yield services.catalog


@contextmanager
def closing_services(settings: Settings, lock: DataDirLock) -> Iterator[Services]:
    """Yield services over a locked data directory and close them, and the lock, at the end."""
    try:
        services = Services(settings)
        try:
            yield services
        finally:
            services.close()
    finally:
        lock.release()


def check_catalog(settings: Settings) -> None:
    """Raise CommandFailed where there is no catalog yet."""
    path = settings.database_path
    if path is not None and not path.exists():
        raise CommandFailed(
            f"{settings.data_dir.name} holds no catalog yet: start 'skill-registry serve' once, run "
            "'skill-registry scan', or name a running server with --server"
        )
