"""The advisories: pages of signed entries with proofs, the same list as OSV records, and as entries of the feed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from registry.domain.api import API
from registry.transparency.checkpoint import CheckpointInvalid, Verifier
from registry.transparency.merkle import is_included, leaf_hash
from registry.transparency.release_proof import decode_hashes
from support.publishing import Registry, skill_package

WHY, INSTEAD = "it loses the last field", "acme/coffee@^2"
NOTE = {"reason": WHY, "replacement": INSTEAD}
CHANGES: tuple[tuple[str, dict[str, str] | None], ...] = (
    ("tea/1.0.0/yank", NOTE),
    ("tea/1.1.0/revoke", {"reason": "it reads keys"}),
    ("ocr/deprecate", NOTE),
    ("tea/1.0.0/unyank", None),
    ("pdf/1.0.0/yank", {}),
)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("advisories")) as running:
        for name, version in (("tea", "1.0.0"), ("tea", "1.1.0"), ("ocr", "1.0.0"), ("ocr", "1.1.0"), ("pdf", "1.0.0")):
            running.finished(running.publish(skill_package(name, version)))
        for path, body in CHANGES:
            headers = running.caller("acme/root", "admin")
            running.http.post(f"{API}/registry/skills/acme/{path}", json=body, headers=headers).raise_for_status()
        yield running


def advisories(registry: Registry, **query: int) -> dict[str, Any]:
    answer = registry.http.get(f"{API}/registry/advisories", params=query, headers=registry.caller("a", "user"))
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


def key(registry: Registry) -> Verifier:
    return Verifier(registry.get(f"{API}/log/key").json()["data"]["key"])


def test_each_advisory_is_proven_by_the_signed_checkpoint(registry: Registry) -> None:
    page = advisories(registry)
    state = key(registry).read(page["checkpoint"])
    assert (page["complete"], state.size, page["last"]) == (True, page["size"], page["size"] - 1)
    kinds = [advisory["kind"] for advisory in page["advisories"]]
    assert kinds == ["yank", "revoke", "deprecate", "unyank", "yank"]
    for advisory in page["advisories"]:
        leaf, proof = leaf_hash(advisory["entry"].encode()), decode_hashes(advisory["proof"])
        assert is_included(leaf, advisory["number"], state.size, proof, state.root)
    first = page["advisories"][0]
    assert (first["skill_id"], first["version"], first["reason"], first["replacement"]) == (
        *("acme/tea", "1.0.0"),
        *(WHY, INSTEAD),
    )
    assert page["advisories"][2]["version"] is None


def test_pages_follow_each_other(registry: Registry) -> None:
    found: list[int] = []
    after, complete = 0, False
    while not complete:
        page = advisories(registry, after=after, limit=2)
        found += [advisory["number"] for advisory in page["advisories"]]
        after, complete = page["last"], page["complete"]
    assert found == [advisory["number"] for advisory in advisories(registry)["advisories"]]
    assert advisories(registry, after=after)["advisories"] == []
    assert advisories(registry, after=10**9)["last"] == 10**9


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "after=99999999999999999999"])
def test_a_wrong_query_is_refused(registry: Registry, query: str) -> None:
    answer = registry.http.get(f"{API}/registry/advisories?{query}", headers=registry.caller("a", "user"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


def test_nobody_reads_them_without_a_credential(registry: Registry) -> None:
    for path in ("advisories", "advisories/osv"):
        assert registry.http.get(f"{API}/registry/{path}").status_code == 401


def test_a_checkpoint_says_when_it_was_current_and_only_the_log_can(registry: Registry) -> None:
    verifier, note = key(registry), registry.get(f"{API}/log/checkpoint").text
    seconds = verifier.time(note)
    assert seconds is not None
    assert abs(datetime.now(UTC) - datetime.fromtimestamp(seconds, UTC)) < timedelta(minutes=5)
    text, _, lines = note.partition("\n\n")
    without = "\n".join([text, "", lines.split("\n")[0], ""])
    assert (verifier.read(without).size, verifier.time(without)) == (verifier.read(note).size, None)
    later = registry.get(f"{API}/log/checkpoint").text
    registry.finished(registry.publish(skill_package("later")))
    grown = registry.get(f"{API}/log/checkpoint").text.partition("\n\n")[0]
    moved = f"{grown}\n\n{later.partition(chr(10) * 2)[2]}"  # the signatures of another state
    with pytest.raises(CheckpointInvalid):
        verifier.time(moved)


def test_the_same_list_as_osv_records(registry: Registry) -> None:
    answer = registry.http.get(f"{API}/registry/advisories/osv", headers=registry.caller("a", "user"))
    records = answer.json()["vulns"]
    by_summary = {record["summary"]: record for record in records}
    assert list(by_summary) == [
        "acme/tea 1.0.0 was yanked",
        "acme/tea 1.1.0 was revoked",
        "acme/ocr was deprecated",
        "acme/pdf 1.0.0 was yanked",
    ]
    tea, revoked, ocr, pdf = records
    assert tea["withdrawn"] == tea["modified"] > tea["published"]
    assert ("withdrawn" in revoked, revoked["details"]) == (False, "it reads keys.")
    assert ocr["affected"][0]["versions"] == ["1.0.0", "1.1.0"]
    assert ocr["affected"][0]["package"] == {
        "ecosystem": "SkillRegistry",
        "name": "acme/ocr",
        "purl": "pkg:generic/acme/ocr",
    }
    assert ocr["details"] == f"{WHY}. Use {INSTEAD} instead."
    assert ocr["database_specific"]["replacement"] == INSTEAD
    assert pdf["details"] == "No reason was given."
    assert len({record["id"] for record in records}) == len(records)


def test_the_feed_has_withdrawals_with_their_reason(registry: Registry) -> None:
    feed = Xml.fromstring(registry.get("/feed.atom").content)
    space = "{http://www.w3.org/2005/Atom}"
    entries = {
        entry.findtext(f"{space}title"): entry.findtext(f"{space}summary") or "" for entry in feed.iter(f"{space}entry")
    }
    assert WHY in entries["acme/tea 1.0.0: yanked"]
    assert "it reads keys" in entries["acme/tea 1.1.0: revoked"]
    assert INSTEAD in entries["acme/ocr: deprecated"]
    assert "acme/tea 1.0.0: listed again" in entries
    times = [entry.findtext(f"{space}updated") or "" for entry in feed.iter(f"{space}entry")]
    assert times == sorted(times, reverse=True)
