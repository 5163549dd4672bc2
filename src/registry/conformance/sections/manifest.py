"""The manifest and the project."""

from registry.conformance.rows import Section
from registry.conformance.service import Service
from registry.conformance.shapes import MANIFEST_ENTRY

MANIFEST = Section("Endpoints: manifest and project")
_PATH = "/manifest/skills"


@MANIFEST.row("GET /manifest/skills lists the skills of the manifest", role="user", registry_mode=True)
def _list(service: Service) -> None:
    answer = service.get(_PATH)
    for entry in answer.items():
        answer.fields(entry, {"id": "text"}, "data[]")


@MANIFEST.row("GET /api/v1/project is the view of the project", profile="local")
def _project(service: Service) -> None:
    answer = service.ask("GET", "/api/v1/project")
    data = answer.object({"metadata": "anything", "skills_directory": "text or null", "skills": "array"})
    shape = {"id": "text", "type": "text or null", "location": "text or null", "groups": "texts",
             "editable": "boolean", "installed": "boolean", "installed_version": "text or null"}  # fmt: skip
    for entry in data["skills"]:
        answer.fields(entry, shape, "data.skills[]")


@MANIFEST.row("POST /api/v1/skills/upgrade says of each skill what became of it", profile="local", level="write")
def _upgrade(service: Service) -> None:
    answer = service.ask("POST", "/api/v1/skills/upgrade", json={"check": True})
    for result in answer.object({"upgraded": "integer", "results": "array"})["results"]:
        answer.fields(result, {"id": "text", "outcome": "text"}, "data.results[]")


@MANIFEST.row("an entry is added with POST, once", role="manager", level="write", registry_mode=True)
def _add(service: Service) -> None:
    name = service.new_id()
    try:
        answer = service.post(_PATH, {"skill_id": name, "version": "1.0.0"}).has_status(200, 201)
        data = answer.object(MANIFEST_ENTRY, answer.status)
        answer.expect(data["id"] == name, f"id {name}", data["id"])
        listed = service.get(_PATH)
        names = [entry["id"] for entry in listed.items()]
        listed.expect(name in names, f"{name} in the list", names)
        service.post(_PATH, {"skill_id": name}).error(409, "CONFLICT")
    finally:
        service.ask("DELETE", f"{service.api}{_PATH}/{name}")


@MANIFEST.row(
    "an entry is changed with PUT and removed with DELETE",
    profile="registry",
    role="manager",
    level="write",
    registry_mode=True,
)
def _change(service: Service) -> None:
    _changes(service)


@MANIFEST.row("an entry is changed with PUT and removed with DELETE", profile="local", level="write", decided=True)
def _change_local(service: Service) -> None:
    _changes(service)


@MANIFEST.row(
    "an absent entry is 404, and a bad one 400", role="manager", level="write", registry_mode=True, decided=True
)
def _refused(service: Service) -> None:
    path = f"{service.api}{_PATH}/{service.new_id()}"
    service.ask("PUT", path, json={"version": "1.0.0"}).error(404, "NOT_FOUND", "SKILL_NOT_FOUND")
    service.ask("DELETE", path).error(404, "NOT_FOUND", "SKILL_NOT_FOUND")
    for body in ({}, {"skill_id": ""}, {"skill_id": 'a"]\n[x]'}, {"skill_id": service.new_id(), "version": "one"}):
        service.post(_PATH, body).faults()


@MANIFEST.row(
    "POST /manifest/generate-mdc returns the rule file",
    role="manager",
    registry_mode=True,
    level="write",
    profile="registry",
)
def _mdc(service: Service) -> None:
    _rule_file(service)


@MANIFEST.row("POST /manifest/generate-mdc returns the rule file", profile="local", level="write", decided=True)
def _mdc_local(service: Service) -> None:
    _rule_file(service)


def _changes(service: Service) -> None:
    name = service.new_id()
    path = f"{service.api}{_PATH}/{name}"
    service.post(_PATH, {"skill_id": name, "version": "1.0.0"}).has_status(200, 201)
    try:
        service.ask("PUT", path, json={"version": "2.0.0", "groups": ["dev"]}).data()
        listed = service.get(_PATH)
        seen = [(entry["version"], entry["groups"]) for entry in listed.items() if entry["id"] == name]
        listed.expect(seen == [("2.0.0", ["dev"])], "version 2.0.0 in the group dev", seen)
    finally:
        service.ask("DELETE", path).object({"id": "text", "message": "text"})
    service.ask("DELETE", path).error(404)


def _rule_file(service: Service) -> None:
    answer = service.post("/manifest/generate-mdc", {"write": False})
    data = answer.object({"path": "text", "skills_count": "integer", "content": "text"})
    answer.expect(data["content"].startswith("---\n"), "a text that begins with front matter", data["content"])
