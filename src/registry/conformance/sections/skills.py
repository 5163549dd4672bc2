"""The life of a skill: create, read, change, enable, remove."""

from collections.abc import Iterator
from typing import Any

from registry.conformance.rows import Section
from registry.conformance.service import Service
from registry.conformance.shapes import CREATED, DETAIL

SKILLS = Section("Resources: skills")
_TEXTS = (
    "日本語のスキル説明です。長さ十分",
    "שלום עולם, זה תיאור",
    "emoji 🦉🧶 description",
    "Zoë’s — “quotes” & <b>tags</b>",
    "'; drop table skills; --",
)


@SKILLS.row("a skill in full has the fields of the specification", role="user")
def _detail(service: Service) -> None:
    sample = service.sample()
    for prefix in _prefixes(service):
        answer = service.ask("GET", f"{prefix}/skills/{sample}")
        data = answer.object(DETAIL)
        answer.expect(data["id"] == sample, f"id {sample}", data["id"])


@SKILLS.row("a skill in full has scope, source, digest, findings and latest_version too", role="user", decided=True)
def _more_detail(service: Service) -> None:
    shape = {"scope": "text or null", "source": "text or null", "installed": "boolean", "license": "anything",
             "digest": "anything", "execution_timeout": "integer or null", "memory_limit_mb": "integer or null",
             "metadata": "object", "latest_version": "version", "etag": "text"}  # fmt: skip
    service.get(f"/skills/{service.sample()}").object(shape)


@SKILLS.row("creating returns the skill, enabled unless the body says else", level="write", role="manager")
def _create(service: Service) -> None:
    for prefix in _prefixes(service):
        for fields, enabled in (({}, True), ({"enabled": False}, False)):
            body = service.skill(**fields)
            try:
                answer = service.ask("POST", f"{prefix}/skills", json=body).has_status(200, 201)
                data = answer.object(CREATED, answer.status)
                expected = {key: body[key] for key in ("id", "name", "description", "version")} | {"enabled": enabled}
                seen = {key: data[key] for key in expected}
                answer.expect(seen == expected, f"{expected}", seen)
            finally:
                service.remove(body["id"])


@SKILLS.row("creating is 201 with Location", level="write", role="manager", decided=True)
def _created_status(service: Service) -> None:
    for prefix in _prefixes(service):
        body = service.skill()
        try:
            answer = service.ask("POST", f"{prefix}/skills", json=body).has_status(201)
            location = answer.header("Location")
            answer.expect(location.endswith(f"/skills/{body['id']}"), "a Location that ends with the id", location)
        finally:
            service.remove(body["id"])


@SKILLS.row("an id that exists is CONFLICT", level="write", role="manager")
def _conflict(service: Service) -> None:
    with service.created() as body:
        for prefix in _prefixes(service):
            service.ask("POST", f"{prefix}/skills", json=body).error(409, "CONFLICT")


@SKILLS.row("what the service sets itself is ignored in a body", level="write", role="manager", decided=True)
def _own_fields(service: Service) -> None:
    sent: dict[str, Any] = {
        "created_at": "2001-01-01T00:00:00.000Z",
        "updated_at": "x",
        "role": "admin",
        "success": False,
    }
    with service.created(**sent) as body:
        answer = service.get(f"/skills/{body['id']}")
        created = answer.object(DETAIL)["created_at"]
        answer.expect(not created.startswith("2001"), "a creation time of the server", created)


@SKILLS.row("texts of any language come back as they were sent", level="write", role="manager")
def _texts(service: Service) -> None:
    for text in _TEXTS:
        with service.created(name=text, description=text, author=text) as body:
            answer = service.get(f"/skills/{body['id']}")
            data = answer.object(DETAIL)
            seen = [data["name"], data["description"], data["author"]]
            answer.expect(seen == [text] * 3, f"{text!r} as name, description and author", seen)


@SKILLS.row(
    "tags and capabilities come as arrays or comma-separated, and are answered as arrays", level="write", role="manager"
)
def _labels(service: Service) -> None:
    with service.created(tags=" pdf, forms,,pdf ", capabilities=["fill forms", "read pdf"]) as body:
        answer = service.get(f"/skills/{body['id']}")
        data = answer.object(DETAIL)
        seen = [data["tags"], data["capabilities"]]
        answer.expect(seen == [["pdf", "forms"], ["fill forms", "read pdf"]], "trimmed, without doubles", seen)


@SKILLS.row("an update changes what is sent and returns `id`, that and `updated_at`", level="write", role="manager")
def _update(service: Service) -> None:
    with service.created(author="before") as body:
        for prefix in _prefixes(service, twin=False):
            path = f"{prefix}/skills/{body['id']}"
            before = service.ask("GET", path).object(DETAIL)
            answer = service.ask("PUT", path, json={"author": f"at {prefix}"})
            changed = answer.object({"id": "text", "author": "text", "updated_at": "timestamp"})
            answer.expect(changed["author"] == f"at {prefix}", "the new author", changed)
            after = service.ask("GET", path).object(DETAIL)
            same = [name for name in DETAIL if name not in ("author", "updated_at") and before[name] != after[name]]
            answer.expect(not same, "all other fields unchanged", same)


@SKILLS.row("an update of an absent skill is SKILL_NOT_FOUND", level="write", role="manager")
def _update_absent(service: Service) -> None:
    answer = service.ask("PUT", f"{service.api}/skills/{service.new_id()}", json={"author": "nobody"})
    answer.any_error("SKILL_NOT_FOUND")


@SKILLS.row("an update with another id, or without a field, is 400", level="write", role="manager", decided=True)
def _update_refused(service: Service) -> None:
    with service.created() as body:
        for sent in ({}, {"id": "another-id"}):
            service.ask("PUT", f"{service.api}/skills/{body['id']}", json=sent).error(400, "VALIDATION_ERROR")


@SKILLS.row("`enabled` goes both ways, and `updated_at` changes with it", level="write", role="manager")
def _enabled(service: Service) -> None:
    with service.created() as body:
        path = f"{service.api}/skills/{body['id']}"
        for value in (False, True):
            before = service.ask("GET", path).object(DETAIL)
            service.ask("PUT", path, json={"enabled": value}).data()
            answer = service.ask("GET", path)
            after = answer.object(DETAIL)
            answer.expect(after["enabled"] is value, f"enabled {value}", after["enabled"])
            answer.expect(after["updated_at"] > before["updated_at"], "a later updated_at", after["updated_at"])


@SKILLS.row("a disabled skill is not searched and stays readable", level="write", role="manager", decided=True)
def _disabled(service: Service) -> None:
    with service.created(name="Zylophonetics", enabled=False) as body:
        service.get(f"/skills/{body['id']}").data()
        answer = service.search(query="Zylophonetics")
        skill_ids = [hit["skill"]["id"] for hit in answer.data()["skills"]]
        answer.expect(body["id"] not in skill_ids, f"{body['id']} not to be found", skill_ids)


@SKILLS.row("removing returns `id` and `message`, and the skill is gone", level="write", role="manager")
def _delete(service: Service) -> None:
    for prefix in _prefixes(service):
        with service.created() as body:
            path = f"{prefix}/skills/{body['id']}"
            service.ask("DELETE", path).object({"id": "text", "message": "text"})
            service.ask("GET", path).any_error("SKILL_NOT_FOUND")
            service.ask("DELETE", path).any_error("SKILL_NOT_FOUND")


@SKILLS.row("the SKILL.md of a skill is read raw or as sanitised HTML", level="write", role="manager", decided=True)
def _content(service: Service) -> None:
    text = "# Title\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![p](https://conformance.example/p.png)\n"
    shape = {"path": "text or null", "format": "text", "content": "any text"}
    with service.created(content=text) as body:
        path = f"/api/v1/skills/{body['id']}/content"
        raw = service.ask("GET", path)
        raw.expect("# Title" in raw.object(shape)["content"], "the text that was sent", raw.response.text)
        html = service.ask("GET", f"{path}?format=html")
        content = html.object(shape)["content"]
        html.expect("<h1" in content, "<h1", content)
        bad = [word for word in ("<script", "javascript:", "conformance.example") if word in content]
        html.expect(not bad, "no script, no javascript: and no remote image", bad)


def _prefixes(service: Service, *, twin: bool = True) -> Iterator[str]:
    yield service.api
    if service.profile == "registry":
        yield from ("/api/code/v1", *(("/v1",) if twin else ()))
