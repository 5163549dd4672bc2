"""The git index: every skill's file as it follows from the published versions, as far as it was pushed."""

import functools
import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from registry.fsck.drift import EVIDENCE, CannotCheck, Found, derived, lost
from registry.fsck.parts import Parts
from registry.git import GitError
from registry.git_index import GitIndex
from registry.index_lines import merged, read_lines
from registry.transparency.checkpoint import CheckpointInvalid, Verifier, checkpoint_file

_LINES_SHOWN = 5


def check(parts: Parts) -> Iterator[Found]:
    """Yield files of the index that are missing, differ, or are of skills nobody here has published."""
    yield from _counters(parts)
    clone = parts.clone()
    if clone is None:
        return
    try:
        # The rows first: what is published meanwhile only adds to the files.
        expected = _expected(parts)
        with tempfile.TemporaryDirectory(prefix="skill-registry-git-") as folder:
            # The clone itself lags behind where another replica pushes.
            remote = clone.of_remote_now(Path(folder))
            yield from _files(parts, expected, remote)
            yield from _checkpoint(parts, remote)
        if parts.alone and (edited := clone.edited()):
            problem = f"files in the clone were changed by hand: {', '.join(edited[:5])}"
            yield derived("index", "clone", problem, clone.restore)
    except (GitError, OSError) as error:
        raise CannotCheck(f"the index: {error}") from None


def _counters(parts: Parts) -> Iterator[Found]:
    read = parts.database.read
    unlisted = (
        "select distinct skill_id from published p"
        " where not exists (select 1 from index_files f where f.skill_id = p.skill_id) order by skill_id"
    )
    for (skill_id,) in read(unlisted):
        yield derived("index", skill_id, "nothing says that its file is to be written", _wanted(parts, skill_id))
    behind = (
        "select f.skill_id from index_files f join publish_jobs j on j.skill_id = f.skill_id"
        " group by f.skill_id, f.wanted having max(j.index_number) > f.wanted order by f.skill_id"
    )
    for (skill_id,) in read(behind):
        yield derived("index", skill_id, "a job waits for a later file than is wanted", _wanted(parts, skill_id))


def _wanted(parts: Parts, skill_id: str) -> functools.partial[None]:
    return functools.partial(_want, parts, skill_id)


def _want(parts: Parts, skill_id: str) -> None:
    """Have the service write a skill's file anew, on top of whatever the remote has."""
    numbers = "select max(index_number) from publish_jobs where skill_id = ?"
    with parts.database.write() as transaction:
        least = transaction.read(numbers, (skill_id,))[0][0] or 0
        transaction.execute("insert into index_files values (?, 0, 0) on conflict do nothing", (skill_id,))
        sql = "update index_files set wanted = case when wanted < ? then ? else wanted + 1 end where skill_id = ?"
        transaction.execute(sql, (least, least, skill_id))


def _expected(parts: Parts) -> dict[str, bytes]:
    """Return the files that were pushed, as they follow from the published versions now."""
    pushed = parts.database.read("select skill_id from index_files where pushed >= wanted order by skill_id")
    published = _published(parts)
    return {skill_id: parts.index_files.file(skill_id) for (skill_id,) in pushed if skill_id in published}


def _published(parts: Parts) -> set[str]:
    return {row[0] for row in parts.database.read("select distinct skill_id from published")}


def _files(parts: Parts, expected: Mapping[str, bytes], remote: GitIndex) -> Iterator[Found]:
    found = remote.committed()
    for skill_id, ours in expected.items():
        if problem := _problem(skill_id, remote, ours, found.get(skill_id)):
            yield derived("index", skill_id, problem, _wanted(parts, skill_id))
    for path in sorted(found.keys() - _published(parts)):
        if _claims_ours(parts, path, remote.content(found[path])):
            advice = "another registry at the same address has written it, or the database has lost it: see a backup"
            yield lost("index", path, "the index lists it as ours, but it was never published here", advice)


def _checkpoint(parts: Parts, remote: GitIndex) -> Iterator[Found]:
    """Compare the log with the state of it that was signed and pushed, which others have seen."""
    path = checkpoint_file(parts.settings.transparency.name)
    name, key = remote.committed().get(path), parts.database.read("select value from facts where name = 'log_key'")
    if name is None or not key:
        return
    try:
        signed = Verifier(key[0][0]).read(remote.content(name).decode())
    except CheckpointInvalid as error:
        yield lost("index", path, str(error), "the next change writes it anew; ask who can push to the index")
        return
    size = parts.log.size()
    if signed.size > size:
        problem = f"the log had {signed.size} entries when it was signed, and has {size}: was an older one restored?"
        yield lost("log", path, problem, EVIDENCE)
    elif signed.root != parts.log.root(signed.size):
        yield lost("log", path, f"the first {signed.size} entries are not those that were signed", EVIDENCE)


def _problem(skill_id: str, remote: GitIndex, ours: bytes, found: str | None) -> str | None:
    if found is None:
        return "it has no file in the index"
    if found == _object_name(ours, len(found)):
        return None
    theirs = remote.content(found)
    content, left_out = merged(skill_id, ours, theirs)
    if left_out:
        lines = "; ".join(f"line {line.number}: {line.reason}" for line in left_out[:_LINES_SHOWN])
        return f"its file in the index has {len(left_out)} lines that nothing should read ({lines})"
    return None if content == theirs else "its file in the index is not what the database says"


def _object_name(content: bytes, digits: int) -> str:
    """Return the name git gives to these bytes, in a repository whose names have so many digits."""
    made = hashlib.new("sha1" if digits == 40 else "sha256", usedforsecurity=False)
    made.update(b"blob %d\0" % len(content) + content)
    return made.hexdigest()


def _claims_ours(parts: Parts, path: str, content: bytes) -> bool:
    """Return whether a file's lines lead to packages of this registry: several may share an index."""
    if path.count("/") != 1:
        return False
    lines, _ = read_lines(path, content)
    return any(line.download_url == parts.index_files.download_url(path, line.vers) for line, _ in lines)
