"""The policy of installations: which origins, of which risk, and how old. Every way to install and upgrade asks it.

`install.allowed` is asked before anything is fetched, `install.min_age` when a version is chosen, and all three once
more when the package is there. An exception in the manifest names exactly one state of a skill.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import unquote, urlsplit

from registry.catalog.store import Clock
from registry.config.groups import InstallSettings
from registry.db import Database
from registry.domain.addresses import parse_url
from registry.domain.findings import RISKS, Finding
from registry.domain.models import timestamp
from registry.domain.origins import LocalOrigin, Origin, SourceOrigin
from registry.domain.repository_addresses import RepositoryAddress
from registry.domain.source_entry import REGISTRY
from registry.errors import RegistryError, forbidden
from registry.outbound import OutboundError, redact_url
from registry.packages.package import Package
from registry.sources.remote_registry import Release

_SHOWN_FINDINGS = 5
_LOCAL = "local"


class DatedRegistry(Protocol):
    """A registry that says when it has published a release."""

    def published_at(self, release: Release) -> str:
        """Return the time of the log entry of a release. Raises CONFLICT, OutboundError."""
        ...


class InstallPolicy:
    """Refuses what the settings do not allow.

    Args:
        settings: The policy. Its defaults allow everything.
        exceptions: Returns the exceptions of the manifest: a version, commit or digest by the name of a skill.
        database: Stores when a package without a log was first seen.
        clock: Returns the current time.
    """

    def __init__(
        self,
        settings: InstallSettings,
        exceptions: Callable[[], Mapping[str, str]],
        database: Database,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._exceptions = exceptions
        self._database = database
        self._clock = clock

    def check_origin(self, origin: Origin | RepositoryAddress) -> None:
        """Raise FORBIDDEN for an origin that `install.allowed` does not name."""
        allowed = self._settings.allowed
        if not allowed:
            return
        if isinstance(origin, LocalOrigin):
            place, is_allowed = "a folder of this machine", _LOCAL in allowed
        elif isinstance(origin, SourceOrigin):
            place, is_allowed = "a skill of this registry", REGISTRY in allowed
        else:
            place, is_allowed = redact_url(origin.url), any(_is_below(origin.url, base) for base in allowed)
        if not is_allowed:
            raise forbidden(f"install.allowed does not name {place}: it allows {', '.join(allowed)}")

    def too_new(self, registry: DatedRegistry, release: Release) -> str | None:
        """Return why a range does not take a release, None if it is old enough. Raises CONFLICT, OutboundError."""
        if not self._settings.least_age or self._is_excepted(release.skill_id, [release.version]):
            return None
        at = registry.published_at(release)
        return f"{release.version} was published {at}" if self._is_new(at) else None

    def all_too_new(self, skill_id: str, passed_over: list[str]) -> RegistryError:
        """Return the FORBIDDEN for a skill of which every version that may be chosen is too new."""
        return forbidden(
            f"install.min_age is {self._settings.min_age}, and every version of '{skill_id}' that could be chosen is "
            f"newer: {'; '.join(passed_over[:_SHOWN_FINDINGS])}"
        )

    def passed_over(self, reasons: Sequence[str]) -> list[str]:
        """Return notes about the versions that were passed over."""
        return [f"passed over, because install.min_age is {self._settings.min_age}: {reason}" for reason in reasons]

    def check(
        self,
        package: Package,
        origin: Origin,
        *,
        commit: str | None = None,
        release: tuple[DatedRegistry, Release] | None = None,
    ) -> list[str]:
        """Return notes about a package that may be installed by an exception, empty for others.

        `release` is set where it is from a registry. Raises FORBIDDEN for a package that may not be installed: it names
        the setting, and the findings. Raises CONFLICT and OutboundError if its registry does not say how old it is.
        """
        self.check_origin(origin)
        version = release[1].version if release else package.version
        name = release[1].skill_id if release else package.name
        title = f"{name} {version}"
        problems = [*self._risk_problems(package, title), *self._age_problems(package, origin, release, title)]
        if not problems:
            return []
        states = [version] if release else [commit or "", package.digest, package.packed_digest]
        if not self._is_excepted(name, states):
            raise forbidden("; ".join(problems))
        return [f"allowed by an exception of the manifest: {problem}" for problem in problems]

    def _risk_problems(self, package: Package, title: str) -> list[str]:
        report, most = package.findings, RISKS.index(self._settings.max_risk)
        if RISKS.index(report.risk) <= most:
            return []
        grave = [finding for finding in report.findings if RISKS.index(finding.severity) > most]
        named = "; ".join(_line(finding) for finding in grave[:_SHOWN_FINDINGS])
        more = f"; and {len(grave) - _SHOWN_FINDINGS} more" if len(grave) > _SHOWN_FINDINGS else ""
        return [f"install.max_risk is {self._settings.max_risk}, and {title} has {report.risk} risk: {named}{more}"]

    def _age_problems(
        self, package: Package, origin: Origin, release: tuple[DatedRegistry, Release] | None, title: str
    ) -> list[str]:
        if not self._settings.least_age:
            return []
        at = release[0].published_at(release[1]) if release else self._first_seen(origin, package)
        if not self._is_new(at):
            return []
        age = f"was {'published' if release else 'first seen'} {at}"
        least = self._settings.min_age
        return [f"install.min_age is {least}, and {title} {age}: it can be installed {self._from(at)}"]

    def _first_seen(self, origin: Origin, package: Package) -> str:
        """Return when a package was first seen at an origin, and remember that if it is now."""
        where = "select at from sightings where place = ? and digest = ?"
        sighting = (_place(origin), package.digest)
        with self._database.write() as transaction:
            rows = transaction.read(where, sighting)
            if rows:
                return str(rows[0][0])
            now = timestamp(self._clock())
            transaction.execute("insert into sightings (place, digest, at) values (?, ?, ?)", (*sighting, now))
            return now

    def _is_new(self, at: str) -> bool:
        """Return whether a time is not long enough ago. One that is no time counts as now."""
        moment = _moment(at)
        return moment is None or self._clock() - moment < self._least_age

    def _from(self, at: str) -> str:
        moment = _moment(at)
        return "never" if moment is None else f"from {timestamp(moment + self._least_age)}"

    @property
    def _least_age(self) -> timedelta:
        return timedelta(seconds=self._settings.least_age)

    def _is_excepted(self, name: str, states: Collection[str]) -> bool:
        return self._exceptions().get(name) in states


def _is_below(url: str, allowed: str) -> bool:
    """Return whether a URL is an allowed one, or in a folder below it. One with `..` or the like is not."""
    if allowed in (_LOCAL, REGISTRY):
        return False
    try:
        if parse_url(url).origin != parse_url(allowed).origin:
            return False
    except OutboundError:
        return False
    path, base = _segments(url), _segments(allowed)
    return not {".", "..", ""} & set(path) and path[: len(base)] == base


def _segments(url: str) -> list[str]:
    """Return the parts of the path of a URL, without `.git` at its end."""
    path = unquote(urlsplit(url).path).replace("\\", "/").strip("/").removesuffix(".git")
    return path.split("/") if path else []


def _place(origin: Origin) -> str:
    """Return what an origin names whatever its ref, commit or version: its kind, its URL or path, and its folder."""
    location = origin.path if isinstance(origin, LocalOrigin) else getattr(origin, "url", "")
    return " ".join((str(origin.__struct_config__.tag), redact_url(location), getattr(origin, "subdir", None) or ""))


def _moment(at: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _line(finding: Finding) -> str:
    place = f"{finding.file}:{finding.line}" if finding.file and finding.line else finding.file or ""
    return " ".join(filter(None, (place, f"{finding.rule}: {finding.message}")))
