"""Learning from use over HTTP: who may teach what, what is stored, and what it changes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.publishing import Registry
from support.servers import RunningServer, bearer, new_skill, write_skill
from support.zips import plain_zip

FEEDBACK = "/api/v1/search/feedback"
QUERY = "make my holiday snapshots look nicer"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("feedback")
    write_skill(folder / "skills", "raw-develop", "Develop pictures from a camera sensor.")
    write_skill(folder / "skills", "look-up", "Look up a word, my way, and make notes.")
    write_skill(folder / "skills", "gone-soon", "Nicer letters for a holiday.")
    write_skill(folder / "skills", "origami", "A swan of paper.")
    with RunningServer(folder, "--embedding-provider", "none", env=database_setting) as running:
        yield running


def teach(server: RunningServer, found: dict[str, Any], skill_id: str, outcome: str = "chosen") -> httpx.Response:
    body = {"search_id": found["search_id"], "skill_id": skill_id, "outcome": outcome}
    return server.api("POST", "/search/feedback", json=body)


def stored(server: RunningServer, skill_id: str) -> list[dict[str, Any]]:
    answer = server.api("GET", "/search/feedback", params={"skill_id": skill_id})
    assert answer.status_code == 200, answer.text
    choices: list[dict[str, Any]] = answer.json()["data"]
    return choices


def test_a_chosen_skill_is_found_by_the_words_of_the_query(server: RunningServer) -> None:
    before = server.search(QUERY)
    assert "raw-develop" not in [hit["skill"]["id"] for hit in before["skills"]]
    shown = server.search("camera snapshots of a holiday: make them nicer")
    answer = teach(server, shown, "raw-develop")
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"] == {"skill_id": "raw-develop", "outcome": "chosen", "learned": True}
    after = server.search(QUERY)
    found = {hit["skill"]["id"]: hit["matched_by"] for hit in after["skills"]}
    assert found["raw-develop"] == ["keyword"]
    assert teach(server, shown, "raw-develop", "wrong").status_code == 200
    assert server.found(QUERY) == [hit["skill"]["id"] for hit in before["skills"]]


def test_an_explanation_names_examples_in_the_local_profile_only(server: RunningServer, tmp_path: Path) -> None:
    query = "fold a napkin into a swan"
    with RunningServer(tmp_path, "--profile", "registry", "--embedding-provider", "none") as registry:
        registry.sign_in("admin")
        assert registry.api("POST", "/skills", json=new_skill("origami", description="A swan of paper.")).is_success
        for running, shown in ((server, [query]), (registry, [])):
            assert teach(running, running.search(query), "origami").status_code == 200
            why = running.search("swan from a napkin", explain=True)["skills"][0]["explanation"]
            assert why["examples"] == shown
            assert why["parts"]["examples"] > 0
            assert sum(why["parts"].values()) == pytest.approx(why["evidence"], abs=1e-3)


def test_the_same_choice_counts_once(server: RunningServer) -> None:
    shown = server.search("look up a word")
    for query in ("look up a word", "LOOK  up a Word"):
        shown = server.search(query)
        assert teach(server, shown, "look-up", "installed").status_code == 200
    assert [choice["outcome"] for choice in stored(server, "look-up")] == ["installed"]


@pytest.mark.parametrize(
    ("changed", "status", "field"),
    [
        ({"search_id": "AAAA"}, 400, "search_id"),
        ({"search_id": "ä"}, 400, "search_id"),
        ({"skill_id": "never-shown"}, 404, None),
        ({"skill_id": "look-up"}, 400, "skill_id"),
        ({"outcome": "loved"}, 400, "outcome"),
    ],
)
def test_a_choice_that_no_search_allows_is_refused(
    server: RunningServer, changed: dict[str, object], status: int, field: str | None
) -> None:
    shown = server.search("pictures from a camera sensor")
    assert [hit["skill"]["id"] for hit in shown["skills"]] == ["raw-develop"]
    body = {"search_id": shown["search_id"], "skill_id": "raw-develop", "outcome": "chosen", **changed}
    answer = server.api("POST", "/search/feedback", json=body)
    assert answer.status_code == status, answer.text
    if field is not None:
        assert answer.json()["error"]["details"][0]["field"] == field
    assert "camera sensor" not in " ".join(choice["query"] for choice in stored(server, "raw-develop"))


def test_a_changed_search_id_is_refused(server: RunningServer) -> None:
    search_id = server.search("develop pictures")["search_id"]
    other = "C" if search_id[20] == "B" else "B"
    for changed in (search_id[:-2] + "AA", search_id[:20] + other + search_id[21:], search_id[4:]):
        assert teach(server, {"search_id": changed}, "raw-develop").status_code == 400


def test_a_query_with_a_secret_is_not_stored(server: RunningServer) -> None:
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    data = teach(server, server.search(f"develop pictures with {token}"), "raw-develop").json()["data"]
    assert (data["learned"], data["reason"]) == (False, "the query looks as if it contains a secret")
    assert token not in str(stored(server, "raw-develop"))


def test_examples_are_forgotten_with_the_skill_and_on_request(server: RunningServer) -> None:
    shown = server.search("nicer letters")
    assert teach(server, shown, "gone-soon").status_code == 200
    example = stored(server, "gone-soon")[0]
    answer = server.api("DELETE", "/search/feedback", params={"example_id": example["example_id"]})
    assert answer.json()["data"] == {"deleted": 1}
    assert stored(server, "gone-soon") == []
    assert server.api("DELETE", "/search/feedback", params={"skill_id": "gone-soon"}).status_code == 404
    assert teach(server, shown, "gone-soon").status_code == 200
    assert server.api("DELETE", "/skills/gone-soon").status_code == 200
    assert stored(server, "gone-soon") == []
    assert teach(server, shown, "gone-soon").status_code == 404


def test_a_search_without_results_has_no_id(server: RunningServer) -> None:
    assert "search_id" not in server.search("zzzzzz")


def test_cached_responses_have_an_id_too(server: RunningServer) -> None:
    first, again = server.search("develop pictures"), server.search("develop pictures")
    assert first == again
    assert teach(server, again, "raw-develop").status_code == 200


def test_no_search_id_where_learning_is_off(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf", "Read pdf files.")
    with RunningServer(tmp_path, "--embedding-provider", "none", "--search-learning", "off") as running:
        assert "search_id" not in running.search("pdf")
        assert teach(running, {"search_id": "x"}, "pdf").status_code == 403


def test_anonymous_callers_do_not_teach_unless_told(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry", "--auth-anonymous-read") as running:
        manager = bearer(running.token("admin"))
        made = running.api("POST", "/skills", json=new_skill("pdf", description="Read pdf files."), headers=manager)
        assert made.status_code == 201, made.text
        assert running.found("pdf") == ["pdf"]
        assert "search_id" not in running.search("pdf")


def test_one_caller_has_three_choices_of_a_skill(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry", "--embedding-provider", "none") as running:
        running.sign_in("admin")
        made = running.api("POST", "/skills", json=new_skill("pdf", description="Read pdf files."))
        assert made.status_code == 201, made.text
        queries = [f"read pdf number {number}" for number in range(5)]
        for query in queries:
            assert teach(running, running.search(query), "pdf").status_code == 200
        assert sorted(choice["query"] for choice in stored(running, "pdf")) == queries[2:]
        shown = running.search("read pdf number 9")
        other = bearer(running.token("user", "other/other"))
        body = {"search_id": shown["search_id"], "skill_id": "pdf", "outcome": "helped"}
        assert running.api("POST", "/search/feedback", json=body, headers=other).status_code == 200
        assert len(stored(running, "pdf")) == 4
        assert running.api("GET", "/search/feedback", headers=other).status_code == 403
        assert running.api("DELETE", "/search/feedback", headers=other).status_code == 403
        own = running.api("DELETE", "/search/feedback/own", headers=other)
        assert own.json()["data"] == {"deleted": 1}
        assert running.api("DELETE", "/search/feedback").json()["data"] == {"deleted": 3}


def test_a_skill_does_not_learn_from_the_scope_that_publishes_it(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry", "--embedding-provider", "none") as running:
        running.sign_in("admin")
        own = bearer(running.token("manager", "acme/ann"))
        made = running.api("POST", "/skills", json=new_skill("pdf", description="Read pdf files."), headers=own)
        assert made.status_code == 201, made.text
        body = {"search_id": running.search("read pdf")["search_id"], "skill_id": "pdf", "outcome": "chosen"}
        for caller, learned in (("acme/ann", False), ("acme/bob", False), ("other/eve", True)):
            headers = bearer(running.token("user", caller))
            answer = running.api("POST", "/search/feedback", json=body, headers=headers).json()["data"]
            assert answer["learned"] is learned, caller
            assert ("the scope that publishes it" in answer.get("reason", "")) is not learned
        assert len(stored(running, "pdf")) == 1


def test_one_caller_who_finds_a_skill_wrong_cancels_no_choice_of_another(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry", "--embedding-provider", "none") as running:
        running.sign_in("admin")
        made = running.api("POST", "/skills", json=new_skill("origami", description="A swan of paper."))
        assert made.status_code == 201, made.text
        shown = running.search("fold a napkin into a swan")["search_id"]

        def tell(caller: str, outcome: str) -> None:
            body = {"search_id": shown, "skill_id": "origami", "outcome": outcome}
            headers = bearer(running.token("user", caller))
            assert running.api("POST", "/search/feedback", json=body, headers=headers).status_code == 200

        tell("one/ann", "helped")
        assert running.found("napkin") == ["origami"]
        tell("two/eve", "wrong")
        assert running.found("napkin") == ["origami"]
        tell("three/joe", "wrong")
        assert running.found("napkin") == []


def test_managers_list_and_delete_choices_of_their_scope_only(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry", "--embedding-provider", "none") as running:
        running.sign_in("admin")
        scopes = {name: bearer(running.token("manager", f"{name}/someone")) for name in ("acme", "other")}
        own, other = scopes["acme"], scopes["other"]
        made = running.api("POST", "/skills", json=new_skill("pdf", description="Read pdf files."), headers=own)
        assert made.status_code == 201, made.text
        for query in ("read pdf", "open pdf"):
            assert teach(running, running.search(query), "pdf").status_code == 200
        of_skill = {"skill_id": "pdf"}
        for method in ("GET", "DELETE"):
            assert running.api(method, "/search/feedback", params=of_skill, headers=other).status_code == 403
            assert running.api(method, "/search/feedback", headers=own).status_code == 400
        assert running.api("GET", "/search/feedback", params=of_skill, headers=own).json()["pagination"]["total"] == 2
        assert running.api("GET", "/search/feedback").json()["pagination"]["total"] == 2
        for headers in (own, other):
            example = {"example_id": stored(running, "pdf")[0]["example_id"]}
            for missing in ({}, example):
                refused = running.api("DELETE", "/search/feedback", params=missing, headers=headers)
                assert (refused.status_code, refused.json()["error"]["details"][0]["field"]) == (400, "skill_id")
        assert len(stored(running, "pdf")) == 2
        deleted = running.api("DELETE", "/search/feedback", params=of_skill, headers=own)
        assert deleted.json()["data"] == {"deleted": 2}


def test_authors_bring_examples_with_their_skills(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "skills", "origami", "A swan of paper.", examples='["wrap a gift", "fold a card"]')
    with RunningServer(tmp_path, "--embedding-provider", "none") as server:
        assert server.found("how do I wrap this gift?") == ["origami"]
        assert {choice["query"] for choice in stored(server, "origami")} == {"wrap a gift", "fold a card"}
        assert server.api("DELETE", "/search/feedback", params={"skill_id": "origami"}).status_code == 404
        write_skill(tmp_path / "skills", "origami", "A swan of paper.", examples='"fold a card"')
        server.wait_for(lambda: server.found("how do I wrap this gift?") == [])
        assert server.found("a folded card") == ["origami"]
        (folder / "SKILL.md").unlink()
        server.wait_for(lambda: server.found("a folded card") == [])


def test_a_published_skill_has_the_examples_of_its_author(tmp_path: Path) -> None:
    front = "name: origami\ndescription: A swan of paper.\nversion: 1.0.0\nmetadata:\n  examples: [wrap a gift]"
    text = f"---\n{front}\n---\n# Origami\n"
    with Registry(tmp_path, "--embedding-provider", "none") as server:
        server.finished(server.publish(plain_zip({"SKILL.md": text.encode()})))
        server.sign_in("user")
        assert server.found("how do I wrap this gift?") == ["acme/origami"]
        assert server.api("GET", "/skills/acme/origami").json()["data"]["metadata"] == {"examples": ["wrap a gift"]}
