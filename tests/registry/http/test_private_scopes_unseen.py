"""A private scope is nowhere: who is no member gets the answers of a registry that has no such scope."""

from functools import partial
from pathlib import Path

from registry.http.scope_door import is_of_service
from support.outsider import Answer, Caller, Hidden, answers, assert_equal, comparable, with_and_without
from support.publishing import Registry, skill_package
from support.waiting import wait_until

WORDS = "zorblax quintuple marmoset"
TEXT = f"# {WORDS}\n\nRead zorblaxian.md.\n"
SETTINGS = {
    "SKILL_REGISTRY_AUTH_ANONYMOUS_READ": "true",
    "SKILL_REGISTRY_SERVER_COUNT_USES": "false",  # its counts are written every five seconds, so they show the time
}
PUBLISHED = (("acme", "pdf-tools"), ("acme", "csv-cleanup"), ("other", "own-charts"))
BELOW = "/scopes/veiled"
HIDDEN = (
    ("veiled/zorblax-marmoset", "1.0.0"),  # words that nothing else has
    ("veiled/pdf-tools", "2.0.0"),  # the name of a published one
    ("veiled/own-chart5", "1.0.0"),  # one whose name looks like that of another scope
)


def hide(registry: Registry) -> list[Hidden]:
    """Make a scope private, and publish to it."""
    body = {"scope": "veiled", "owner": "una"}
    registry.http.post("/api/v1/private-scopes", json=body, headers=registry.caller("root", "admin")).raise_for_status()
    hidden, una = [], registry.caller("una", "user")
    for skill_id, version in HIDDEN:
        package = skill_package(skill_id.partition("/")[2], version, TEXT, files={"zorblaxian.md": TEXT.encode()})
        files = {"package": ("package.zip", package, "application/zip")}
        answer = registry.http.post("/scopes/veiled/api/registry/publish", files=files, headers=una)
        job_id = answer.json()["data"]["job_id"]
        path = f"/scopes/veiled/api/registry/publish/{job_id}/status"
        wait_until(partial(lambda path: registry.http.get(path, headers=una).json()["data"]["index_synced"], path))
        hidden.append(Hidden(skill_id, version, job_id, "zorblaxian.md", WORDS))
    body = {"query": WORDS}
    assert "veiled/zorblax" in registry.http.post("/scopes/veiled/api/v1/search", json=body, headers=una).text
    return hidden


def asked(registry: Registry, hidden: list[Hidden]) -> dict[str, Answer]:
    """Ask everything as outsiders, of the registry and below the path of the scope; then publish similar names."""
    user, manager = partial(registry.caller, "other/ute", "user"), partial(registry.caller, "other/eve")
    taken: dict[str, Answer] = {}
    for query in ("zorblax", "zorblaxian.md", "zorblxa", "marmost", "veiled/zorblax-marmoset", "own-chart5"):
        for mode in ("auto", "keyword"):
            body = {"query": query, "mode": mode, "limit": 100}
            answer = registry.http.post("/api/v1/search", json=body, headers=user())
            taken[f"search {query} {mode}"] = comparable(registry, answer)
    callers: dict[str, Caller] = {"nobody": dict, "user": user, "manager": manager}
    new, same_name, lookalike = hidden
    chosen = {"nobody": [new], "user": [same_name, lookalike], "manager": [new, same_name]}
    # What is the service's own is answered below every name, so it comes once.
    below = answers(registry, callers, {who: [new] for who in callers}, BELOW)
    taken |= {title: answer for title, answer in below.items() if not is_of_service(_path(title))}
    taken |= answers(registry, callers, chosen)
    for name in ("zorblax-marmoset", "zorblax-marmosets", "z0rblax-marmoset", "own-chart5"):
        job = registry.finished(registry.publish(skill_package(name), manager()))
        taken[f"publish {name}"] = Answer(0, (), repr((job["status"], job["warnings"], job["errors"])).encode())
    return taken


def _path(title: str) -> str:
    return title.split()[2].removeprefix(BELOW)


def test_outsiders_get_the_same_answers_with_and_without_a_private_scope(tmp_path: Path) -> None:
    with_it, without = with_and_without(tmp_path, SETTINGS, PUBLISHED, hide, asked)
    assert sum(answer.status == 200 for answer in with_it.values()) > 300
    below = [answer.status for title, answer in with_it.items() if f"{BELOW}/" in title]
    assert len(below) > 300
    assert set(below) <= {200, 401, 404, 405}
    assert below.count(200) == 2  # the status of the service at both of its paths, before a sign-in
    assert_equal(with_it, without)
