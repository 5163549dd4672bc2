"""Sources of type `registry`, read from a registry that answers what it wants: pages, changes, and its log."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.config.settings import Settings, load_settings
from registry.domain.models import now
from registry.domain.source_entry import NewSource
from registry.errors import RegistryError
from registry.sources.schemas import SourceData
from registry.sources.service import Sources
from support.catalogs import SkillCatalog
from support.scripted_registry import ScriptedRegistry
from support.web_server import WebServer, redirect, reply

FEED = "/registry/index/changes"


@pytest.fixture
def remote() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry(page_size=3) as server:
        yield server


def settings_for(folder: Path, **values: Any) -> Settings:
    flags = {"data_dir": str(folder), "outbound.allowed_hosts": ("127.0.0.1",), **values}
    return load_settings(flags, {})


@pytest.fixture
def sources(tmp_path: Path, catalog: SkillCatalog) -> Iterator[Sources]:
    opened = Sources(settings_for(tmp_path), catalog.database, catalog.catalog, now)
    yield opened
    opened.stop()


def add(sources: Sources, remote: WebServer, **fields: Any) -> SourceData:
    return sources.add(NewSource(name="hub", url=remote.url, **fields))


def shown(sources: Sources) -> SourceData:
    return next(one for one in sources.list() if one.name == "hub")


def refreshed(sources: Sources) -> SourceData:
    sources.refresh()
    return shown(sources)


def ids(catalog: SkillCatalog) -> list[str]:
    return [row[0] for row in catalog.database.read("select id from documents where gone = 0 order by id")]


def names(*numbers: int) -> list[str]:
    return [f"hub/a.s{number}" for number in numbers]


def publish(remote: ScriptedRegistry, *numbers: int, **fields: Any) -> None:
    remote.publish(*(f"a/s{number}" for number in numbers), **fields)


def test_all_pages_are_read_and_then_only_changes(
    remote: ScriptedRegistry, sources: Sources, catalog: SkillCatalog
) -> None:
    publish(remote, *range(8))
    added = add(sources, remote)
    assert (added.type, added.skills, added.error, added.warnings) == ("registry", 8, None, [])
    assert ids(catalog) == names(*range(8))
    assert remote.asked(FEED) == 3
    number = catalog.documents.revision()
    assert refreshed(sources).skills == 8
    assert (remote.asked(FEED), remote.asked("checkpoint")) == (4, 1)
    assert catalog.documents.revision() == number
    publish(remote, 3, description="It does other things now.", version="1.1.0")
    publish(remote, 9)
    remote.remove("a/s5")
    assert refreshed(sources).skills == 8
    assert remote.asked(FEED) == 5
    assert ids(catalog) == names(0, 1, 2, 3, 4, 6, 7, 9)
    assert catalog.catalog.get("hub/a.s3").version == "1.1.0"
    assert catalog.catalog.get("hub/a.s3").source_url == remote.url


def test_an_interrupted_reading_continues_where_it_was(
    remote: ScriptedRegistry, sources: Sources, catalog: SkillCatalog
) -> None:
    publish(remote, *range(8))
    remote.answers[f"/api/v1{FEED}?after=6&limit=200"] = redirect("/elsewhere")
    added = add(sources, remote)
    assert (added.skills, "404" in str(added.error)) == (6, True)
    remote.answers.clear()
    remote.requests.clear()
    again = refreshed(sources)
    assert (again.skills, again.error, remote.asked(FEED)) == (8, None, 1)


def test_a_registry_that_was_set_up_anew_is_read_anew(
    remote: ScriptedRegistry, sources: Sources, catalog: SkillCatalog
) -> None:
    publish(remote, *range(8))
    add(sources, remote)
    number = catalog.documents.revision()
    remote.catalog = "other"
    for gone in (2, 7):
        del remote.changes[f"a/s{gone}"]
    assert refreshed(sources).skills == 6
    assert ids(catalog) == names(0, 1, 3, 4, 5, 6)
    changed = catalog.database.read("select count(*) from documents where number > ? and gone = 0", (number,))
    assert changed == [(0,)]  # the others are the same


def test_an_older_state_of_the_same_catalog_is_read_anew(
    remote: ScriptedRegistry, sources: Sources, catalog: SkillCatalog
) -> None:
    publish(remote, *range(8))
    add(sources, remote)
    leaves = remote.leaves
    remote.changes, remote.revision = {}, 0
    publish(remote, 1, 9)
    remote.leaves = leaves  # its log was kept
    assert refreshed(sources).skills == 2
    assert ids(catalog) == names(1, 9)


def test_a_catalog_that_changes_between_pages_is_an_error(remote: ScriptedRegistry, sources: Sources) -> None:
    publish(remote, *range(4))
    with ScriptedRegistry() as other:
        publish(other, *range(9))
        remote.answers[f"/api/v1{FEED}?after=3&limit=200"] = other.answer(f"/api/v1{FEED}?after=3&limit=200")
        assert "another catalog" in str(add(sources, remote).error)
    remote.answers.clear()
    assert (refreshed(sources).skills, shown(sources).error) == (4, None)


def test_a_bad_entry_is_told_until_it_is_mended(remote: ScriptedRegistry, sources: Sources) -> None:
    publish(remote, 1)
    remote.change("a/bad", {"name": 7})
    assert add(sources, remote).warnings[0].startswith("'a/bad' was skipped")
    publish(remote, 2)
    assert len(refreshed(sources).warnings) == 1
    remote.publish("a/bad")
    assert (refreshed(sources).warnings, shown(sources).skills) == ([], 3)


def test_a_log_that_was_rolled_back_is_refused(
    remote: ScriptedRegistry, sources: Sources, catalog: SkillCatalog
) -> None:
    publish(remote, *range(4))
    add(sources, remote)
    leaves = remote.leaves
    remote.leaves = leaves[:2]
    publish(remote, 9)
    for _ in range(2):  # it stays refused
        refused = refreshed(sources)
        assert "rolled back: 5 entries with root" in str(refused.error)
        assert "3 entries with root" in str(refused.error)
    assert ids(catalog) == names(0, 1, 2, 3)
    remote.leaves = [*leaves, b"new"]
    assert (refreshed(sources).error, ids(catalog)) == (None, names(0, 1, 2, 3, 9))


def test_a_log_with_another_past_is_refused(remote: ScriptedRegistry, sources: Sources, catalog: SkillCatalog) -> None:
    publish(remote, 0)
    add(sources, remote)
    publish(remote, 1)
    remote.leaves[1] = b"another entry"
    assert "forked: 2 entries with root" in str(refreshed(sources).error)
    assert "3 entries with root" in str(shown(sources).error)
    assert ids(catalog) == names(0)


def test_a_log_with_another_key_is_refused_until_the_source_is_added_anew(
    remote: ScriptedRegistry, sources: Sources, catalog: SkillCatalog
) -> None:
    publish(remote, 0)
    add(sources, remote)
    before = remote.signer.verifier_key
    remote.set_up()
    publish(remote, 1)
    error = str(refreshed(sources).error)
    assert before in error
    assert remote.signer.verifier_key in error
    assert ids(catalog) == names(0)
    sources.remove("hub")
    assert ids(catalog) == []
    assert (add(sources, remote).error, ids(catalog)) == (None, names(1))


def test_a_registry_that_is_down_keeps_its_skills(remote: ScriptedRegistry, sources: Sources) -> None:
    publish(remote, 0)
    add(sources, remote)
    remote.refusal = 503
    down = refreshed(sources)
    assert (down.skills, "503" in str(down.error)) == (1, True)
    remote.refusal = None
    assert refreshed(sources).error is None


def test_the_key_is_sent_to_the_registry_and_is_in_no_answer(remote: ScriptedRegistry, sources: Sources) -> None:
    publish(remote, 0)
    added = add(sources, remote, api_key="sk_canary")
    assert (added.skills, added.error) == (1, None)
    keys = [headers.get("x-api-key") for path, headers in remote.requests if not path.startswith("/.well-known")]
    assert set(keys) == {"sk_canary"}
    remote.refusal = 401
    assert "does not accept" in str(refreshed(sources).error)
    assert "canary" not in f"{sources.list()} {sources.entries()} {sources.all_skills()} {sources.skills('hub')}"


def test_another_key_reads_nothing_anew(
    tmp_path: Path, remote: ScriptedRegistry, sources: Sources, catalog: SkillCatalog
) -> None:
    publish(remote, *range(4))
    add(sources, remote, api_key="sk_old")
    sources.stop()
    fields = {"name": "hub", "type": "registry", "url": f"{remote.url}/", "api_key": "sk_new"}
    again = Sources(settings_for(tmp_path, sources=[fields]), catalog.database, catalog.catalog, now)
    remote.requests.clear()
    assert (refreshed(again).skills, remote.asked(FEED)) == (4, 1)
    assert remote.requests[0][1]["x-api-key"] == "sk_new"
    again.stop()


def test_a_redirect_to_another_origin_gets_no_key(remote: ScriptedRegistry, sources: Sources) -> None:
    publish(remote, 0)
    with ScriptedRegistry() as front:
        front.answers[f"/api/v1{FEED}?after=0&limit=200"] = redirect(f"{remote.url}/api/v1{FEED}?after=0&limit=200")
        add(sources, front, api_key="sk_canary")
    assert remote.asked(FEED) == 1
    assert "canary" not in str(remote.requests)


def test_the_urls_that_a_registry_names_are_not_asked(remote: ScriptedRegistry, sources: Sources) -> None:
    with ScriptedRegistry() as other:
        described = {"protocol": "skill-registry", "version": 1, "url": other.url}
        described |= {"log": {"name": "scripted", "key": remote.signer.verifier_key}}
        remote.answers["/.well-known/skill-registry.json"] = reply(json.dumps(described).encode())
        publish(remote, 0, download_url=f"{other.url}/packages/a/s0/1.0.0.zip")
        added = add(sources, remote, api_key="sk_canary")
        assert (added.skills, added.url, added.error) == (1, remote.url, None)
        assert other.requests == []


def test_what_is_at_a_url_is_found_out(remote: ScriptedRegistry, sources: Sources) -> None:
    for suffix, kind in (("", "registry"), ("/", "registry"), ("/list.json", "http"), ("/a.zip", "zip")):
        assert sources.add(NewSource(name="hub", url=remote.url + suffix)).type == kind
        sources.remove("hub")


@pytest.mark.outside  # git
def test_what_is_no_registry_is_taken_for_a_repository(sources: Sources) -> None:
    with WebServer() as web:
        assert add(sources, web).type == "git"
        with pytest.raises(RegistryError, match="no registry") as refused:
            sources.add(NewSource(name="keyed", url=web.url, api_key="sk_canary"))
        assert refused.value.code == "VALIDATION_ERROR"
        assert "canary" not in str(web.requests)


def test_two_processes_that_read_one_registry_take_over_each_page_once(
    tmp_path: Path, remote: ScriptedRegistry, sources: Sources, catalog: SkillCatalog
) -> None:
    publish(remote, *range(10))
    add(sources, remote)
    other = Sources(settings_for(tmp_path), catalog.database, catalog.catalog, now)
    for number in range(10, 40, 10):
        publish(remote, *range(number, number + 10))
        both = [threading.Thread(target=one.refresh) for one in (sources, other)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert (shown(sources).error, shown(sources).skills) == (None, number + 10)
    other.stop()


def test_a_feed_that_never_ends_is_read_in_parts(
    remote: ScriptedRegistry, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(remote, *range(8))
    for number in range(1000):
        remote.remove(f"a/gone{number}")
    remote.page_size = 1
    first = add(sources, remote)
    assert "the last 50 pages changed nothing; the next refresh continues" in str(first.error)
    assert (first.skills, remote.asked(FEED)) == (8, 58)
    refreshed(sources)
    assert remote.asked(FEED) == 108
    remote.page_size = 1000
    assert (refreshed(sources).error, shown(sources).skills) == (None, 8)
    publish(remote, *range(8, 20))
    remote.page_size = 1
    monkeypatch.setattr("registry.sources.registry_reader.READING_SECONDS", 0.0)
    assert "more changes after 0 s; the next refresh continues" in str(refreshed(sources).error)
    assert shown(sources).skills == 9


def test_the_number_of_skills_is_bounded(
    remote: ScriptedRegistry, sources: Sources, catalog: SkillCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.sources.store.MAX_REGISTRY_SKILLS", 4)
    publish(remote, *range(8))
    assert "more than 4 skills" in str(add(sources, remote).error)
    assert ids(catalog) == names(0, 1, 2)
