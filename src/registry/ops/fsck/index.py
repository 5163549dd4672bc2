"""Checks the git index: the pushed file of every skill against its published versions."""

import functools
import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from registry.domain.counts import counted
from registry.ops.fsck.drift import FORKED, CannotCheck, Discrepancy, derived, lost
from registry.ops.fsck.parts import Parts
from registry.outbound.git_run import GitError
from registry.publish.git_index import GitIndex
from registry.publish.index_lines import merged, read_lines
from registry.transparency.bundles import bundle_count, bundle_file, bundle_range, write_bundle
from registry.transparency.checkpoint import CheckpointInvalid, Verifier, checkpoint_file

_LINES_SHOWN = 5
_RESTART = "start the service again: it compares the log with the index at its start, and completes the index"


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield index files that are missing, differ, or belong to skills that were never published here."""
    yield from _counters(parts)
    clone = parts.clone()
    if clone is None:
        return
    try:
        # The rows are read first, since later publishing only adds to the files.
        expected = _expected(parts)
        with tempfile.TemporaryDirectory(prefix="skill-registry-git-") as folder:
            # The local clone lags behind if another replica pushes.
            remote = clone.clone_remote(Path(folder))
            yield from _files(parts, expected, remote)
            yield from _checkpoint(parts, remote)
        if parts.alone and (edited := clone.modified_files()):
            problem = f"files in the clone were changed by hand: {', '.join(edited[:5])}"
            yield derived("index", "clone", problem, clone.restore)
    except (GitError, OSError) as error:
        raise CannotCheck(f"the index: {error}") from None


def _counters(parts: Parts) -> Iterator[Discrepancy]:
    read = parts.database.read
    unlisted = (
        "select distinct skill_id from published p"
        " where not exists (select 1 from index_files f where f.skill_id = p.skill_id) order by skill_id"
    )
    for (skill_id,) in read(unlisted):
        yield derived("index", skill_id, "its file is not scheduled to be written", _write_again(parts, skill_id))
    behind = (
        "select f.skill_id from index_files f join publish_jobs j on j.skill_id = f.skill_id"
        " group by f.skill_id, f.wanted having max(j.index_number) > f.wanted order by f.skill_id"
    )
    for (skill_id,) in read(behind):
        yield derived(
            "index", skill_id, "a job waits for a later file than is scheduled", _write_again(parts, skill_id)
        )


def _write_again(parts: Parts, skill_id: str) -> functools.partial[None]:
    return functools.partial(_schedule, parts, skill_id)


def _schedule(parts: Parts, skill_id: str) -> None:
    """Schedule the file of a skill, so that the service writes it again on top of the remote state."""
    numbers = "select max(index_number) from publish_jobs where skill_id = ?"
    with parts.database.write() as transaction:
        minimum = transaction.read(numbers, (skill_id,))[0][0] or 0
        transaction.execute(
            "insert into index_files (skill_id, wanted, pushed) values (?, 0, 0) on conflict do nothing", (skill_id,)
        )
        sql = "update index_files set wanted = case when wanted < ? then ? else wanted + 1 end where skill_id = ?"
        transaction.execute(sql, (minimum, minimum, skill_id))


def _expected(parts: Parts) -> dict[str, bytes]:
    """Return the expected content of all pushed files, computed from the published versions."""
    pushed = parts.database.read("select skill_id from index_files where pushed >= wanted order by skill_id")
    published = _published(parts)
    return {skill_id: parts.index_files.file(skill_id) for (skill_id,) in pushed if skill_id in published}


def _published(parts: Parts) -> set[str]:
    return {row[0] for row in parts.database.read("select distinct skill_id from published")}


def _files(parts: Parts, expected: Mapping[str, bytes], remote: GitIndex) -> Iterator[Discrepancy]:
    committed = remote.committed_objects()
    for skill_id, content in expected.items():
        if problem := _problem(skill_id, remote, content, committed.get(skill_id)):
            yield derived("index", skill_id, problem, _write_again(parts, skill_id))
    for path in sorted(committed.keys() - _published(parts)):
        if _lists_our_packages(parts, path, remote.content(committed[path])):
            advice = "another registry with the same URL wrote it, or the database has lost it: look in a backup"
            yield lost("index", path, "the index lists it for this registry, but it was never published here", advice)


def _checkpoint(parts: Parts, remote: GitIndex) -> Iterator[Discrepancy]:
    """Compare the log with its checkpoint in the index, which others have seen."""
    path = checkpoint_file(parts.settings.transparency.name)
    name = remote.committed_objects().get(path)
    key = parts.database.read("select value from facts where name = 'log_key'")
    if name is None or not key:
        return
    try:
        signed = Verifier(key[0][0]).read(remote.content(name).decode())
    except CheckpointInvalid as error:
        yield lost("index", path, str(error), "the next change replaces it; find out who can push to the index")
        return
    size = parts.log.size()
    if signed.size > size:
        before = counted(signed.size, "entry")
        problem = f"it had {before} when it was signed and has {size} now: was an older database restored?"
        yield lost("log", path, problem, FORKED)
    elif signed.root != parts.log.root(signed.size):
        yield lost("log", path, f"it differs from the signed one in its first {counted(signed.size, 'entry')}", FORKED)
    else:
        yield from _bundles(parts, remote, signed.size)


def _bundles(parts: Parts, remote: GitIndex, size: int) -> Iterator[Discrepancy]:
    """Compare the entries of the log in the index with those of the database: it can be rebuilt from them."""
    committed = remote.committed_objects()
    for number in range(bundle_count(size)):
        path, entries = bundle_file(parts.settings.transparency.name, number), bundle_range(number, size)
        expected = write_bundle(parts.log.entries(entries.start, len(entries)))
        name = committed.get(path)
        if name is None:
            yield lost("index", path, "it is not in the index: the database could not be rebuilt from it", _RESTART)
        elif name != _object_name(expected, len(name)):
            yield lost("index", path, "it has other entries than the log", _RESTART)


def _problem(skill_id: str, remote: GitIndex, expected: bytes, object_name: str | None) -> str | None:
    if object_name is None:
        return "it has no file in the index"
    if object_name == _object_name(expected, len(object_name)):
        return None
    actual = remote.content(object_name)
    content, skipped = merged(skill_id, expected, actual)
    if skipped:
        lines = "; ".join(f"line {line.number}: {line.reason}" for line in skipped[:_LINES_SHOWN])
        return f"its file in the index has invalid lines: {len(skipped)} ({lines})"
    return None if content == actual else "its file in the index differs from the database"


def _object_name(content: bytes, digits: int) -> str:
    """Return git's object name of these bytes; its number of digits decides the hash function."""
    hasher = hashlib.new("sha1" if digits == 40 else "sha256", usedforsecurity=False)
    hasher.update(b"blob %d\0" % len(content) + content)
    return hasher.hexdigest()


def _lists_our_packages(parts: Parts, path: str, content: bytes) -> bool:
    """Return whether a file lists packages of this registry, since several registries may share an index."""
    if path.count("/") != 1 or "." in path:  # a file about a log: ids of skills have no dot
        return False
    lines, _ = read_lines(path, content)
    return any(line.download_url == parts.settings.package_urls.of(path, line.vers) for line, _ in lines)
