"""Derived data is damaged, found and rebuilt, and is correct afterwards."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from search.lexical.index import LexicalIndex
from support.kept_registry import KeptRegistry

Damage = Callable[[KeptRegistry], None]


def rows(*statements: str) -> Damage:
    """Return a damage done by SQL statements, in which `KEY_OF(id)` is the key of a skill."""
    whole = [statement.replace("KEY_OF(", "(select key from skills where id = ") for statement in statements]
    return lambda kept: kept.run(*whole)


def words_folder(kept: KeptRegistry) -> Path:
    return next((kept.data_dir / "indexes").glob("words-*"))


def snapshot(kept: KeptRegistry) -> Path:
    return next((kept.data_dir / "indexes").glob("vectors-*.npz"))


def segment_is_deleted(kept: KeptRegistry) -> None:
    max(words_folder(kept).glob("*.store")).unlink()


def segment_is_flipped(kept: KeptRegistry) -> None:
    path = max(words_folder(kept).glob("*.term"))
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def words_lack_a_document(kept: KeptRegistry) -> None:
    """Create an index that claims to be current but has no documents."""
    catalog_id = kept.value("select value from facts where name = 'catalog_id'")
    number = kept.value("select value from counter")
    shutil.rmtree(words_folder(kept))
    index = LexicalIndex(kept.data_dir / "indexes" / "words-1", catalog_id)
    index.apply([], number)
    index.close()


def snapshot_is_flipped(kept: KeptRegistry) -> None:
    data = bytearray(snapshot(kept).read_bytes())
    data[-5] ^= 1
    snapshot(kept).write_bytes(data)


def snapshot_is_ahead(kept: KeptRegistry) -> None:
    sidecar = Path(f"{snapshot(kept)}.json")
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | {"number": 10_000}))


def vector_is_cut(kept: KeptRegistry) -> None:
    kept.set_vector("record-one", np.ones(3, np.float32))


def vector_is_no_number(kept: KeptRegistry) -> None:
    refused = kept.url is not None  # pgvector takes numbers only
    kept.set_vector("record-one", np.full(128, 0 if refused else np.nan, np.float32))


def clone_is_edited(kept: KeptRegistry) -> None:
    path = kept.data_dir / "registry-index" / "acme" / "pdf"
    path.write_text(path.read_text().replace("1.9.0", "1.9.1"))


def outsider_writes_bad_lines(kept: KeptRegistry) -> None:
    remote, clone = kept.folder / "index.git", kept.folder / "clone-of-an-outsider"
    subprocess.run(["git", "clone", "-q", "-b", "main", str(remote), str(clone)], check=True)
    with (clone / "acme" / "pdf").open("ab") as file:
        file.write(b'{"vers":' + b"[" * 5_000 + b'\n{"name":"acme/PDF","vers":"1.0.0"}\n')
    author = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", *author, "commit", "-qam", "Bad lines"], cwd=clone, check=True)
    subprocess.run(["git", "push", "-q", "origin", "main"], cwd=clone, check=True)


INSTALL = '{"origin":{"type":"local","path":"x"},"sha256":"","installed_at":"2020-01-01T00:00:00.000Z"}'
UNDOCUMENTED = (
    "delete from bodies where key = KEY_OF('acme/ocr')",
    "delete from documents where id = 'acme/ocr'",
)
UNKNOWN = tuple(sql.replace("acme/ocr", "record-one") for sql in UNDOCUMENTED)
PDF_LISTED = (
    "insert into versions (key, version, major, minor, patch, description, changes, created_at)"
    " values (KEY_OF('acme/pdf'), '1.9.0', 1, 9, 0, 'x', '[]', '')"
)
PDF_OLDER = """update skills set detail = replace(detail, '"1.10.0"', '"1.9.0"') where id = 'acme/pdf'"""

ROWS = {
    "a document is deleted": (rows(*UNDOCUMENTED), "no document"),
    "a document is gone": (rows("update documents set gone = 1 where id = 'record-one'"), "marked as gone"),
    "a document differs": (
        rows("update documents set labels = '[]' where id = 'acme/pdf'"),
        "differs from the skill: labels",
    ),
    "a count is wrong": (rows("update counts set value = 9 where name = 'documents'"), "documents: 9 instead of"),
    "the counts are deleted": (rows("delete from counts"), "enabled, block 0: 0 instead of"),
    "a card differs": (rows("update documents set card = '{}' where id = 'local-one'"), "cannot be read"),
    "a folder's text is deleted": (rows("delete from bodies where key = KEY_OF('local-one')"), "no text"),
    "a listed skill's text is deleted": (rows("delete from bodies where key = KEY_OF('near/listed-one')"), "no text"),
    "a skill is deleted": (rows("delete from skills where id = 'record-one'"), "the skill does not exist"),
    "a text is left": (
        rows("update documents set gone = 1 where id = 'acme/pdf'", "delete from skills where id = 'acme/pdf'"),
        "bodies: there are rows of 1",
    ),
    "a version is deleted": (rows("delete from versions where key = KEY_OF('record-one')"), "not among its versions"),
    "a version is misplaced": (rows("update versions set major = 7 where key = KEY_OF('record-one')"), "7.0.0"),
    "the change number is set back": (rows("update counter set value = 3"), "the counter is 3"),
    "an origin has no folder": (
        rows(f"insert into installs (folder, source, listed, record) values ('nowhere', null, null, '{INSTALL}')"),
        "not installed",
    ),
    "an active version is not listed": (
        rows("delete from versions where key = KEY_OF('acme/pdf')"),
        "1.10.0 is active, but not listed",
    ),
    "a yanked version is listed": (rows(PDF_LISTED), "1.9.0 is listed, but not active"),
    "a published skill is not shown": (
        rows("update documents set gone = 1 where id = 'acme/ocr'", "delete from skills where id = 'acme/ocr'"),
        "does not show it",
    ),
    "the latest version is wrong": (rows(PDF_OLDER), "highest active one is 1.10.0"),
    "a published version is misplaced": (rows("update published set minor = 1 where version = '1.10.0'"), "1.1.0"),
}
WORDS = {
    "a segment is deleted": (segment_is_deleted, "damaged"),
    "a segment is flipped": (segment_is_flipped, "damaged"),
    "documents are missing": (words_lack_a_document, "it lacks"),
    "a document is unknown": (rows(*UNKNOWN, "delete from skills where id = 'record-one'"), "document: document"),
}
VECTORS = {
    "a snapshot is flipped": (snapshot_is_flipped, "checksum"),
    "a snapshot is ahead": (snapshot_is_ahead, "10000"),
    "a vector is deleted": (rows("delete from vectors where key = KEY_OF('record-one')"), "but the database"),
    "a vector is cut": (vector_is_cut, "record-one"),
    "a vector is no number": (vector_is_no_number, "record-one"),
    "a vector is of nothing": (
        rows(
            "insert into vectors (space, key, text_hash, vector, number)"
            " select space, 99, text_hash, vector, 99 from vectors limit 1"
        ),
        "1 removed document",
    ),
}
INDEX = {
    "a file is not wanted": (rows("delete from index_files where skill_id = 'acme/pdf'"), "not scheduled"),
    "a file is awaited in vain": (
        rows("update index_files set wanted = 1, pushed = 1 where skill_id = 'acme/pdf'"),
        "later file",
    ),
    "a line of the clone is edited": (clone_is_edited, "acme/pdf"),
    "an outsider writes bad lines": (outsider_writes_bad_lines, "invalid lines: 2 (line"),
}
DERIVED = {"rows": ROWS, "words": WORDS, "vectors": VECTORS, "index": INDEX}


@pytest.mark.parametrize(
    ("area", "damage", "words"),
    [pytest.param(area, *damage, id=name) for area, damages in DERIVED.items() for name, damage in damages.items()],
)
def test_derived_data_is_rebuilt(kept: KeptRegistry, area: str, damage: Damage, words: str) -> None:
    damage(kept)
    found = kept.inspect().drift
    assert [drift for drift in found if drift.area == area and words in f"{drift.thing}: {drift.problem}"], found
    report = kept.inspect(repair=True)
    assert ([drift for drift in report.drift if drift.repairable], report.unchecked) == ([], {})
    assert [drift for drift in report.repaired if drift.area == area]
    assert kept.inspect().drift == report.drift


def test_an_undamaged_registry_has_no_differences(kept: KeptRegistry) -> None:
    report = kept.inspect()
    assert (report.drift, report.unchecked, report.to_embed, report.to_push) == ([], {}, 0, 0)
    assert kept.inspect(repair=True) == report
