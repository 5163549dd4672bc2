"""Fetches packages from their origins, validates them, and stages them beside the installed skills."""

import os
import posixpath
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from registry.config.settings import Settings
from registry.domain.file_names import printable_name
from registry.domain.hosts import is_loopback_host
from registry.domain.origins import GitOrigin, LocalOrigin, Origin, ZipOrigin
from registry.domain.repository_addresses import RepositoryAddress
from registry.domain.skill_file import is_skill_file
from registry.errors import FieldError, forbidden, validation_error
from registry.inspection.inspector import Inspector
from registry.install.package_cache import PackageCache
from registry.install.registries import ChosenRelease, check_package, not_in_cache
from registry.install.skills_within import SkillsWithin, is_misplaced, refusal_error, skills_within
from registry.outbound import OutboundError, redact_url
from registry.outbound.git_links import CheckoutNote
from registry.packages.package import Package
from registry.packages.refusal import PackageRefused
from registry.runtime.atomic_files import sync_tree, temporary_path
from registry.sources.fetching import Fetched, Fetcher
from registry.sources.urls import WithCredentials

_CACHED = "cached.zip"

_SHOWN_NOTES = 20


class Staged(NamedTuple):
    """A package on disk, in the file system of the skills directory, and its commit.

    `notes` say what a checkout lacks, with paths from the root of the repository. `within` is the path of the folder of
    its origin that it was taken from, if it is not the origin itself.
    """

    package: Package
    commit: str | None
    notes: tuple[CheckoutNote, ...] = ()
    within: str | None = None

    @property
    def warnings(self) -> list[str]:
        """What an installation of the package should tell: what the checkout lacks."""
        chosen = [] if self.within is None else [f"the skill is in {printable_name(self.within)}, the only one there"]
        return [*chosen, *(note.text for note in self.notes[:_SHOWN_NOTES])]


class Known(NamedTuple):
    """What is known of a package before it is fetched: the digest of its files, and whether nothing may be fetched."""

    tree: str | None = None
    offline: bool = False


class StagedPackages:
    """Fetches and stages packages. A package that is refused or not used leaves no files.

    Args:
        root: The skills directory.
        fetcher: Fetches packages from remote origins.
        inspector: Reads and scans the packages.
        settings: Decide which folders of this machine may be read.
        cache: The packages that were fetched before, if they are kept.
    """

    def __init__(
        self, root: Path, fetcher: Fetcher, inspector: Inspector, settings: Settings, cache: PackageCache | None
    ) -> None:
        self._cache = cache
        self._root = root
        self._fetcher = fetcher
        self._inspector = inspector
        self._settings = settings

    @contextmanager
    def staged(
        self,
        wanted: Origin | ChosenRelease | Path,
        *,
        on_refused: Callable[[PackageRefused], None] | None = None,
        on_fetched: Callable[[], None] = lambda: None,
        named: str | None = None,
        known: Known = Known(),  # noqa: B008 - immutable
        takes_only: bool = False,
    ) -> Iterator[Staged]:
        """Yield the staged package of an origin, a release or an uploaded zip.

        The rules for installing apply; those for publishing to an uploaded zip. `named` is the name of the skill in its
        source, by default that of its folder, repository or file.
        Raises VALIDATION_ERROR with every fault of the package, or because of the OutboundError that kept it from being
        fetched; OSError, and what the registry of a release raises.
        `on_refused` is called before the error is raised, `on_fetched` before the package is checked. A package of the
        cache whose files have the digest that is `known` is not fetched again. With `takes_only`, the only skill in the
        folders of a repository or zip stands for it, and always that in a zip of this machine.
        """
        folder = temporary_path(self._root, "install-")
        folder.mkdir()
        named = named or _name_at(wanted)
        try:
            staged = self._from_cache(wanted, known, folder, named)
            if staged is None:
                with self._fetched(wanted, known, folder) as fetched:
                    on_fetched()
                    staged = self._read(fetched, wanted, folder, named, on_refused, takes_only=takes_only)
            if isinstance(wanted, ChosenRelease):
                check_package(staged.package, wanted.release)
            sync_tree(staged.package.folder)
            self._keep(wanted, staged.package, folder)
            yield staged
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _read(
        self,
        fetched: Fetched,
        wanted: Origin | ChosenRelease | Path,
        folder: Path,
        named: str | None,
        on_refused: Callable[[PackageRefused], None] | None,
        *,
        takes_only: bool,
    ) -> Staged:
        """Return the package of what was fetched, read into `folder`. Raises as `staged`."""
        within, place, tree = SkillsWithin(), None, fetched.path
        try:
            try:
                package, _ = self._inspector.read_package(tree, folder / "package", named=named)
            except PackageRefused as refusal:
                if is_misplaced(refusal) and not isinstance(wanted, ChosenRelease):
                    tree, within = self._within(fetched.path, folder / "unpacked")
                place = within.only
                is_file = isinstance(wanted, LocalOrigin) and within.is_archive  # whose origin names no folder
                if place is None or not (is_file or (takes_only and isinstance(wanted, GitOrigin | ZipOrigin))):
                    raise
                named = posixpath.basename(place)
                package, _ = self._inspector.read_package(tree / place, folder / "package", named=named)
        except PackageRefused as refusal:
            if on_refused is not None:
                on_refused(refusal)
            lacking = [note.text for note in fetched.notes if is_misplaced(refusal)]
            raise refusal_error(refusal, within, wanted, lacking[:_SHOWN_NOTES]) from None
        return Staged(package, fetched.commit, fetched.notes, place)

    def _within(self, fetched: Path, unpacked: Path) -> tuple[Path, SkillsWithin]:
        """Return the tree of what was fetched, which is unpacked if it is a zip, and the skills in it."""
        if fetched.is_dir():
            return fetched, skills_within(fetched, is_archive=False)
        try:
            tree = self._fetcher.unpack(fetched, unpacked)
        except OutboundError:  # it breaks other rules too, which the refusal does not need
            return fetched, SkillsWithin()
        return tree, skills_within(tree, is_archive=True)

    def _from_cache(
        self, wanted: Origin | ChosenRelease | Path, known: Known, folder: Path, named: str | None
    ) -> Staged | None:
        """Return a package of the cache with the files that are known; None for releases, which are known by their zip.

        One with other files is removed from the cache.
        """
        if self._cache is None or known.tree is None or isinstance(wanted, ChosenRelease | LocalOrigin | Path):
            return None
        commit = wanted.ref.commit if isinstance(wanted, GitOrigin) and wanted.ref is not None else None
        if isinstance(wanted, GitOrigin) and commit is None:
            return None
        archive = folder / _CACHED
        if not self._cache.take_tree(known.tree, archive):
            return None
        try:
            package, _ = self._inspector.read_package(archive, folder / "package", named=named)
        except PackageRefused:  # by the rules of this release: its origin may have another state
            archive.unlink()
            return None
        if package.has_digest(known.tree):
            return Staged(package, commit)
        self._cache.discard_tree(known.tree)
        shutil.rmtree(folder / "package")
        archive.unlink()
        return None

    def _keep(self, wanted: Origin | ChosenRelease | Path, package: Package, folder: Path) -> None:
        """Add a package to the cache, if it was fetched."""
        if self._cache is None or isinstance(wanted, LocalOrigin | Path) or (folder / _CACHED).exists():
            return
        if isinstance(wanted, ChosenRelease):
            self._cache.put(folder / "package.zip", package.digest)
        else:
            self._cache.put_folder(package)

    @contextmanager
    def _fetched(self, wanted: Origin | ChosenRelease | Path, known: Known, folder: Path) -> Iterator[Fetched]:
        """Fetch a package for the block. A release is taken from the cache or downloaded into `folder`."""
        if isinstance(wanted, LocalOrigin | Path):
            yield Fetched(None, wanted if isinstance(wanted, Path) else self.local_path(wanted))
            return
        try:
            if isinstance(wanted, ChosenRelease):
                archive = folder / "package.zip"
                if self._cache is None or not self._cache.take(wanted.release.checksum, archive):
                    wanted.registry.download(wanted.release, archive)
                yield Fetched(None, archive)
                return
            if known.offline:
                raise OutboundError(not_in_cache(redact_url(str(getattr(wanted, "url", "it")))))
            with self._fetcher.fetching(wanted) as fetched:
                yield fetched
        except OutboundError as error:
            raise validation_error(FieldError("origin", str(error))) from error

    def resolved(self, address: RepositoryAddress, with_credentials: WithCredentials) -> Origin:
        """Return the origin that an address means in its repository. Raises OutboundError, VALIDATION_ERROR."""
        return self._fetcher.resolved(address, with_credentials)

    def local_path(self, origin: LocalOrigin) -> Path:
        """Return the folder or file of a local origin. Relative paths start at the project's folder.

        Raises FORBIDDEN if it may not be read, VALIDATION_ERROR if it does not exist.
        """
        path = (self._settings.project.file.parent / origin.path).resolve()
        roots = [root.resolve() for root in self._settings.install.allowed_roots]
        if not self.any_folder and not any(path.is_relative_to(root) for root in roots):
            raise forbidden(
                "Folders of this machine can be installed only if the local profile listens on loopback, or below "
                "install.allowed_roots"
            )
        if not _is_folder_or_file(path):
            raise validation_error(FieldError("origin.path", "does not exist, or is not a folder or file"))
        return path

    @property
    def any_folder(self) -> bool:
        """Whether any folder may be installed, since all callers are on this machine."""
        return self._settings.profile == "local" and is_loopback_host(self._settings.server.host)


def _name_at(wanted: Origin | ChosenRelease | Path) -> str | None:
    """Return the name of a skill's folder at its origin, else that of its repository or file; None for an upload."""
    if isinstance(wanted, Path):
        return None
    if isinstance(wanted, ChosenRelease):
        return wanted.release.skill_id.rpartition("/")[2]
    if isinstance(wanted, LocalOrigin):
        return Path(os.path.abspath(wanted.path)).name.removesuffix(".zip") or "skill"  # noqa: PTH100 - no look-up
    place = getattr(wanted, "subdir", None) or urlsplit(str(getattr(wanted, "url", ""))).path
    parts = unquote(place).rstrip("/").split("/")
    last = parts[-2] if len(parts) > 1 and is_skill_file(parts[-1]) else parts[-1]
    return last.removesuffix(".git").removesuffix(".zip").removesuffix(".skill") or "skill"


def _is_folder_or_file(path: Path) -> bool:
    try:
        return path.is_dir() or path.is_file()
    except OSError:  # a name that is too long for the file system, or a folder that may not be entered
        return False
