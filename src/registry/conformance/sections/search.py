"""Search, resolve and reindex."""

from typing import Any

from registry.conformance.answer import Answer, expect
from registry.conformance.rows import Section
from registry.conformance.service import Service
from registry.conformance.shapes import CARD, HIT, RESULTS

SEARCH = Section("Search and reindexing")
_ODD = ('"', "C++", "it's", "a-b", "NEAR(", "col:x", "*", "AND", "a AND", "(", "\\", "'; drop table skills; --", "%",
        "🦉", "a\nb", "٣", "x" * 2000, "a " * 1000, "~", "^2", "[a TO b]", "/x/", "{{7*7}}")  # fmt: skip
_REINDEXED = {"reindexed": "integer", "count": "integer", "skipped": "integer", "removed": "integer",
              "failed": "integer", "errors": "array", "duration_ms": "number", "mode": "text"}  # fmt: skip


@SEARCH.row("POST /search takes `query` and `limit`", role="user")
def _search(service: Service) -> None:
    service.search(query="anything at all", limit=3).data()


@SEARCH.row("the answer says what was searched, how, and which skills were found", role="user", decided=True)
def _shape(service: Service) -> None:
    sample = service.sample()
    answer = service.search(query=sample, limit=5)
    data = answer.object(RESULTS)
    answer.expect(data["query"] == sample, f"query {sample}", data["query"])
    answer.expect(data["count"] == len(data["skills"]), "`count`, the number of skills", data["count"])
    for hit in _hits(answer):
        answer.fields(hit["skill"], CARD, "data.skills[].skill")


@SEARCH.row("scores are from 0 to 1, best first, with a relevance and what matched", role="user", decided=True)
def _scores(service: Service) -> None:
    answer = service.search(query=service.sample(), limit=100)
    hits = _hits(answer)
    scores = [hit["score"] for hit in hits]
    answer.expect(all(0 <= score <= 1 for score in scores), "scores from 0 to 1", scores[:5])
    answer.expect(scores == sorted(scores, reverse=True), "the best first", scores[:5])
    for hit in hits:
        answer.expect(hit["relevance"] in ("high", "medium", "low", "keyword"), "a known relevance", hit["relevance"])
        answer.expect(set(hit["matched_by"]) <= {"name", "keyword", "semantic"}, "known matches", hit["matched_by"])


@SEARCH.row("an exact id is first, whatever its case", role="user", decided=True)
def _exact(service: Service) -> None:
    sample = service.sample()
    for query in (sample, sample.upper(), sample.replace("-", " "), sample.replace("-", "_")):
        answer = service.search(query=query)
        first = [hit["skill"]["id"] for hit in _hits(answer)][:1]
        answer.expect(first == [sample], f"{sample} first for {query!r}", first)


@SEARCH.row("equal searches give equal results", role="user", decided=True)
def _equal(service: Service) -> None:
    first, second = (
        [hit["skill"]["id"] for hit in _hits(service.search(query="a skill that checks"))] for _ in range(2)
    )
    expect(first == second, "the same results twice", [first, second])


@SEARCH.row("`limit` is from 1; more than 100 counts as 100, and the answer says so", role="user", decided=True)
def _limits(service: Service) -> None:
    for limit, used in ((1, 1), (100, 100), (101, 100), (100_000, 100)):
        answer = service.search(query="skill", limit=limit)
        data = answer.object(RESULTS)
        answer.expect(data["limit"] == used, f"limit {used}", data["limit"])
        answer.expect(len(data["skills"]) <= used, f"at most {used} skills", len(data["skills"]))
    for limit in (0, -1):
        service.search(query="skill", limit=limit).faults()


@SEARCH.row("a query has 1 character or more, to the limit of the body", role="user", decided=True)
def _lengths(service: Service) -> None:
    for query in ("", " \n", None, 5):
        answer = service.search(query=query)
        answer.expect(answer.faults() == ["query"], f"a fault of query {str(query)[:20]!r}", answer.response.text)


@SEARCH.row("no query is a server error, whatever its characters mean elsewhere", role="user", decided=True)
def _odd(service: Service) -> None:
    for query in _ODD:
        service.search(query=query).data()


@SEARCH.row("`mode` keyword always runs, and semantic runs or is 503", role="user", decided=True)
def _modes(service: Service) -> None:
    for mode, ran in (("keyword", ("keyword",)), ("auto", ("keyword", "hybrid", "semantic"))):
        answer = service.search(query="a skill", mode=mode)
        seen = answer.object(RESULTS)["mode"]
        answer.expect(seen in ran, f"mode {' or '.join(ran)}", seen)
    answer = service.search(query="a skill", mode="semantic").has_status(200, 503)
    if answer.status == 503:
        answer.any_error("SERVICE_UNAVAILABLE")
    service.search(query="a skill", mode="best").faults()


@SEARCH.row("filters admit only what they name", role="user", decided=True)
def _filters(service: Service) -> None:
    answer = service.search(query="a skill", filters={"tags": ["no-such-tag-here"]})
    answer.expect(not _hits(answer), "no skills for an unknown tag", answer.response.text)
    sample = service.get(f"/skills/{service.sample()}").data()
    for filters in ({"enabled": sample["enabled"]}, {"installed": sample["installed"]}, {"tags": sample["tags"][:1]}):
        answer = service.search(query=sample["id"], filters=filters)
        skill_ids = [hit["skill"]["id"] for hit in _hits(answer)]
        answer.expect(sample["id"] in skill_ids, f"{sample['id']} for {filters}", skill_ids)


@SEARCH.row("GET /search is the same search", role="user", decided=True)
def _by_query(service: Service) -> None:
    sample = service.sample()
    by_get = service.ask("GET", f"/api/v1/search?q={sample}&limit=3&mode=keyword")
    by_post = service.search(query=sample, limit=3, mode="keyword")
    first, second = ([hit["skill"]["id"] for hit in _hits(answer)] for answer in (by_get, by_post))
    expect(first == second, "the results of POST /search", first)


@SEARCH.row("`content` adds the text of each skill", role="user", decided=True)
def _content(service: Service) -> None:
    answer = service.search(query=service.sample(), limit=1, content="full")
    for hit in _hits(answer):
        answer.fields(hit, {"content": "any text"}, "data.skills[]")


@SEARCH.row("POST /resolve returns skills for an agent's prompt", role="user", decided=True)
def _resolve(service: Service) -> None:
    sample = service.sample()
    answer = service.ask("POST", "/api/v1/resolve", role="user", json={"prompt": sample, "limit": 2})
    data = answer.object({"query": "text", "results": "array"})
    shape = {"skill_id": "text", "name": "text", "description": "any text", "score": "number"}
    skill_ids = [answer.fields(result, shape, "data.results[]")["skill_id"] for result in data["results"]]
    answer.expect(sample in skill_ids, f"{sample} among the results", skill_ids)


@SEARCH.row(
    "a new skill is found by the next search, and a changed and a removed one too",
    level="write",
    role="manager",
    decided=True,
)
def _at_once(service: Service) -> None:
    with service.created(description="Finds the quixotrope in a text.", content="# Text\n") as body:
        _is_found(service, "quixotrope", body["id"], wanted=True)
        change = {"description": "Finds the plimsolliad in a text."}
        service.ask("PUT", f"{service.api}/skills/{body['id']}", json=change).data()
        _is_found(service, "plimsolliad", body["id"], wanted=True)
        _is_found(service, "quixotrope", body["id"], wanted=False)
    _is_found(service, "plimsolliad", body["id"], wanted=False)


@SEARCH.row("POST /reindex reindexes all skills, POST /reindex/{id} one", level="write", role="manager")
def _reindex(service: Service) -> None:
    with service.created() as body:
        service.post("/reindex", {}).data()
        service.post(f"/reindex/{body['id']}", {}).data()
        service.post(f"/reindex/{service.new_id()}", {}).any_error("SKILL_NOT_FOUND")


@SEARCH.row("a reindex reports what it did, or is a job with progress", level="write", role="manager", decided=True)
def _reindex_shape(service: Service) -> None:
    service.post("/reindex", {}).object(_REINDEXED)
    answer = service.ask("POST", f"{service.api}/reindex?async=true", json={})
    job = answer.object({"job_id": "text"}, 202)["job_id"]
    service.ask("GET", f"{service.api}/reindex/{job}", role="manager").object({"done": "integer", "total": "integer"})
    service.ask("GET", f"{service.api}/reindex/{service.new_id()}", role="manager").error(404, "NOT_FOUND")


def _hits(answer: Answer) -> list[dict[str, Any]]:
    return [answer.fields(hit, HIT, "data.skills[]") for hit in answer.object(RESULTS)["skills"]]


def _is_found(service: Service, query: str, skill_id: str, *, wanted: bool) -> None:
    answer = service.search(query=query, mode="keyword")
    skill_ids = [hit["skill"]["id"] for hit in _hits(answer)]
    verb = "to be found" if wanted else "not to be found"
    answer.expect((skill_id in skill_ids) is wanted, f"{skill_id} {verb} for {query!r}", skill_ids)
