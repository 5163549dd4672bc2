"""The kept log of another registry: whole after a kill, refused after a change, and never one that was not signed."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from registry.mirrors import kept_log
from registry.mirrors.kept_log import KeptLog, LogDamaged
from registry.sources.log_monitor import LogRefused
from registry.transparency.checkpoint import Signer, Verifier
from registry.transparency.log import LogEntry, canonical
from registry.transparency.merkle import Tree, is_consistent, is_included, leaf_hash, root


def entry(name: str, **fields: Any) -> str:
    """Return the text of an entry, which publishes `acme/<name>` unless told otherwise."""
    digest = f"sha256:{len(name):064x}"
    plain = {"kind": "publish", "skill_id": f"acme/{name}", "version": "1.0.0", "sha256": digest}
    return canonical(msgspec.convert({**plain, **fields}, LogEntry)).decode()


class Author:
    """Who signs a log."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.signer = Signer(folder, "example.org/log")
        self.verifier = Verifier(self.signer.verifier_key)

    def note(self, texts: Sequence[str]) -> str:
        """Return the checkpoint of a log with these entries."""
        tree = Tree()
        for text in texts:
            tree.append(leaf_hash(text.encode()))
        return self.signer.sign(len(texts), root(len(texts), tree.subtree))


@pytest.fixture
def author(tmp_path: Path) -> Author:
    return Author(tmp_path / "author")


TEXTS = [entry(f"skill-{number}") for number in range(600)]


def test_what_was_extended_is_read_again_with_its_proofs(author: Author, tmp_path: Path) -> None:
    log = KeptLog.read(tmp_path / "mirror")
    for size, before in ((1, 0), (256, 1), (300, 256), (600, 300)):
        log.extend(author.verifier, author.note(TEXTS[:size]), TEXTS[before:size])
    again = KeptLog.read(tmp_path / "mirror")
    assert (again.size, again.signed(), again.entries(255, 3)) == (600, log.signed(), TEXTS[255:258])
    tree = Tree()
    for text in TEXTS:
        tree.append(leaf_hash(text.encode()))
    roots = {size: root(size, tree.subtree) for size in (300, 600)}
    assert is_included(leaf_hash(TEXTS[7].encode()), 7, 600, again.inclusion(7, 600), roots[600])
    assert is_consistent(300, 600, again.consistency(300, 600), roots[300], roots[600])
    assert again.packages("acme/skill-7")["1.0.0"].number == 7


def test_another_reader_catches_up_with_what_one_has_written(author: Author, tmp_path: Path) -> None:
    one, other = KeptLog(tmp_path / "mirror"), KeptLog(tmp_path / "mirror")
    one.extend(author.verifier, author.note(TEXTS[:300]), TEXTS[:300])
    other.catch_up()
    one.extend(author.verifier, author.note(TEXTS[:310]), TEXTS[300:310])
    other.extend(author.verifier, author.note(TEXTS[:305]), TEXTS[300:305])
    assert KeptLog.read(tmp_path / "mirror").size == 310
    other.catch_up()
    assert other.size == 310


def test_entries_that_were_not_signed_change_nothing(author: Author, tmp_path: Path) -> None:
    log = KeptLog(tmp_path / "mirror")
    log.extend(author.verifier, author.note(TEXTS[:10]), TEXTS[:10])
    for texts in (TEXTS[10:19], [*TEXTS[10:19], entry("other")], [*TEXTS[10:19], "\u00e9"], [*TEXTS[10:19], "a\nb"]):
        with pytest.raises(LogRefused):
            log.extend(author.verifier, author.note(TEXTS[:20]), texts)
    assert (log.size, KeptLog.read(tmp_path / "mirror").size, "acme/other" in log.packages("acme/other")) == (
        10,
        10,
        False,
    )


@pytest.mark.parametrize("name", ["state.json", "log/000000", "log/000001"])
@pytest.mark.parametrize("change", ["byte", "cut", "gone"])
def test_a_changed_file_is_noticed(author: Author, tmp_path: Path, name: str, change: str) -> None:
    log = KeptLog(tmp_path / "mirror")
    log.extend(author.verifier, author.note(TEXTS[:300]), TEXTS[:300])
    path = tmp_path / "mirror" / name
    content = path.read_bytes()
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if change == "cut" else content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    if (name, change) == ("state.json", "gone"):
        assert KeptLog.read(tmp_path / "mirror").seen is None
        return
    with pytest.raises(LogDamaged):
        KeptLog.read(tmp_path / "mirror")
    if name != "state.json":
        with pytest.raises(LogDamaged):
            log.entries(0, 300)
    fresh = KeptLog(tmp_path / "mirror")
    fresh.extend(author.verifier, author.note(TEXTS[:300]), TEXTS[:300])
    assert KeptLog.read(tmp_path / "mirror").size == 300


def test_entries_without_a_state_that_counts_them_are_not_there(author: Author, tmp_path: Path) -> None:
    log = KeptLog(tmp_path / "mirror")
    log.extend(author.verifier, author.note(TEXTS[:300]), TEXTS[:300])
    shutil.copy(tmp_path / "mirror" / "state.json", tmp_path / "state.json")
    log.extend(author.verifier, author.note(TEXTS[:400]), TEXTS[300:400])
    shutil.copy(tmp_path / "state.json", tmp_path / "mirror" / "state.json")  # as a kill between the two leaves it
    killed = KeptLog.read(tmp_path / "mirror")
    assert killed.size == 300
    killed.extend(author.verifier, author.note(TEXTS[:350]), TEXTS[300:350])
    assert KeptLog.read(tmp_path / "mirror").entries(340, 100) == TEXTS[340:350]


def test_an_entry_with_odd_names_publishes_nothing(author: Author, tmp_path: Path) -> None:
    odd = [
        entry("a", sha256="sha256:../../../etc/passwd"),
        entry("b", skill_id="../../b"),
        entry("c", skill_id="plain"),
        entry("d", version="../1"),
        '{"kind":"later"}',
        "no json",
    ]
    log = KeptLog(tmp_path / "mirror")
    log.extend(author.verifier, author.note(odd), odd)
    assert (log.size, list(log.releases())) == (len(odd), [])


def test_what_a_log_withdraws(author: Author, tmp_path: Path) -> None:
    gone = {"version": "1.0.0", "sha256": None}
    texts = [entry("tea"), entry("tea", kind="yank", **gone), entry("tea", kind="revoke", reason="It leaks", **gone)]
    texts.append(entry("tea", kind="unyank", **gone))
    log = KeptLog(tmp_path / "mirror")
    log.extend(author.verifier, author.note(texts), texts)
    withdrawn = log.withdrawal("acme/tea", "1.0.0")
    assert withdrawn is not None
    assert (withdrawn.state, withdrawn.reason) == ("revoked", "It leaks")
    assert [number for number, _ in log.withdrawing(1, 10)] == [2, 3]


def test_a_log_has_a_most_entries(author: Author, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_log, "MAX_ENTRIES", 10)
    log = KeptLog(tmp_path / "mirror")
    with pytest.raises(LogRefused, match="more than 10 entries"):
        log.extend(author.verifier, author.note(TEXTS[:11]), TEXTS[:11])
