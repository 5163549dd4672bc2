"""The submodules of a commit: their files are in other repositories, which are named but not fetched."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from urllib.parse import urljoin, urlsplit

from registry.domain.addresses import redact_url
from registry.domain.file_names import printable_name
from registry.domain.repository_addresses import of_ssh
from registry.outbound.git_links import SUBMODULE, CheckoutNote, TreeEntry
from registry.outbound.git_run import GitError, GitRun

_MODULES = ".gitmodules"
_MAX_NAMED = 100
_SHOWN = 300


def submodule_notes(run: GitRun, commit: str, entries: Sequence[TreeEntry]) -> Iterator[CheckoutNote]:
    """Yield a note for each submodule among the entries, with the repository that has its files."""
    submodules = [entry for entry in entries if entry.mode == SUBMODULE]
    urls = _urls(run, commit) if submodules else {}
    for entry in submodules:
        yield CheckoutNote(entry.path, f"is a submodule, whose files are not read: {_advice(urls.get(entry.path))}")


def submodule_refusal(run: GitRun, commit: str, folder: str) -> GitError | None:
    """Return the refusal of a folder that is a submodule or in one, None for any other. Raises GitError."""
    places = [str(place) for place in (PurePosixPath(folder), *PurePosixPath(folder).parents)][:-1]
    listing = run("ls-tree", "-z", "--full-tree", commit, "--", *places) if places else ""
    for line in listing.split("\0"):
        facts, _, path = line.partition("\t")
        if facts.startswith(SUBMODULE):
            advice = _advice(_urls(run, commit).get(path))
            name = printable_name(path)
            return GitError(f"{redact_url(run.url)} has no files of {name}, which is a submodule: {advice}")
    return None


def _advice(url: str | None) -> str:
    return f"use its own repository, {url}" if url else "use its own repository"


def _urls(run: GitRun, commit: str) -> Mapping[str, str]:
    """Return the URL of each submodule of a commit by its path, as far as its file of submodules says it."""
    try:
        keys = r"^submodule\..*\.(path|url)$"
        listing = run("config", "--no-includes", "--blob", f"{commit}:{_MODULES}", "--null", "--get-regexp", keys)
    except GitError:  # the commit has no such file, or an invalid one
        return {}
    paths, urls = dict[str, str](), dict[str, str]()
    for line in listing.split("\0")[: 2 * _MAX_NAMED]:
        key, _, value = line.partition("\n")
        name, _, field = key.rpartition(".")
        (paths if field == "path" else urls)[name] = value
    return {path: _shown(run.url, urls[name]) for name, path in paths.items() if name in urls}


def _shown(base: str, url: str) -> str:
    """Return the URL of a submodule for people: whole, for http, and without credentials."""
    if url.startswith(("./", "../")):  # from the repository as a folder
        url = urljoin(f"{base.rstrip('/')}/", url)
    try:
        parts = urlsplit(of_ssh(url) or url)
    except ValueError:
        return ""
    return printable_name(redact_url(parts.geturl()))[:_SHOWN]
