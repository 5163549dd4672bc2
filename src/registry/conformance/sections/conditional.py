"""ETag, If-None-Match and If-Match."""

from registry.conformance.rows import Section
from registry.conformance.service import Service

CONDITIONAL = Section("Conditional requests")
_ODD = ("*", "W/", '"', '"a", "b"', "a" * 2000, 'W/"x"')


@CONDITIONAL.row(
    "a skill, a list and an index file have an ETag, and 304 while nothing changes", role="user", decided=True
)
def _not_modified(service: Service) -> None:
    sample = service.sample()
    for path in (f"{service.api}/skills/{sample}", f"{service.api}/skills", f"/index/{sample}"):
        answer = service.ask("GET", path)
        if answer.status == 404 and path.startswith("/index/"):
            continue  # a record has no package, and so no line of the index
        tag = answer.has_status(200).header("ETag")
        again = service.ask("GET", path, headers={"If-None-Match": tag}).has_status(304)
        again.expect(not again.response.content, "no body", again.response.text)
        service.ask("GET", path, headers={"If-None-Match": '"another"'}).has_status(200)


@CONDITIONAL.row("odd If-None-Match headers are never a server error", role="user", decided=True)
def _odd_tags(service: Service) -> None:
    path = f"{service.api}/skills/{service.sample()}"
    for tag in _ODD:
        service.ask("GET", path, headers={"If-None-Match": tag}).has_status(200, 304, 400)


@CONDITIONAL.row(
    "a change or a removal with a stale If-Match is 412 and changes nothing",
    level="write",
    role="manager",
    decided=True,
)
def _stale(service: Service) -> None:
    with service.created() as body:
        path = f"/skills/{body['id']}"
        tag = service.get(path).header("ETag")
        service.ask("PUT", f"{service.api}{path}", json={"author": "one"}, headers={"If-Match": tag}).data()
        for method, sent in (("PUT", {"author": "two"}), ("DELETE", None)):
            answer = service.ask(method, f"{service.api}{path}", headers={"If-Match": tag}, json=sent)
            answer.error(412, "PRECONDITION_FAILED")
        seen = service.get(path).data()["author"]
        answer.expect(seen == "one", "an unchanged skill after", seen)


@CONDITIONAL.row(
    "If-Match: * changes what exists, and odd ones are never a server error",
    level="write",
    role="manager",
    decided=True,
)
def _odd_matches(service: Service) -> None:
    with service.created() as body:
        path = f"{service.api}/skills/{body['id']}"
        service.ask("PUT", path, json={"author": "one"}, headers={"If-Match": "*"}).data()
        for tag in _ODD:
            service.ask("PUT", path, json={"author": "two"}, headers={"If-Match": tag}).survives()
