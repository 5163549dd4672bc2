"""Reads untrusted repositories over http and https: shallow fetches, as `git_run` runs them."""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from registry.domain.origins import GitOrigin, GitRef
from registry.outbound import AddressPolicy, parse_url, redact_url
from registry.outbound.git_links import CheckoutNote, Links, TreeEntry, tree_entries
from registry.outbound.git_run import (
    SAFE_CONFIG,
    GitError,
    GitLimits,
    GitRun,
    authorization_config,
    git_program,
)

_MIN_VERSION = (2, 37)
"""The first release with `http.curloptResolve`, which pins the address."""

_MAX_FILES = 50_000


class Checkout(NamedTuple):
    """The files of a repository on disk: their commit, and the requested folder."""

    commit: str
    path: Path
    notes: tuple[CheckoutNote, ...] = ()


class Git:
    """Reads repositories over http and https.

    Args:
        policy: The addresses that may be reached.
        limits: The limits of one operation.
    """

    def __init__(self, policy: AddressPolicy, limits: GitLimits | None = None) -> None:
        self._policy = policy
        self._limits = limits or GitLimits()

    def latest(self, origin: GitOrigin) -> str:
        """Return the current commit of an origin. Raises GitError."""
        if origin.ref is not None and origin.ref.commit is not None:
            return origin.ref.commit
        refspec = _refspec(origin.ref)
        with tempfile.TemporaryDirectory(prefix="skill-registry-git-") as folder:
            run = self._run(origin, Path(folder))
            lines = run("ls-remote", "--", run.url, refspec, f"{refspec}^{{}}").splitlines()
        commits = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
        # `name^{}` is the commit that an annotated tag points at.
        commit = commits.get(f"{refspec}^{{}}") or commits.get(refspec)
        if not commit:
            raise GitError(f"{redact_url(origin.url)} has no {refspec}")
        return commit

    def refs(self, origin: GitOrigin) -> Mapping[str, str]:
        """Return the commit of each branch and tag of a repository, by `refs/heads/…` and `refs/tags/…`.

        Raises GitError.
        """
        with tempfile.TemporaryDirectory(prefix="skill-registry-git-") as folder:
            run = self._run(origin, Path(folder))
            lines = run("ls-remote", "--heads", "--tags", "--", run.url).splitlines()
        commits = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
        # `name^{}` is the commit that an annotated tag points at.
        return {name: commits.get(f"{name}^{{}}", commit) for name, commit in commits.items() if "^" not in name}

    def fetch(self, origin: GitOrigin, into: Path) -> Checkout:
        """Write the files of an origin below `into`, a folder that must not exist yet.

        Links become copies of what they lead to in the repository. The notes of the checkout say what is left out.
        Raises GitError; `into` does not exist afterwards.
        """
        into.mkdir(parents=True)
        try:
            return self._fetch(origin, into)
        except BaseException:
            shutil.rmtree(into, ignore_errors=True)
            raise

    def _fetch(self, origin: GitOrigin, into: Path) -> Checkout:
        run = self._run(origin, into)
        run("init", "--quiet", "--template=", ".")
        refspec = _refspec(origin.ref)
        run("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", run.url, refspec)
        commit = run("rev-parse", "--verify", "--end-of-options", "FETCH_HEAD^{commit}").strip()
        subdir = origin.subdir
        entries = tree_entries(run, commit, subdir or ".")
        if [(entry.is_link, entry.path) for entry in entries] == [(True, subdir)]:
            subdir = Links(run, commit, into, (0, 0)).target(str(subdir))
            entries = tree_entries(run, commit, subdir) if subdir else []
        spare = self._check_size(entries, origin)
        run("checkout", "--quiet", "--no-overlay", commit, "--", f":(literal,top){subdir or ''}")
        notes = Links(run, commit, into, spare).follow(entries, keep_skill_files=subdir is None)
        shutil.rmtree(into / ".git")
        return Checkout(commit, into / subdir if subdir else into, tuple(notes))

    def _check_size(self, entries: list[TreeEntry], origin: GitOrigin) -> tuple[int, int]:
        """Refuse too many or too large files before any is written, since packed they may be small.

        Return how many bytes and files are left.
        """
        if not entries:
            raise GitError(f"{redact_url(origin.url)} has no folder {origin.subdir or '.'}")
        if len(entries) > _MAX_FILES:
            raise GitError(f"{redact_url(origin.url)} has more than {_MAX_FILES:,} files")
        left = self._limits.size - sum(entry.size for entry in entries)
        if left < 0:
            raise GitError(f"the files of {redact_url(origin.url)} are larger than {self._limits.size:,} bytes")
        return left, _MAX_FILES - len(entries)

    def _run(self, origin: GitOrigin, folder: Path) -> "GitRun":
        target = parse_url(origin.url)
        self._check_version()
        addresses = self._policy.addresses(target.host, target.port)
        settings = {**SAFE_CONFIG, **authorization_config(target)}
        if ":" not in target.host:  # an IPv6 address needs no pin
            pinned = ",".join(f"[{address}]" if ":" in address else address for address in addresses)
            settings["http.curloptResolve"] = f"{target.host}:{target.port}:{pinned}"
        return GitRun(str(target.url), settings, folder, self._limits)

    def _check_version(self) -> None:
        result = subprocess.run([git_program(), "version"], capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
        numbers = [int(part) for part in result.stdout.split()[2].split(".")[:2]]
        if tuple(numbers) < _MIN_VERSION:
            raise GitError("reading repositories needs git 2.37 or newer: upgrade git")


def _refspec(ref: GitRef | None) -> str:
    return ref.refspec if ref is not None else "HEAD"
