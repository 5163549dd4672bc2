"""Reads untrusted repositories over http and https: shallow fetches, as `git_run` runs them.

Of one folder of a repository, only the files there are fetched, if the server can do that (partial clones, git 2.20).
"""

import logging
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from registry.domain.addresses import AddressPolicy, Endpoint, origin_host, parse_url, redact_url
from registry.domain.file_names import printable_name
from registry.domain.origins import GitOrigin, GitRef
from registry.domain.skill_file import is_skill_file
from registry.outbound.client import OutboundClient, basic_authorization
from registry.outbound.git_access import GitAccess
from registry.outbound.git_links import LINK, SUBMODULE, CheckoutNote, Links, TreeEntry, tree_entries
from registry.outbound.git_run import (
    SAFE_CONFIG,
    GitError,
    GitLimitReached,
    GitLimits,
    GitNoDefaultBranch,
    GitPlaceMissing,
    GitRedirected,
    GitRun,
    git_program,
    missing_ref,
)
from registry.outbound.git_submodules import submodule_notes, submodule_refusal

_T = TypeVar("_T")
_log = logging.getLogger("registry.outbound")

_MIN_VERSION = (2, 37)
"""The first release with `http.curloptResolve`, which pins the address."""

_MAX_FILES = 50_000
_MAX_REDIRECTS = 5
_REFS = "/info/refs"
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules")
_REMOTE = "origin"
_HEADS = "refs/heads/"
_MOST_NAMED, _SHOWN_PATH = 5, 200


class Checkout(NamedTuple):
    """The files of a repository on disk: their commit, and the requested folder."""

    commit: str
    path: Path
    notes: tuple[CheckoutNote, ...] = ()


class Git:
    """Reads repositories over http and https.

    Args:
        policy: The addresses that may be reached directly. Behind a proxy, it decides for addresses in URLs only.
        limits: The limits of one operation.
        access: The proxies, certificates and credentials.
        outbound: The HTTP client that looks for the new address of a repository that has moved.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        limits: GitLimits | None = None,
        access: GitAccess | None = None,
        outbound: OutboundClient | None = None,
    ) -> None:
        self._policy = policy
        self._limits = limits or GitLimits()
        self._access = access or GitAccess()
        self._http = outbound or OutboundClient(policy)

    def latest(self, origin: GitOrigin) -> str:
        """Return the current commit of an origin. Raises OutboundError."""
        if origin.ref is not None and origin.ref.commit is not None:
            return origin.ref.commit
        return self._following(origin, self._latest)

    def _latest(self, origin: GitOrigin) -> str:
        refspec = _refspec(origin.ref)
        with tempfile.TemporaryDirectory(prefix="skill-registry-git-") as folder:
            run = self._run(origin, Path(folder))
            lines = run("ls-remote", "--", run.url, refspec, f"{refspec}^{{}}").splitlines()
        commits = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
        # `name^{}` is the commit that an annotated tag points at.
        commit = commits.get(f"{refspec}^{{}}") or commits.get(refspec)
        if not commit:
            raise missing_ref(redact_url(origin.url), refspec)
        return commit

    def places(self, origin: GitOrigin, folders: dict[GitOrigin, Sequence[str]]) -> Sequence[GitOrigin]:
        """Return where the skill of an origin may be, of which its repository lacks the folder or the ref.

        That is at its ref, else at the default branch: in folders of the same name. `folders` keeps the folders of the
        skills of a repository at a ref, for its other skills. Raises OutboundError.
        """
        for ref in dict.fromkeys((origin.ref, None)):
            repository = msgspec.structs.replace(origin, ref=ref, subdir=None)
            if repository not in folders:
                folders[repository] = ()
                with suppress(GitPlaceMissing):
                    folders[repository] = self._following(repository, self._skill_folders)
            if named := _named_like(folders[repository], origin.subdir or ""):
                return [msgspec.structs.replace(origin, ref=ref, subdir=folder or None) for folder in named]
        return ()

    def _skill_folders(self, origin: GitOrigin) -> Sequence[str]:
        with tempfile.TemporaryDirectory(prefix="skill-registry-git-") as folder:
            run = self._run(origin, Path(folder))
            run("init", "--quiet", "--template=", ".")
            run(*_FETCH, "--depth=1", "--filter=blob:none", "--", run.url, _refspec(origin.ref))
            return _folders_of_skills(run, _fetched_commit(run))

    def refs(self, origin: GitOrigin) -> Mapping[str, str]:
        """Return the commit of each branch and tag of a repository, by `refs/heads/…` and `refs/tags/…`.

        Raises OutboundError.
        """
        return self._following(origin, self._refs)

    def _refs(self, origin: GitOrigin) -> Mapping[str, str]:
        with tempfile.TemporaryDirectory(prefix="skill-registry-git-") as folder:
            run = self._run(origin, Path(folder))
            lines = run("ls-remote", "--heads", "--tags", "--", run.url).splitlines()
        commits = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
        # `name^{}` is the commit that an annotated tag points at.
        return {name: commits.get(f"{name}^{{}}", commit) for name, commit in commits.items() if "^" not in name}

    def fetch(self, origin: GitOrigin, into: Path) -> Checkout:
        """Write the files of an origin below `into`, a folder that must not exist yet.

        Links become copies of what they lead to in the repository. The notes of the checkout say what is left out.
        Raises OutboundError; `into` does not exist afterwards.
        """
        try:
            return self._following(origin, lambda current: self._fetch(current, into))
        except BaseException:
            shutil.rmtree(into, ignore_errors=True)
            raise

    def _following(self, origin: GitOrigin, read: Callable[[GitOrigin], _T]) -> _T:
        """Read an origin at the address that it has now, if it has moved within its host."""
        for _ in range(_MAX_REDIRECTS):
            try:
                return read(origin)
            except GitRedirected as error:
                origin = self._moved(origin, error)
            except GitNoDefaultBranch as error:
                raise GitPlaceMissing(f"{error}: {_instead(self._refs(origin), redact_url(origin.url))}") from None
        raise GitError(f"{redact_url(origin.url)} is redirected more than {_MAX_REDIRECTS} times")

    def _moved(self, origin: GitOrigin, error: GitRedirected) -> GitOrigin:
        """Return an origin at its new address. Raises OutboundError if that is on another host."""
        target = parse_url(origin.url)
        address = f"{str(target.url).rstrip('/')}{_REFS}?service=git-upload-pack"
        credentials = self._access.credentials_for(target)
        headers = {"Authorization": basic_authorization(credentials)} if credentials else {}
        location = self._http.location(address, headers, seconds=self._limits.seconds)
        if location is None:
            raise error
        moved = parse_url(location.partition("?")[0].removesuffix(_REFS))
        if moved.origin != target.origin and not _is_upgrade(target, moved):
            raise GitError(f"{redact_url(origin.url)} has moved to {redact_url(str(moved.url))}: use that address")
        return msgspec.structs.replace(origin, url=moved._replace(credentials=target.credentials).full_url)

    def _fetch(self, origin: GitOrigin, into: Path) -> Checkout:
        shutil.rmtree(into, ignore_errors=True)  # of a former address
        into.mkdir(parents=True)
        run = self._run(origin, into)
        run("init", "--quiet", "--template=", ".")
        if origin.subdir is None or not self._fetch_folder(run, origin):
            run(*_FETCH, "--depth=1", "--", run.url, _refspec(origin.ref))
        commit = _fetched_commit(run)
        subdir = origin.subdir
        entries = tree_entries(run, commit, subdir or ".")
        if [(entry.is_link, entry.path) for entry in entries] == [(True, subdir)]:
            subdir = Links(run, commit, into, (0, 0)).target(str(subdir))
            entries = tree_entries(run, commit, subdir) if subdir else []
        if not entries or [(entry.mode, entry.path) for entry in entries] == [(SUBMODULE, subdir)]:
            raise _no_folder(run, commit, origin)
        spare = self._check_size(entries, origin)
        run("checkout", "--quiet", "--no-overlay", commit, "--", f":(literal,top){subdir or ''}")
        notes = [
            *submodule_notes(run, commit, entries),
            *Links(run, commit, into, spare).follow(entries, keep_skill_files=subdir is None),
        ]
        shutil.rmtree(into / ".git")
        return Checkout(commit, into / subdir if subdir else into, tuple(notes))

    def _fetch_folder(self, run: GitRun, origin: GitOrigin) -> bool:
        """Fetch the commit, its trees, and then the files of one folder. Return whether that is enough.

        It is not if links lead elsewhere, or if the server sends no single files. A server that knows no filters sends
        everything at once, and the second request finds nothing missing.
        """
        run(*_FETCH, "--depth=1", "--filter=blob:none", "--", _REMOTE, _refspec(origin.ref))
        commit = _fetched_commit(run)
        listing = run("ls-tree", "-r", "-z", "--full-tree", commit, "--", str(origin.subdir))
        entries = [entry.split("\t", 1)[0].split() for entry in listing.split("\0") if entry]
        if not entries:
            raise _no_folder(run, commit, origin)
        self._check_number(len(entries), origin)
        blobs = {name for _, kind, name in entries if kind == "blob"}
        if not blobs:  # submodules alone
            return True
        fetched = (*_FETCH, "--no-write-fetch-head", "--filter=blob:none", "--stdin", "--", _REMOTE)
        if not any(mode == LINK for mode, _, _ in entries):
            try:
                run(*fetched, stdin="".join(f"{name}\n" for name in sorted(blobs)).encode())
                return True
            except (GitLimitReached, GitRedirected):
                raise
            except GitError as error:
                _log.info("%s; the whole repository is fetched", error)
        shutil.rmtree(run.folder / ".git")
        run("init", "--quiet", "--template=", ".")
        return False

    def _check_number(self, count: int, origin: GitOrigin) -> None:
        if count > _MAX_FILES:
            raise GitError(f"{redact_url(origin.url)} has more than {_MAX_FILES:,} files")

    def _check_size(self, entries: list[TreeEntry], origin: GitOrigin) -> tuple[int, int]:
        """Refuse too many or too large files before any is written, since packed they may be small.

        Return how many bytes and files are left.
        """
        self._check_number(len(entries), origin)
        left = self._limits.size - sum(entry.size for entry in entries)
        if left < 0:
            limit = f"{self._limits.size:,} bytes ({self._limits.size_setting})"
            raise GitError(f"the files of {redact_url(origin.url)} are larger than {limit}")
        return left, _MAX_FILES - len(entries)

    def _run(self, origin: GitOrigin, folder: Path) -> GitRun:
        target = parse_url(origin.url)
        self._check_version()
        settings = {**SAFE_CONFIG, **self._access.configuration(target)}
        if (proxy := self._access.proxies.of(target)) is not None:
            self._policy.check_literal(target.host, target.port)
        else:
            addresses = self._policy.addresses(target.host, target.port)
            if ":" not in target.host:  # an IPv6 address needs no pin
                pinned = ",".join(f"[{address}]" if ":" in address else address for address in addresses)
                settings["http.curloptResolve"] = f"{target.host}:{target.port}:{pinned}"
        if origin.subdir is not None:
            settings |= {
                f"remote.{_REMOTE}.url": str(target.url),
                f"remote.{_REMOTE}.promisor": "true",
                f"remote.{_REMOTE}.partialCloneFilter": "blob:none",
                "fetch.negotiationAlgorithm": "noop",
            }
        return GitRun(str(target.url), settings, folder, self._limits, origin_host(proxy) if proxy else None)

    def _check_version(self) -> None:
        result = subprocess.run([git_program(), "version"], capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
        numbers = [int(part) for part in result.stdout.split()[2].split(".")[:2]]
        if tuple(numbers) < _MIN_VERSION:
            raise GitError("reading repositories needs git 2.37 or newer: upgrade git")


def _no_folder(run: GitRun, commit: str, origin: GitOrigin) -> GitError:
    """Return the refusal of a folder that a commit does not have.

    It names the repository of a submodule, or skills in folders of that name.
    """
    if origin.subdir is not None and (refusal := submodule_refusal(run, commit, origin.subdir)):
        return refusal
    places = _named_like(_folders_of_skills(run, commit), origin.subdir) if origin.subdir else []
    named = ", ".join(printable_name(place)[:_SHOWN_PATH] for place in places)
    but = f", but {named}" if named else ""
    return GitPlaceMissing(f"{redact_url(origin.url)} has no folder {origin.subdir or '.'}{but}")


def _instead(refs: Mapping[str, str], url: str) -> str:
    """Return what there is to read of a repository without a default branch."""
    branches = [printable_name(name.removeprefix(_HEADS))[:_SHOWN_PATH] for name in refs if name.startswith(_HEADS)]
    if not branches:
        return "it is empty"
    return f"name one of its branches ({', '.join(branches[:_MOST_NAMED])}), as in {url}#{branches[0]}"


def _folders_of_skills(run: GitRun, commit: str) -> list[str]:
    """Return the folders of a commit that have a SKILL.md, "" for the root."""
    paths = run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).split("\0")
    return [folder for folder, _, name in (path.rpartition("/") for path in paths) if is_skill_file(name)]


def _named_like(folders: Sequence[str], subdir: str) -> list[str]:
    """Return the first folders whose paths end as that of a folder, else those of the same name; "" is the root."""
    if not subdir:
        return [subdir] if subdir in folders else []
    for end in (subdir, subdir.rpartition("/")[2]):
        if places := [folder for folder in folders if f"/{folder}".lower().endswith(f"/{end}".lower())]:
            return places[:_MOST_NAMED]
    return []


def _fetched_commit(run: GitRun) -> str:
    return run("rev-parse", "--verify", "--end-of-options", "FETCH_HEAD^{commit}").strip()


def _is_upgrade(old: Endpoint, new: Endpoint) -> bool:
    """Return whether only the transport became https, on the default ports."""
    return (old.origin, new.origin) == (("http", old.host, 80), ("https", old.host, 443))


def _refspec(ref: GitRef | None) -> str:
    return ref.refspec if ref is not None else "HEAD"
