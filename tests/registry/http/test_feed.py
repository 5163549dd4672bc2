"""The Atom feed of new versions: read by an XML parser, in both profiles."""

import base64
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest

from registry.http.atom import FeedEntry, feed
from support.publishing import Registry, skill_package
from support.servers import RunningServer, bearer, new_skill

ATOM = {"a": "http://www.w3.org/2005/Atom"}
HOSTILE = "<script>alert(1)</script> & ]]> \"' \N{RIGHT-TO-LEFT OVERRIDE} <!-- &amp; é"


def entries(answer: httpx.Response) -> list[dict[str, str]]:
    """Return the entries of a valid feed by their element names, with the address as `href`."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/atom+xml")
    root = ElementTree.fromstring(answer.content)
    assert root.tag == "{http://www.w3.org/2005/Atom}feed"
    for name in ("id", "title", "updated"):
        assert root.findtext(f"a:{name}", namespaces=ATOM)
    found = []
    for entry in root.findall("a:entry", ATOM):
        fields = {child.tag.partition("}")[2]: child.text or "" for child in entry}
        assert datetime.fromisoformat(fields["updated"])
        assert entry.findtext("a:author/a:name", namespaces=ATOM)
        link = entry.find("a:link", ATOM)
        assert link is not None
        found.append(fields | {"href": link.attrib["href"]})
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path) as running:
        yield running


def test_a_new_skill_and_a_new_version_appear_first(server: RunningServer) -> None:
    assert entries(server.http.get("/feed.atom")) == []
    server.api("POST", "/skills", json=new_skill("csv-charts", tags=["csv"]))
    server.api("POST", "/skills", json=new_skill("pdf-forms"))
    titles = [entry["title"] for entry in entries(server.http.get("/feed.atom"))]
    assert titles == ["pdf-forms 1.0.0", "csv-charts 1.0.0"]
    changed = server.http.post("/v1/skills/csv-charts/versions", json={"version": "1.1.0", "changes": ["Draws pies"]})
    assert changed.status_code == 201, changed.text
    first = entries(server.http.get("/feed.atom"))[0]
    assert first["title"] == "csv-charts 1.1.0"
    assert "- Draws pies" in first["summary"]
    assert first["href"] == f"{server.url}/skills/csv-charts@1.1.0"
    assert server.http.get(first["href"]).status_code == 200


def test_ids_are_stable_and_unique(server: RunningServer) -> None:
    for name in ("one-skill", "two-skill"):
        server.api("POST", "/skills", json=new_skill(name))
    before = {entry["title"]: entry["id"] for entry in entries(server.http.get("/feed.atom"))}
    elsewhere = server.http.get("/feed.atom", headers={"Host": f"localhost:{server.url.rpartition(':')[2]}"})
    assert {entry["title"]: entry["id"] for entry in entries(elsewhere)} == before
    assert len(set(before.values())) == 2
    assert all(one.startswith("urn:uuid:") for one in before.values())
    server.api("POST", "/skills", json=new_skill("three-skill"))
    after = {entry["title"]: entry["id"] for entry in entries(server.http.get("/feed.atom"))}
    assert before.items() <= after.items()


def test_texts_of_others_stay_text(server: RunningServer) -> None:
    made = new_skill("odd-skill", description=HOSTILE, author=HOSTILE, content=HOSTILE)
    assert server.api("POST", "/skills", json=made).status_code == 201
    (entry,) = entries(server.http.get("/feed.atom"))
    assert "<script>alert(1)</script> & ]]>" in entry["summary"]
    assert "<script" not in server.http.get("/feed.atom").text


def test_characters_that_xml_cannot_have_are_replaced() -> None:
    odd = "a\x00b\x0bc\x1fd\ufffee\udcfff\ud83d"
    made = feed("feed", odd, odd, odd, [FeedEntry("entry", odd, odd, odd, "2026-01-01T00:00:00Z", odd, [odd])])
    root = ElementTree.fromstring(made)
    assert root.findtext("a:entry/a:summary", namespaces=ATOM) == "a�b�c�d�e�f�"


def test_an_unchanged_feed_is_not_sent_again(server: RunningServer) -> None:
    server.api("POST", "/skills", json=new_skill("pdf-forms"))
    answer = server.http.get("/feed.atom")
    assert parsedate_to_datetime(answer.headers["Last-Modified"])
    again = {"If-None-Match": answer.headers["ETag"]}
    assert server.http.get("/feed.atom", headers=again).status_code == 304
    server.api("DELETE", "/skills/pdf-forms")
    changed = server.http.get("/feed.atom", headers=again)
    assert changed.status_code == 200
    assert entries(changed) == []


def test_it_has_the_newest_50_versions_of_enabled_skills(server: RunningServer) -> None:
    lines = "\n".join(
        f'{{"id": "skill-{n:02}", "name": "n", "description": "A skill of many.", "version": "1.0.0"}}'
        for n in range(53)
    )
    kind = {"Content-Type": "application/x-ndjson"}
    assert server.http.post("/api/v1/skills:batch", content=lines, headers=kind).json()["data"]["created"] == 53
    assert len(entries(server.http.get("/feed.atom"))) == 50
    server.api("PUT", "/skills/skill-52", json={"enabled": False})
    assert "skill-52 1.0.0" not in {entry["title"] for entry in entries(server.http.get("/feed.atom"))}


def test_only_who_may_read_the_registry_gets_its_feed(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        assert registry.finished(registry.publish(skill_package("whittle")))["status"] == "accepted"
        refused = registry.http.get("/feed.atom")
        assert refused.status_code == 401
        token = registry.token("user")
        (entry,) = entries(registry.http.get("/feed.atom", headers=bearer(token)))
        assert entry["title"] == "acme/whittle 1.0.0"
        assert entry["href"].endswith("/skills/acme/whittle@1.0.0")
        basic = base64.b64encode(f"reader:{token}".encode()).decode()
        assert len(entries(registry.http.get("/feed.atom", headers={"Authorization": f"Basic {basic}"}))) == 1

        admin = bearer(registry.token("admin"))
        yanked = registry.api("POST", "/registry/skills/acme/whittle/1.0.0/yank", headers=admin)
        assert yanked.status_code == 200, yanked.text
        (entry,) = entries(registry.http.get("/feed.atom", headers=bearer(token)))
        assert entry["title"] == "acme/whittle 1.0.0: yanked"


def test_the_page_names_its_feed(server: RunningServer) -> None:
    page = server.http.get("/").text
    assert '<link rel="alternate" href="/feed.atom" type="application/atom+xml"' in page
