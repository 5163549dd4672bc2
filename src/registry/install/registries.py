"""The registries that packages are installed from: this service, sources of type `registry`, and others by URL."""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from registry.domain.findings import rules_of
from registry.domain.models import version_parts
from registry.domain.origins import RegistryOrigin
from registry.domain.release_proofs import LoggedRelease, PinnedProof
from registry.domain.version_requirement import admits, highest, is_exact
from registry.domain.withdrawals import Withdrawn, is_revoked
from registry.errors import (
    FieldError,
    RegistryError,
    conflict,
    skill_not_found,
    validation_error,
    withdrawn_skill,
)
from registry.install.order import LockedRelease
from registry.install.package_cache import PackageCache
from registry.install.policy import InstallPolicy
from registry.outbound import OutboundError, StatusError
from registry.packages.package import Package
from registry.publish.service import Publishing
from registry.sources.log_monitor import LogMonitor, LogRefused, SeenLog
from registry.sources.log_states import LogStates
from registry.sources.remote_registry import ReadableRegistry, Release
from registry.sources.service import Sources
from registry.transparency.checkpoint import CheckpointInvalid, Verifier
from registry.transparency.release_proof import ProofInvalid, check_release, published_at

_MOST_PASSED_OVER = 100
"""Of so many versions the age is asked."""

_SERVER_ERROR = 500

_UNREACHABLE_SECONDS = 30.0
"""For so long a registry that did not answer is not asked again for what a lock and the cache have."""


class PackageRegistry(Protocol):
    """A registry of packages: this service, or one at a URL."""

    def releases(self, skill_id: str) -> Sequence[Release]:
        """Return every release of a skill. A revoked one counts as yanked. Raises SKILL_NOT_FOUND, OutboundError."""
        ...

    def download(self, release: Release, into: Path) -> None:
        """Write the zip of a release, with its digest verified, to a new file. Raises OutboundError, RegistryError."""
        ...

    def published_at(self, release: Release) -> str:
        """Return the time of the log entry of a release. Raises CONFLICT if its log proves none, OutboundError."""
        ...

    def proof(self, release: Release, package: Package, known: PinnedProof | None) -> PinnedProof | None:
        """Return the proof that the log of the registry includes a release with the files of `package`.

        `known` is an earlier proof from this log, which the log must still extend. None: this service is the registry.
        Raises CONFLICT if the log proves something else, OutboundError.
        """
        ...

    def withdrawal(self, release: Release) -> Withdrawn | None:
        """Return how a release, whose proof was checked, is withdrawn by the log; None if it is not."""
        ...


class ChosenRelease(NamedTuple):
    """The release to install, and the registry that has it. `passed_over` says which higher ones are too new.

    `notes` are what the installation should tell besides.
    """

    registry: PackageRegistry
    release: Release
    passed_over: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class OwnRegistry:
    """The packages that this service has published."""

    def __init__(self, publishing: Publishing) -> None:
        self._publishing = publishing

    def has(self, skill_id: str) -> bool:
        """Return whether a version of this skill was ever published."""
        return self._publishing.published.is_published(skill_id)

    def releases(self, skill_id: str) -> Sequence[Release]:
        """Return every published version of a skill. Raises SKILL_NOT_FOUND."""
        versions = self._publishing.published.summaries(skill_id)
        if not versions:
            raise skill_not_found(skill_id)
        return [
            Release(
                skill_id=skill_id,
                version=version.version,
                checksum=version.checksum,
                yanked=version.state != "active",
                download_url=None,
                size=version.size,
                withdrawn=version.withdrawn,
                dependencies=tuple(version.dependencies),
            )
            for version in versions
        ]

    def download(self, release: Release, into: Path) -> None:
        """Copy the zip of a version. Raises CONFLICT if it is revoked, SERVICE_UNAVAILABLE."""
        version = self._publishing.published.find(release.skill_id, release.version)
        with self._publishing.packages.stream(version) as package, into.open("xb") as copy:
            shutil.copyfileobj(package, copy)

    def published_at(self, release: Release) -> str:
        """Return the time of the log entry of a version, empty if the log has none."""
        return self._publishing.published.logged_at(release.skill_id, release.version)

    def proof(self, release: Release, package: Package, known: PinnedProof | None) -> PinnedProof | None:
        """Return None: a service needs no proof from its own log."""
        return None

    def withdrawal(self, release: Release) -> Withdrawn | None:
        """Return how a version is withdrawn."""
        return self._publishing.published.withdrawal(release.skill_id, release.version)


class LoggedRegistry:
    """The packages of a registry at a URL, checked against its transparency log."""

    def __init__(self, remote: ReadableRegistry, monitor: LogMonitor, states: LogStates) -> None:
        self._remote = remote
        self._states = states
        self._monitor = monitor

    def releases(self, skill_id: str) -> Sequence[Release]:
        """Return every release of a skill. Raises SKILL_NOT_FOUND, OutboundError."""
        return self._remote.releases(skill_id)

    def download(self, release: Release, into: Path) -> None:
        """Download the zip of a release. Raises OutboundError."""
        self._remote.download(release, into)

    def proof(self, release: Release, package: Package, known: PinnedProof | None) -> PinnedProof | None:
        """Return the verified proof of a release, which the log does not say is withdrawn.

        Raises CONFLICT, OutboundError.
        """
        logged = LoggedRelease(release.skill_id, release.version, release.checksum, package.packed_digest)
        try:
            answer = self._remote.log_proof(release.skill_id, release.version)
            earlier = None if known is None else SeenLog(key=known.key, checkpoint=known.checkpoint)
            verifier = self._monitor.verify(self._remote, answer.checkpoint, earlier=earlier)
            findings = package.findings
            proof = PinnedProof(
                **msgspec.structs.asdict(answer), key=verifier.text, risk=findings.risk, rules=rules_of(findings)
            )
            state = check_release(proof, verifier, logged)
            self._states.follow(self._remote, verifier, state)
            _check_state(release, self.withdrawal(release))
        except (LogRefused, ProofInvalid) as refused:
            raise conflict(f"'{release.skill_id}' {release.version} is refused: {refused}") from None
        return proof

    def published_at(self, release: Release) -> str:
        """Return the time of the entry of a release, which the signed log includes. Raises CONFLICT, OutboundError."""
        try:
            answer = self._remote.log_proof(release.skill_id, release.version)
            verifier = self._monitor.verify(self._remote, answer.checkpoint)
            return published_at(answer, verifier, release.skill_id, release.version, release.checksum)
        except (LogRefused, ProofInvalid) as refused:
            raise conflict(f"'{release.skill_id}' {release.version} is refused: {refused}") from None

    def withdrawal(self, release: Release) -> Withdrawn | None:
        """Return how a release is withdrawn by the log, as far as it was read."""
        (withdrawal,) = self._states.withdrawals(self._remote.url, [(release.skill_id, release.version)])
        return withdrawal

    def checked_offline(self, release: Release, package: Package, known: PinnedProof) -> PinnedProof:
        """Return a known proof of a release, which holds, and which nothing that was read of the log contradicts.

        Raises CONFLICT.
        """
        logged = LoggedRelease(release.skill_id, release.version, release.checksum, package.packed_digest)
        try:
            check_release(known, self._monitor.verifier(self._remote.url, known.key), logged)
            _check_state(release, self.withdrawal(release))
        except (LogRefused, ProofInvalid) as refused:
            raise conflict(f"'{release.skill_id}' {release.version} is refused: {refused}") from None
        findings = package.findings
        return msgspec.structs.replace(known, risk=findings.risk, rules=rules_of(findings))


class LockedRegistry:
    """A registry that is not asked: a lock names its only release, and the cache has the package.

    Args:
        registry: The registry, which is asked for the package if the cache has lost it.
        locked: The release.
        offline: Whether not even that may be asked.
    """

    def __init__(self, registry: LoggedRegistry, skill_id: str, locked: LockedRelease, *, offline: bool) -> None:
        self._registry = registry
        self._log = locked.log
        self._offline = offline
        self.release = Release(
            skill_id=skill_id,
            version=locked.version,
            checksum=f"sha256:{locked.package}",
            yanked=True,  # a lock may name what was yanked since
            download_url=None,
            size=0,
        )

    def releases(self, skill_id: str) -> Sequence[Release]:
        """Return the release."""
        return [self.release]

    def download(self, release: Release, into: Path) -> None:
        """Download the zip again, whose bytes in the cache are damaged. Raises OutboundError."""
        if self._offline:
            raise OutboundError(not_in_cache(release.skill_id))
        self._registry.download(release, into)

    def published_at(self, release: Release) -> str:
        """Return the time of the entry in the proof. Raises CONFLICT if the log proves none."""
        try:
            verifier = Verifier(self._log.key)
            return published_at(self._log, verifier, release.skill_id, release.version, release.checksum)
        except (CheckpointInvalid, ProofInvalid) as refused:
            raise conflict(f"'{release.skill_id}' {release.version} is refused: {refused}") from None

    def proof(self, release: Release, package: Package, known: PinnedProof | None) -> PinnedProof | None:
        """Return the proof of the lock, which is verified offline. Raises CONFLICT."""
        return self._registry.checked_offline(release, package, self._log)

    def withdrawal(self, release: Release) -> Withdrawn | None:
        """Return how the release is withdrawn, as far as the log was read before."""
        return self._registry.withdrawal(release)


def not_in_cache(name: str) -> str:
    """Return the message for what cannot be had offline."""
    return f"'{name}' is not in the cache of packages, and nothing may be fetched: install it without --offline first"


def _check_state(release: Release, withdrawn: Withdrawn | None) -> None:
    """Raise ProofInvalid if the log says that a release is revoked, or yanked although its index lists it as active.

    Yanked versions are installed by their exact version, so that the index decides where it says so too.
    """
    if withdrawn is None:
        return
    if withdrawn.state == "revoked":
        raise ProofInvalid(f"its log says that it was {withdrawn.words}")
    if withdrawn.state == "yanked" and not release.yanked:
        raise ProofInvalid("its log says that it is yanked, and its index lists it as active: try again")


class Registries:
    """Finds the registry and the release that an origin names.

    Args:
        sources: The configured and added sources, which know the credentials for registries.
        own: The packages of this service, None if it does not publish.
        policy: Passes over what is too new.
        cache: The packages that were fetched before, if they are kept.
    """

    def __init__(
        self, sources: Sources, own: OwnRegistry | None, policy: InstallPolicy, cache: PackageCache | None
    ) -> None:
        self._sources = sources
        self._policy = policy
        self._cache = cache
        self._unreachable: dict[str, tuple[float, str]] = {}
        self.own = own

    def wanted(
        self, origin: RegistryOrigin, requirement: str | None, locked: LockedRelease | None, *, offline: bool
    ) -> ChosenRelease:
        """Return the release of a registry to install: what a lock names, from the cache, if the registry is away.

        With `offline`, or for 30 s after a failure, it is not asked. Raises as `choose`, and VALIDATION_ERROR for what
        cannot be had offline.
        """
        registry = self.at(origin.url)
        is_cached = locked is not None and self._cache is not None and self._cache.has(locked.package)
        if locked is None or not is_cached:
            if offline:
                raise validation_error(FieldError("origin", not_in_cache(origin.skill)))
            return self.choose(registry, origin.skill, requirement)
        release = LockedRegistry(registry, origin.skill, locked, offline=offline)
        if offline:
            return ChosenRelease(release, release.release)
        failed_at, reason = self._unreachable.get(origin.url, (-_UNREACHABLE_SECONDS, ""))
        if time.monotonic() - failed_at >= _UNREACHABLE_SECONDS:
            try:
                return self._without_revoked(self.choose(registry, origin.skill, requirement))
            except OutboundError as error:
                if isinstance(error, StatusError) and error.status < _SERVER_ERROR:
                    raise
                reason = str(error)
                self._unreachable[origin.url] = (time.monotonic(), reason)
        note = f"taken from the cache, because its registry could not be asked what it has withdrawn since: {reason}"
        return ChosenRelease(release, release.release, notes=(note,))

    def _without_revoked(self, chosen: ChosenRelease) -> ChosenRelease:
        """Return a release, which the cache forgets if its registry has revoked it: later, it may be offline."""
        if self._cache is not None and is_revoked(chosen.release.withdrawn):
            self._cache.discard(chosen.release.checksum)
        return chosen

    def at(self, url: str) -> LoggedRegistry:
        """Return the registry at a URL. Raises OutboundError for an invalid URL."""
        return LoggedRegistry(self._sources.registry_at(url), self._sources.log_monitor, self._sources.log_states)

    def choose(self, registry: PackageRegistry, skill_id: str, requirement: str | None) -> ChosenRelease:
        """Return the highest active release that a requirement admits; a yanked one only by its exact version.

        One that is too new for the policy is passed over, except by its exact version.
        Raises SKILL_NOT_FOUND, FORBIDDEN if all are too new, CONFLICT, OutboundError.
        """
        releases = {release.version: release for release in registry.releases(skill_id)}
        if requirement is not None and is_exact(requirement):
            if (chosen := releases.get(requirement)) is not None:
                return ChosenRelease(registry, chosen)
            raise nothing_to_choose(skill_id, requirement, list(releases.values()))
        passed_over: list[str] = []
        active = {version for version, release in releases.items() if not release.yanked}
        while (version := highest(requirement, active)) is not None:
            too_new = self._policy.too_new(registry, releases[version])
            if too_new is None:
                return ChosenRelease(registry, releases[version], tuple(passed_over))
            passed_over.append(too_new)
            active.remove(version)
            if len(passed_over) == _MOST_PASSED_OVER:
                break
        if passed_over:
            raise self._policy.all_too_new(skill_id, passed_over)
        raise nothing_to_choose(skill_id, requirement, list(releases.values()))


def nothing_to_choose(skill_id: str, requirement: str | None, releases: Sequence[Release]) -> RegistryError:
    """Return the error for a requirement that no version meets which can be chosen, with the reasons of withdrawals."""
    if requirement is not None and is_exact(requirement):
        return skill_not_found(skill_id, requirement)
    gone = [release for release in releases if release.yanked and admits(requirement, release.version)]
    if not gone:
        return skill_not_found(skill_id, requirement)
    last = max(gone, key=lambda release: version_parts(release.version))
    which = f" that {requirement} admits" if requirement else ""
    how = last.withdrawn.words if last.withdrawn else "withdrawn without a reason"
    return withdrawn_skill(skill_id, f"every version{which} was withdrawn. The last one, {last.version}, was {how}")


def check_package(package: Package, release: Release) -> None:
    """Raise VALIDATION_ERROR if a package is not of the release that its registry lists."""
    name = release.skill_id.rpartition("/")[2]
    if (package.name, package.version) != (name, release.version):
        raise validation_error(
            FieldError(
                "package",
                f"is {package.name} {package.version}, but its registry lists it as {name} {release.version}",
            )
        )
