"""The conformance command: this service keeps every row in every mode, and each kind of fault is named."""

import gzip
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from registry.conformance.rows import Result
from registry.conformance.running import rows_of, run
from registry.conformance.service import Service
from support.device_issuer import DeviceIssuer
from support.git_server import _BLANK
from support.publishing import Registry, skill_package
from support.servers import COMMAND, RunningServer
from support.spoiling_proxy import Passed, SpoilingProxy
from test_spec_routes import LOCAL_PROFILE, REGISTRY_PROFILE
from test_spec_routes import rows as specification_rows

NOT_IN_REGISTRY_MODE = "the service is not in registry mode"


def check(url: str, *args: str) -> tuple[int, Any]:
    """Run the command for a program; return its exit code and what it has printed."""
    done = subprocess.run(
        [COMMAND, "conformance", url, "--json", *args],
        env=_BLANK,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode < 2, done.stderr
    return done.returncode, json.loads(done.stdout)


def failures(report: Any) -> list[Any]:
    return [row for row in report["rows"] if row["outcome"] == "fail"]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("local")) as running:
        yield running


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with DeviceIssuer() as issuer:
        people = {
            "SKILL_REGISTRY_AUTH_OIDC_ISSUER": issuer.url,
            "SKILL_REGISTRY_AUTH_OIDC_CLIENT_ID": "skills",
            "SKILL_REGISTRY_AUTH_OIDC_GROUPS": "acme-team=manager@acme",
            "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": issuer.server.host,
        }
        failures = ("--limits-token-failures", "1000")  # each run makes a few
        with Registry(tmp_path_factory.mktemp("registry"), *failures, env=people) as running:
            yield running


def kept_by(server: RunningServer, profile: Literal["local", "registry"], table: str) -> int:
    """Run all rows in this process; return their number. Each must pass, and each route of the table be asked."""
    asked: list[httpx.Request] = []
    hooks = {"request": [asked.append]}
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False, event_hooks=hooks) as http:
        service = Service(http, {}, frozenset({"read", "write", "publish"}), profile)
        results = list(run(service, rows_of(profile)))
    assert [one for one in results if one.outcome != "pass"] == []
    assert service.leftovers == []
    seen = {f"{one.method} {one.url.raw_path.decode().partition('?')[0]}" for one in asked}
    patterns = {one: re.escape(one).replace(r"\{\}", ".+") for one in specification_rows(table)}
    assert [one for one, pattern in patterns.items() if not any(re.fullmatch(pattern, it) for it in seen)] == []
    return len(results)


def test_the_local_profile_keeps_every_row_and_is_left_as_it_was(local: RunningServer) -> None:
    assert kept_by(local, "local", LOCAL_PROFILE) > 100
    assert list(local.skills_dir.iterdir()) == []
    assert local.api("GET", "/manifest/skills").json()["data"] == []


def test_registry_mode_keeps_every_row_and_only_packages_stay(registry: Registry) -> None:
    assert kept_by(registry, "registry", REGISTRY_PROFILE) > 200
    skills = registry.get("/api/skills?limit=100").json()["data"]
    assert all(skill["id"].startswith("conformance/conformance-") for skill in skills)
    assert registry.get("/api/manifest/skills").json()["data"] == []


def test_the_registry_profile_keeps_every_row_that_it_has(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry", "--limits-writes-per-minute", "100000") as running:
        code, report = check(running.url, "--write")
    assert (failures(report), report["left"], code) == ([], [], 0)
    reasons = {row["reason"].partition(":")[0] for row in report["rows"] if row["outcome"] == "skip"}
    # It publishes nothing.
    assert reasons == {NOT_IN_REGISTRY_MODE, "changes the service", "sign-in at an issuer is off here"}


def log_of(registry: Registry) -> str:
    """Return the state of the log, without its signatures, of which one is of the time."""
    note = registry.api("GET", "/log/checkpoint", headers=registry.caller(role="admin")).text
    return note.partition("\n\n")[0]


def test_without_leave_nothing_is_changed(registry: Registry) -> None:
    before = log_of(registry), skills_of(registry)
    code, report = check(registry.url)
    assert (failures(report), code) == ([], 0)
    assert before == (log_of(registry), skills_of(registry))
    skipped = {row["reason"] for row in report["rows"] if row["outcome"] == "skip"}
    changes = {"changes the service: allow it with --write", "changes the service: allow it with --publish"}
    assert changes <= skipped <= {*changes, "the catalog is empty; with --write a skill is created"}


def skills_of(registry: Registry) -> Any:
    return registry.get("/api/skills?limit=100").json()


def test_a_closed_registry_is_checked_with_a_key_and_what_the_key_may_not_is_skipped(tmp_path: Path) -> None:
    with Registry(tmp_path, "--auth-issuer", "closed") as running:
        key = new_key(running, "manager")
        code, report = check(running.url, "--write", "--token", key)
        _, without = check(running.url)
    assert (failures(report), code) == ([], 0)
    skipped = {row["row"]: row["reason"] for row in report["rows"] if row["outcome"] == "skip"}
    assert "allow it with --publish" in skipped["a revoked version is refused for ever"]
    assert report["passed"] > 2 * without["passed"] > 100
    assert any("needs a credential of the role user" in row.get("reason", "") for row in without["rows"])


def new_key(running: Registry, role: str) -> str:
    command = [
        COMMAND,
        "keys",
        "create",
        "--role",
        role,
        "--scope",
        "acme",
        "--data-dir",
        str(running.data_dir),
        "--json",
    ]
    environment = running.environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return str(json.loads(done.stdout)["key"])


def changed(answer: Passed, change: Callable[[Any], Any]) -> Passed:
    """Return an answer whose JSON is changed."""
    if not answer.body:
        return answer
    is_packed = answer.headers.get("Content-Encoding") == "gzip"
    value = json.loads(gzip.decompress(answer.body) if is_packed else answer.body)
    plain = without("Content-Encoding")(answer)
    return plain._replace(body=json.dumps(change(value) or value).encode())


def on(prefix: str, spoil: Callable[[Passed], Passed], *statuses: int) -> Callable[[Passed], Passed]:
    """Spoil answers with one of these statuses at paths that begin so."""
    return lambda answer: spoil(answer) if answer.path.startswith(prefix) and answer.status in statuses else answer


def without(name: str) -> Callable[[Passed], Passed]:
    return lambda answer: answer._replace(headers={key: answer.headers[key] for key in answer.headers if key != name})


def with_header(name: str, value: str) -> Callable[[Passed], Passed]:
    return lambda answer: answer._replace(headers={**answer.headers, name: value})


FAULTS: dict[str, tuple[Callable[[Passed], Passed], str, str, str, str]] = {
    "a wrong status": (
        on("/healthz", lambda answer: answer._replace(status=204, body=b""), 200),
        "probes", "GET /healthz is 200", "status 200", "status 204",
    ),
    "a server error": (
        on("/api/v1/skills/%00", lambda answer: answer._replace(status=500), 400, 404),
        "hostile", "no id in a path is a server error", "no server error", "status 500",
    ),
    "a closed connection": (
        on("/readyz", lambda answer: answer._replace(status=0), 200),
        "probes", "GET /readyz is 200", "an answer to GET /readyz", "none:",
    ),
    "a missing field": (
        on("/healthz", lambda answer: changed(answer, lambda body: {"status": body["status"]}), 200),
        "probes", "GET /healthz is 200", "`body.version`", "only ['status']",
    ),
    "a field of the wrong type": (
        on("/api/v1/status", lambda answer: changed(answer, lambda body: body["data"].update(skills="7")), 200),
        "probes", "GET /status is public", "`data.skills` to be an integer", "7",
    ),
    "a field too many": (
        on("/api/v1/skills", lambda answer: changed(answer, lambda body: body.update(extra=1)), 200),
        "envelope", "a list is", "only `success`, `data` and `pagination`", "extra",
    ),
    "no envelope": (
        on("/api/v1/registry/sources", lambda answer: changed(answer, lambda body: body["data"]), 200),
        "sources", "GET /registry/sources, ", "an envelope, a JSON object", "[",
    ),
    "a wrong content type": (
        on("/api/v1/nothing", with_header("Content-Type", "text/html"), 404),
        "envelope", "an unknown path is 404", "content type application/json", "text/html",
    ),
    "a body that is no JSON": (
        on("/api/v1/status", lambda answer: answer._replace(body=b"{"), 200),
        "probes", "GET /status is public", "a JSON body", "{",
    ),
    "a missing header": (
        on("/api/v1/", without("X-Api-Version"), 404),
        "versioning", "X-API-Version: v1 is on every answer", "header X-API-Version", "no such header",
    ),
    "a header too many": (
        on("/healthz", with_header("X-Api-Version", "v1"), 200),
        "versioning", "probes and /index carry no", "no header X-API-Version", "X-API-Version: v1",
    ),
    "a wrong error code": (
        on("/api/v1/skills/conformance-absent",
           lambda answer: changed(answer, lambda body: body["error"].update(code="MISSING")), 404),
        "envelope", "an absent skill is SKILL_NOT_FOUND", "error code SKILL_NOT_FOUND", "MISSING",
    ),
    "an error that shows the inside": (
        on("/api/v1/nothing", lambda answer: changed(
            answer, lambda body: body["error"].update(message='File "/srv/app.py", line 3')), 404),
        "envelope", "an unknown path is 404", "shows nothing of the inside", "/srv/app.py",
    ),
    "no redirect": (
        on("/api/skills", lambda answer: answer._replace(status=307), 308),
        "versioning", "GET /api/<path> is redirected", "status 308", "status 307",
    ),
    "no 304": (
        on("/api/v1/skills", lambda answer: answer._replace(status=200, body=b"{}"), 304),
        "conditional", "304 while nothing changes", "status 304", "status 200",
    ),
    "a limit that is not kept": (
        on("/api/v1/skills", lambda answer: changed(
            answer, lambda body: "limit=9999" in answer.path and body["pagination"].update(limit=9999)), 200),
        "pages", "a page has 20 items by default", "pagination.limit 100", "9999",
    ),
    "a bad body that is accepted": (
        on("/api/v1/search", lambda answer: answer._replace(status=200, body=b'{"success": true, "data": {}}'), 400),
        "request bodies", "a body that is not strict JSON is 400", "status 400", "status 200",
    ),
    "a value that is changed on its way": (
        on("/api/v1/skills/conformance-", lambda answer: changed(
            answer, lambda body: "author" in body["data"] and body["data"].update(name="another")), 200),
        "skills", "texts of any language come back", "as name, description and author", "another",
    ),
    "results in a wrong order": (
        on("/api/v1/search", lambda answer: changed(answer, lambda body: body["data"]["skills"].reverse()), 200),
        "search", "an exact id is first", "first for", "[",
    ),
}  # fmt: skip
"""The fault, the section that has the row, how the row begins, and what it names as expected and as seen."""


def failed_rows(url: str, section: str) -> list[Result]:
    """Run the rows of a section in this process, which is quicker than a command."""
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        service = Service(http, {}, frozenset({"read", "write"}), "local")
        return [one for one in run(service, rows_of("local", sections=[section])) if one.outcome == "fail"]


@pytest.mark.parametrize("name", FAULTS)
def test_each_kind_of_fault_is_named(local: RunningServer, name: str) -> None:
    spoil, section, row, expected, seen = FAULTS[name]
    if not (local.skills_dir / "conformance-notes").exists():
        for skill in ("conformance-notes", "conformance-texts"):
            body = {
                "id": skill,
                "name": skill,
                "description": "Found besides the skill of the check.",
                "version": "1.0.0",
            }
            local.api("POST", "/skills", json=body)
    with SpoilingProxy(local.url, spoil) as proxy:
        failed = failed_rows(proxy.url, section)
    found = [one for one in failed if row in one.row]
    assert found, failed
    assert expected in str(found[0].expected)
    assert seen in str(found[0].seen)


def test_a_service_without_a_fault_passes_through_the_same_server(local: RunningServer) -> None:
    with SpoilingProxy(local.url, lambda answer: answer) as proxy:
        code, report = check(proxy.url, "--section", "probes", "--section", "pages", "--section", "envelope")
    assert (failures(report), code) == ([], 0)


def test_a_broken_token_is_named_in_the_registry_profile(registry: Registry) -> None:
    spoil = on("/auth/token", lambda answer: changed(answer, lambda body: body["data"].pop("expires_at") and None), 200)
    with SpoilingProxy(registry.url, spoil) as proxy:
        _, report = check(proxy.url, "--section", "authentication")
    assert "`data.expires_at` of POST /auth/token" in {one["expected"] for one in failures(report)}


IDENTITY = ("accounts", "trusted publishing", "sign-in", "private scopes")


def test_what_a_service_does_not_offer_is_skipped(registry: Registry) -> None:
    def missing(answer: Passed) -> Passed:
        body = {"success": False, "error": {"code": "NOT_FOUND", "message": "There is no such route"}}
        return answer._replace(status=404, body=json.dumps(body).encode(), headers={"Content-Type": "application/json"})

    paths = ("/api/v1/auth/", "/auth/oidc/", "/auth/sign-in", "/api/v1/private-scopes", "/scopes/")

    def spoil(answer: Passed) -> Passed:
        if answer.path.startswith(paths):
            return missing(answer)
        if answer.path == "/api/status":
            return changed(answer, lambda body: body["data"].pop("sign_in") and None)
        return answer

    with SpoilingProxy(registry.url, spoil) as proxy:
        sections = [flag for name in IDENTITY for flag in ("--section", name)]
        code, report = check(proxy.url, "--profile", "registry", "--publish", *sections)
    assert (failures(report), report["left"], code) == ([], [], 0)
    passed = {row["row"] for row in report["rows"] if row["outcome"] == "pass"}
    assert {row.partition(" whether")[0] for row in passed} == {"status says in `sign_in`"}
    reasons = {row["reason"] for row in report["rows"] if row["outcome"] == "skip"}
    assert reasons == {
        *(f"the service offers no {what}" for what in ("own tokens", "users", "trusted publishing", "private scopes")),
        "sign-in at an issuer is off here",
    }


def test_a_sign_in_without_pkce_and_a_scope_that_tells_of_itself_are_named(registry: Registry) -> None:
    def spoil(answer: Passed) -> Passed:
        if answer.path == "/auth/sign-in" and answer.status == 303:
            location = answer.headers["Location"].replace("code_challenge_method=S256", "code_challenge_method=plain")
            return with_header("Location", location)(answer)
        if answer.path.startswith("/scopes/") and answer.path.endswith("/index/x/y") and answer.status == 404:
            return changed(answer, lambda body: body["error"].update(message=f"None of yours: {answer.path}"))
        return answer

    with SpoilingProxy(registry.url, spoil) as proxy:
        flags = ("--profile", "registry", "--publish", "--section", "sign-in", "--section", "private scopes")
        code, report = check(proxy.url, *flags)
    expected = [one["expected"] for one in failures(report)]
    assert code == 1
    assert len(expected) == 2
    assert expected[0] == "code_challenge_method=S256 at the issuer"
    assert expected[1].startswith("the answer of a scope that is not there of GET /scopes/conformance-")


def test_a_guard_that_is_missing_is_named(registry: Registry) -> None:
    def let_in(answer: Passed) -> Passed:
        return answer._replace(status=200, body=b'{"success": true, "data": []}')

    with SpoilingProxy(registry.url, on("/api/registry/sources", let_in, 401)) as proxy:
        _, report = check(proxy.url, "--profile", "registry", "--section", "roles")
    passed = {one["row"] for one in report["rows"] if one["outcome"] == "pass"}
    assert "GET /api/registry/sources without a credential is 401" not in passed


def test_a_person_reads_one_line_a_row_and_what_failed(local: RunningServer) -> None:
    spoil = FAULTS["a wrong status"][0]
    with SpoilingProxy(local.url, spoil) as proxy:
        command = [COMMAND, "conformance", proxy.url, "--section", "probes", "--profile", "local"]
        done = subprocess.run(command, env=_BLANK, capture_output=True, text=True, timeout=120, check=False)
    lines = done.stdout.splitlines()
    failed = next(number for number, line in enumerate(lines) if line.startswith("  fail"))
    assert "GET /healthz is 200" in lines[failed]
    assert lines[failed + 1].split() == ["expected", "status", "200", "of", "GET", "/healthz"]
    assert lines[failed + 2].startswith("        seen      status 204")
    assert lines[-1].startswith("local profile: ")
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("http://127.0.0.1:9",), "is the service running?"),
        (("no-url",), "not an http(s) URL"),
        (("{url}", "--section", "no such section"), "no section has such a name"),
        (("{url}/healthz",), "neither profile was recognised"),
        (("{url}", "--profile", "other"), "'other' is not one of"),
        (("--server", "no-url"), "not an http(s) URL"),
        (("{url}", "--server", "{url}"), "give the URL or --server, not both"),
        ((), "give the URL of the service"),
    ],
)
def test_what_cannot_be_checked_is_exit_code_2(local: RunningServer, args: tuple[str, ...], said: str) -> None:
    command = [COMMAND, "conformance", *(one.replace("{url}", local.url) for one in args)]
    done = subprocess.run(command, env=_BLANK, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_service_is_also_named_as_for_other_commands(local: RunningServer) -> None:
    code, report = check(f"--server={local.url}", "--section", "probes")
    assert (code, report["url"], report["failed"]) == (0, local.url, 0)


def test_only_the_specification_leaves_out_what_is_decided(local: RunningServer) -> None:
    code, report = check(local.url, "--only-specification")
    assert code == 0
    assert {row["origin"] for row in report["rows"]} == {"specification"}
    assert 20 < len(report["rows"]) < len(rows_of("local")) / 2


def test_the_caller_is_told_what_will_change(local: RunningServer) -> None:
    command = [COMMAND, "conformance", local.url, "--publish", "--section", "probes"]
    said = subprocess.run(command, env=_BLANK, capture_output=True, text=True, timeout=60, check=True).stderr
    assert "--write creates skills, versions and manifest entries" in said
    assert "stay for good" in said


def test_a_published_skill_of_a_registry_is_not_taken_for_its_own(registry: Registry) -> None:
    registry.finished(registry.publish(skill_package("kept-one")))
    check(registry.url, "--write", "--section", "skills")
    assert registry.get("/api/skills/acme/kept-one").status_code == 200
