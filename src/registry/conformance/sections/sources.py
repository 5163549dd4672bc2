"""The sources of skills, and what they advertise."""

from registry.conformance.rows import Section
from registry.conformance.service import Service
from registry.conformance.shapes import CARD, SOURCE

SOURCES = Section("Endpoints: registry sources")
_ALL = {"sources": "array", "total_skills": "integer", "total_sources": "integer", "errors": "array"}
_ONE = {"source_name": "text", "skills": "array", "count": "integer"}


@SOURCES.row(
    "GET /registry/sources, /registry/skills and /registry/sources/{name}/skills are served",
    role="user",
    registry_mode=True,
)
def _served(service: Service) -> None:
    service.get("/registry/sources").items()
    service.get("/registry/skills").data()
    for name in _names(service):
        service.get(f"/registry/sources/{name}/skills").data()


@SOURCES.row(
    "a source has a name, a type, a place, a priority, a number of skills and an error",
    role="user",
    registry_mode=True,
    decided=True,
)
def _source(service: Service) -> None:
    answer = service.get("/registry/sources")
    for source in answer.items():
        answer.fields(source, SOURCE, "data[]")


@SOURCES.row(
    "the skills of all sources, and of one, are cards with counts", role="user", registry_mode=True, decided=True
)
def _skills(service: Service) -> None:
    answer = service.get("/registry/skills")
    data = answer.object(_ALL)
    answer.expect(data["total_sources"] == len(data["sources"]), "`total_sources`", data["total_sources"])
    for source in data["sources"]:
        answer.fields(source, _ONE, "data.sources[]")
    for name in _names(service):
        answer = service.get(f"/registry/sources/{name}/skills")
        data = answer.object(_ONE)
        answer.expect(data["count"] == len(data["skills"]), "`count`, the number of skills", data["count"])
        for card in data["skills"][:20]:
            answer.fields(card, CARD, "data.skills[]")


@SOURCES.row("an unknown source is 404 NOT_FOUND, whatever its name", role="user", registry_mode=True, decided=True)
def _unknown(service: Service) -> None:
    for name in (service.new_id(), "..%2F..%2Fetc", "a" * 4000, "%00", "%F0%9F%A6%89"):
        for rest in ("skills", "marketplace"):
            service.get(f"/registry/sources/{name}/{rest}").error(404, "NOT_FOUND")


@SOURCES.row(
    "GET /registry/sources/{name}/marketplace is a document with a version and skills",
    profile="registry",
    role="user",
    registry_mode=True,
)
def _marketplace(service: Service) -> None:
    for name in _names(service):
        service.get(f"/registry/sources/{name}/marketplace").object({"version": "text", "skills": "array"})


@SOURCES.row(
    "a marketplace document in the form of plugins has no envelope", role="user", registry_mode=True, decided=True
)
def _plugins(service: Service) -> None:
    for name in _names(service):
        answer = service.get(f"/registry/sources/{name}/marketplace?format=claude").has_status(200)
        answer.fields(answer.json(), {"name": "text", "plugins": "array"}, "body")


@SOURCES.row(
    "POST /registry/refresh answers with the skills of all sources",
    profile="registry",
    role="manager",
    registry_mode=True,
    level="write",
)
def _refresh(service: Service) -> None:
    service.ask("POST", f"{service.api}/registry/refresh", json={}).object(_ALL)


@SOURCES.row("GET /index/{id} is NDJSON, one line a version, and 404 for what is absent", role="user")
def _index(service: Service) -> None:
    service.ask("GET", f"/index/{service.new_id()}").has_status(404)
    answer = service.ask("GET", f"/index/{service.sample()}")
    if answer.status == 200:
        kind = answer.header("Content-Type")
        answer.expect(kind.startswith("application/x-ndjson"), "content type application/x-ndjson", kind)


def _names(service: Service) -> list[str]:
    answer = service.get("/registry/sources")
    return [answer.fields(source, {"name": "text"}, "data[]")["name"] for source in answer.items()]
