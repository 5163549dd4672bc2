"""The versions of a skill."""

from registry.conformance.answer import Answer
from registry.conformance.rows import Section
from registry.conformance.service import Service
from registry.conformance.shapes import DETAIL, FULL_VERSION, VERSION

VERSIONS = Section("Resources: versions of a skill")
_CODE = "/api/code/v1"


@VERSIONS.row("creating a version returns it with `changes`", profile="registry", level="write", role="manager")
def _create(service: Service) -> None:
    with service.created(_CODE) as body:
        answer = _add(service, body["id"], "1.1.0", description="Second", changes=["one", "two"])
        data = answer.object(FULL_VERSION, answer.status)
        answer.expect(data["changes"] == ["one", "two"], "the changes that were sent", data["changes"])


@VERSIONS.row("a new version is 201", profile="registry", level="write", role="manager", decided=True)
def _created_status(service: Service) -> None:
    with service.created(_CODE) as body:
        for prefix, version in ((_CODE, "1.1.0"), ("/v1", "1.2.0")):
            service.ask("POST", f"{prefix}/skills/{body['id']}/versions", json={"version": version}).has_status(201)


@VERSIONS.row(
    "the list is newest first by number, paged, and its items have no `changes`",
    profile="registry",
    level="write",
    role="manager",
)
def _list(service: Service) -> None:
    with service.created(_CODE) as body:
        for version in ("1.9.0", "1.10.0", "1.2.0"):
            _add(service, body["id"], version)
        answer = service.ask("GET", f"{_CODE}/skills/{body['id']}/versions?limit=3")
        items, pagination = answer.page()
        seen = [answer.fields(item, VERSION, "data[]", exactly=True)["version"] for item in items]
        answer.expect(seen == ["1.10.0", "1.9.0", "1.2.0"], "1.10.0, 1.9.0, 1.2.0", seen)
        answer.expect(pagination == {"total": 4, "limit": 3, "offset": 0}, "total 4, limit 3, offset 0", pagination)


@VERSIONS.row("one version is read by its number, at /v1 too", profile="registry", level="write", role="manager")
def _get(service: Service) -> None:
    with service.created(_CODE) as body:
        for prefix in (_CODE, "/v1"):
            answer = service.ask("GET", f"{prefix}/skills/{body['id']}/versions/1.0.0")
            data = answer.object(FULL_VERSION)
            seen = (data["skill_id"], data["version"])
            answer.expect(seen == (body["id"], "1.0.0"), f"version 1.0.0 of {body['id']}", seen)


@VERSIONS.row("an absent skill or version is SKILL_NOT_FOUND", profile="registry", level="write", role="manager")
def _absent(service: Service) -> None:
    with service.created(_CODE) as body:
        for path in (f"{body['id']}/versions/9.9.9", f"{service.new_id()}/versions/1.0.0"):
            for prefix in (_CODE, "/v1"):
                for method in ("GET", "DELETE"):
                    service.ask(method, f"{prefix}/skills/{path}").any_error("SKILL_NOT_FOUND")


@VERSIONS.row("a version is MAJOR.MINOR.PATCH", profile="registry", level="write", role="manager")
def _refused(service: Service) -> None:
    with service.created(_CODE) as body:
        for version in ("", "1", "1.0", "1.0.0.0", "x", "01.0.0", "1.0.0\n", "1.٢.3", "9" * 30 + ".0.0", None, 5):
            answer = service.ask("POST", f"{_CODE}/skills/{body['id']}/versions", json={"version": version})
            answer.expect(answer.faults() == ["version"], f"a fault of version {version!r}", answer.response.text)


@VERSIONS.row("a version that exists is CONFLICT", profile="registry", level="write", role="manager", decided=True)
def _conflict(service: Service) -> None:
    with service.created(_CODE) as body:
        _add(service, body["id"], "1.0.0", 409).any_error("CONFLICT")


@VERSIONS.row(
    "a higher version moves the skill's version, and deleting it moves it back",
    profile="registry",
    level="write",
    role="manager",
    decided=True,
)
def _moves(service: Service) -> None:
    with service.created(_CODE) as body:
        path = f"{_CODE}/skills/{body['id']}"
        _add(service, body["id"], "2.0.0")
        _add(service, body["id"], "1.5.0")
        _is_at(service.ask("GET", path), "2.0.0")
        service.ask("DELETE", f"{path}/versions/2.0.0").data()
        _is_at(service.ask("GET", path), "1.5.0")


@VERSIONS.row("deleting returns `skill_id`, `version` and `message`", profile="registry", level="write", role="manager")
def _delete(service: Service) -> None:
    with service.created(_CODE) as body:
        for prefix, version in ((_CODE, "1.1.0"), ("/v1", "1.2.0")):
            _add(service, body["id"], version)
            answer = service.ask("DELETE", f"{prefix}/skills/{body['id']}/versions/{version}")
            answer.object({"skill_id": "text", "version": "version", "message": "text"})


@VERSIONS.row("the last version cannot be deleted", profile="registry", level="write", role="manager", decided=True)
def _last(service: Service) -> None:
    with service.created(_CODE) as body:
        service.ask("DELETE", f"{_CODE}/skills/{body['id']}/versions/1.0.0").error(409, "CONFLICT")


def _add(service: Service, skill_id: str, version: str, *statuses: int, **fields: object) -> Answer:
    body = {"version": version, **fields}
    answer = service.ask("POST", f"{_CODE}/skills/{skill_id}/versions", json=body)
    return answer.has_status(*(statuses or (200, 201)))


def _is_at(answer: Answer, version: str) -> None:
    seen = answer.object(DETAIL)["version"]
    answer.expect(seen == version, f"version {version}", seen)
