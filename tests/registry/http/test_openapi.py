"""The OpenAPI document of both profiles: what each operation, parameter and property must say, and that it is true."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from litestar import Litestar

from registry.http.openapi.document import completed, texts
from registry.server.app import PROTOCOLS
from support.publishing import Registry, skill_package
from support.routes import REGISTRY_MODE, application
from support.servers import RunningServer, bearer, write_skill

PROFILES = ["local", "registry", REGISTRY_MODE]
METHODS = {"get", "post", "put", "delete", "patch"}
Document = Mapping[str, Any]


def document_of(app: Litestar) -> dict[str, Any]:
    return completed(app, app.openapi_schema.to_schema())


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for profile in PROFILES:
        with application(tmp_path_factory.mktemp("documents"), profile) as app:
            found[profile] = document_of(app)
    return found


@pytest.fixture(params=PROFILES)
def document(request: pytest.FixtureRequest, documents: dict[str, Document]) -> Document:
    return documents[request.param]


def operations(document: Document) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, item in document["paths"].items():
        for method in METHODS & item.keys():
            yield f"{method.upper()} {path}", item[method]


def contents(operation: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the media type and content of the body and of each success."""
    yield from operation.get("requestBody", {}).get("content", {}).items()
    for status, answer in operation["responses"].items():
        if status < "400":
            yield from answer.get("content", {}).items()


def faults(document: Document, schema: Mapping[str, Any], value: Any) -> list[str]:
    """Return what a value breaks of a schema, without the schema in each line."""
    found = Draft202012Validator({**schema, "components": document["components"]}).iter_errors(value)
    return [f"{'/'.join(map(str, fault.path))}: {fault.message}" for fault in found]


def test_every_operation_has_a_plain_summary_and_a_short_id_of_its_own(document: Document) -> None:
    listed = list(operations(document))
    ids = [operation["operationId"] for _, operation in listed]
    assert len(set(ids)) == len(ids) > 100
    for title, operation in listed:
        assert re.fullmatch(r"[a-z][a-z0-9_]{2,39}", operation["operationId"]), title
        assert re.fullmatch(r"[A-Z].{8,140}[^.]", operation["summary"]), title
        assert operation["description"], title


def test_an_operation_has_the_same_id_in_every_profile(documents: dict[str, Document]) -> None:
    ids: dict[str, set[str]] = {}
    for document in documents.values():
        for title, operation in operations(document):
            ids.setdefault(title, set()).add(operation["operationId"])
    assert all(len(names) == 1 for names in ids.values())


def test_no_two_types_share_a_name(tmp_path: Path) -> None:
    with application(tmp_path, REGISTRY_MODE) as app:
        given = app.openapi_schema.to_schema()["components"]["schemas"]
        assert len(document_of(app)["components"]["schemas"]) == len(given)


def test_a_schema_has_the_same_name_and_properties_in_every_profile(documents: dict[str, Document]) -> None:
    local, registry = (documents[name]["components"]["schemas"] for name in ("local", REGISTRY_MODE))
    for name in local.keys() & registry.keys():
        assert local[name] == registry[name], name
    assert all(re.fullmatch(r"[A-Z][A-Za-z0-9]+", name) for name in registry)


def test_every_parameter_and_property_has_a_description(document: Document) -> None:
    for title, operation in operations(document):
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (title, parameter["name"])
    for name, schema in document["components"]["schemas"].items():
        assert schema["description"], name
        for key, value in schema.get("properties", {}).items():
            assert value.get("description"), f"{name}.{key}: describe it in src/registry/http/openapi/texts.toml"


def test_a_description_says_more_than_the_name(document: Document) -> None:
    for name, schema in document["components"]["schemas"].items():
        for key, value in schema.get("properties", {}).items():
            words = set(re.findall(r"[a-z]+", value["description"].lower())) - {"the", "a", "an", "of", "is", "its"}
            assert words - set(re.findall(r"[a-z]+", key.lower())), f"{name}.{key}"


def test_no_text_of_the_document_is_left_over(documents: dict[str, Document]) -> None:
    schemas: dict[str, Any] = {}
    names, with_body, parameters, tags = set(), set(), set(), set()
    for document in documents.values():
        schemas |= document["components"]["schemas"]
        tags |= {tag["name"] for tag in document["tags"]}
        for _, operation in operations(document):
            names.add(operation["operationId"])
            if "requestBody" in operation:
                with_body.add(operation["operationId"])
            parameters |= {parameter["name"] for parameter in operation.get("parameters", ())}
    properties = {key for schema in schemas.values() for key in schema.get("properties", {})}
    own = {f"{name}.{key}" for name, schema in schemas.items() for key in schema.get("properties", {})}
    known = texts()
    assert known["operations"].keys() <= names
    assert {name for name, given in known["operations"].items() if "body" in given} <= with_body
    assert known["parameters"].keys() <= parameters
    assert known["tags"].keys() == tags
    assert {f"{name}.{key}" for name, special in known["schemas"].items() for key in special} <= own
    general = {key for name, key in (one.split(".", 1) for one in own) if key not in known["schemas"].get(name, {})}
    assert known["properties"].keys() == general
    assert known["examples"].keys() <= properties | own
    assert set(known["left_out"]["properties"]) <= own


def test_every_operation_has_an_example_and_each_is_valid(document: Document) -> None:
    for title, operation in operations(document):
        parameters = operation.get("parameters", ())
        examples = [parameter for parameter in parameters if "example" in parameter]
        for parameter in examples:
            assert faults(document, parameter["schema"], parameter["example"]) == [], (title, parameter["name"])
        for media_type, content in contents(operation):
            if "example" in content:
                examples.append(content)
                if "json" in media_type and "ndjson" not in media_type:
                    assert faults(document, content["schema"], content["example"]) == [], title
        assert examples or not list(contents(operation)) or "binary" in str(operation), title


def test_an_answer_in_json_has_a_schema_and_an_example(document: Document) -> None:
    for title, operation in operations(document):
        for status, answer in operation["responses"].items():
            content = answer.get("content", {}).get("application/json")
            if content is not None and status < "400" and title != "POST /mcp":
                assert content["schema"], (title, status)
                assert content["example"], (title, status)


def test_the_card_of_a_hit_is_typed(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["FoundSkill"]["properties"]["skill"]["$ref"] == "#/components/schemas/Card"
    assert {"id", "name", "description", "version", "installed", "findings"} <= schemas["Card"]["properties"].keys()


def test_errors_are_only_those_that_can_happen(document: Document) -> None:
    for title, operation in operations(document):
        errors = {int(status) for status in operation["responses"] if status >= "400"}
        parameters = operation.get("parameters", ())
        assert 500 in errors, title
        assert 405 not in errors, title
        if not parameters:
            assert 414 not in errors, title
        if "requestBody" not in operation:
            assert not errors & {413, 415} or "/uploads/" in title, title
        if title.startswith("GET"):
            assert not errors & {412, 507}, title
        if not operation["security"]:
            assert 401 not in errors, title
    statuses = {title: {int(status) for status in one["responses"]} for title, one in operations(document)}
    assert statuses["GET /healthz"] == {200, 500}
    assert {400, 403, 404, 409, 412, 413, 414, 415, 500, 503, 507} <= statuses["PUT /api/v1/skills/{id}"]


def test_the_local_profile_has_no_security(documents: dict[str, Document]) -> None:
    assert "securitySchemes" not in documents["local"]["components"]
    assert all(operation["security"] == [] for _, operation in operations(documents["local"]))


def test_every_operation_of_the_registry_names_its_credentials(documents: dict[str, Document]) -> None:
    document = documents[REGISTRY_MODE]
    schemes = document["components"]["securitySchemes"]
    assert schemes.keys() == {"bearer", "api_key", "basic"}
    open_to_all = {title for title, operation in operations(document) if operation["security"] == []}
    assert open_to_all == {
        "GET /healthz", "GET /readyz", "GET /api/status", "GET /api/v1/status",
        "GET /auth/oidc/audience",
        "GET /.well-known/skill-registry.json", "GET /.well-known/clawhub.json", "GET /.well-known/ai-catalog.json",
        "GET /mirrors/{name}/.well-known/skill-registry.json",
    }  # fmt: skip
    for title, operation in operations(document):
        names = {name for way in operation["security"] for name in way}
        assert names <= schemes.keys(), title
        assert ("basic" in names) == title.split(" ")[1].startswith(("/git/", "/feed.atom")), title


def test_anonymous_reading_is_in_the_document(tmp_path: Path) -> None:
    with Registry(tmp_path, "--auth-anonymous-read") as server:
        paths = server.http.get("/schema/openapi.json").json()["paths"]
    assert {} in paths["/api/v1/search"]["post"]["security"]
    assert {} not in paths["/api/v1/skills"]["post"]["security"]


def test_the_document_is_built_when_it_is_asked_for_and_served_as_it_is_here(tmp_path: Path) -> None:
    with application(tmp_path / "here", "local") as app:
        here = document_of(app)
    with RunningServer(tmp_path) as server:
        served = server.http.get("/schema/openapi.json")
    assert served.headers["content-type"].startswith("application/vnd.oai.openapi+json")
    assert served.json() == here


def answer_fits(document: Document, path: str, method: str, answer: Any) -> None:
    content = document["paths"][path][method]["responses"][str(answer.status_code)]["content"]
    assert faults(document, content["application/json"]["schema"], answer.json()) == [], path


def test_real_answers_are_as_the_document_says(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms and read their fields.", tags="pdf, forms")
    with RunningServer(tmp_path) as server:
        document = server.http.get("/schema/openapi.json").json()
        body = {"query": "pdf", "explain": True, "highlight": True, "facets": True, "content": "full"}
        found = server.api("POST", "/search", json=body)
        assert found.json()["data"]["skills"][0]["skill"]["id"] == "pdf-forms"
        answer_fits(document, "/api/v1/search", "post", found)
        for path in ("/skills", "/skills/pdf-forms", "/skills/pdf-forms/content", "/status", "/registry/skills"):
            template = path.replace("pdf-forms", "{id}")
            answer_fits(document, f"/api/v1{template}", "get", server.api("GET", path))
        answer_fits(document, "/api/v1/skills/{id}", "get", server.api("GET", "/skills/absent"))
        broken = server.api("GET", "/search?q=forms").json()
        broken["data"]["skills"][0]["skill"]["version"] = 1
        schema = document["paths"]["/api/v1/search"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert len(faults(document, schema, broken)) == 1


def test_real_answers_of_the_registry_are_as_the_document_says(tmp_path: Path) -> None:
    with Registry(tmp_path) as server:
        job = server.finished(server.publish(skill_package("pdf-forms")))
        assert job["status"] == "accepted"
        admin = bearer(server.token("admin"))
        document = server.http.get("/schema/openapi.json").json()
        for path in (
            "/api/v1/skills/acme/pdf-forms", "/api/v1/skills/acme/pdf-forms/versions", "/api/code/v1/skills",
            "/api/registry/index/skills", "/api/v1/auth/keys", "/api/v1/audit", "/api/v1/log/entries",
        ):  # fmt: skip
            template = path.replace("acme/pdf-forms", "{skill_scope}/{skill_name}")
            answer_fits(document, template, "get", server.http.get(path, headers=admin))


def test_every_protocol_is_in_the_document(documents: dict[str, Document]) -> None:
    used = {tag for _, operation in operations(documents["local"]) for tag in operation["tags"]}
    assert len(used & texts()["tags"].keys()) == len(used)
    assert len(PROTOCOLS) <= len(used)
