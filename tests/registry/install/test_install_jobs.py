"""Installations in the background: progress, results, cancelling, lost processes, and the limit of a request."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.install_world import skill_md
from support.servers import RunningServer
from support.slow_answers import drip, silence
from support.waiting import wait_until
from support.web_server import WebServer, reply
from support.zips import plain_zip

LIMITS = ("--limits-download-seconds", "600", "--limits-install-seconds", "2", "--limits-drain-seconds", "0")


@pytest.fixture
def web() -> Iterator[WebServer]:
    answers = {
        "/tea.zip": reply(plain_zip({"SKILL.md": skill_md("tea").encode()})),
        "/bad.zip": reply(b"no zip"),
        "/silent.zip": silence,
        "/drip.zip": drip,
    }
    with WebServer(answers) as server:
        yield server


@pytest.fixture
def server(tmp_path: Path, web: WebServer, database_setting: Mapping[str, str]) -> Iterator[RunningServer]:
    with RunningServer(tmp_path, "--outbound-allowed-host", web.host, *LIMITS, env=database_setting) as running:
        yield running


def start(server: RunningServer, origin: str) -> str:
    """Start an installation and return the path of its job."""
    answer = server.api("POST", "/skills", params={"async": "true"}, json={"origin": origin})
    assert (answer.status_code, answer.json()["data"]["status"]) == (202, "running"), answer.text
    path = f"/installs/{answer.json()['data']['job_id']}"
    assert answer.headers["Location"] == f"/api/v1{path}"
    return path


def job(server: RunningServer, path: str) -> dict[str, Any]:
    answer = server.api("GET", path)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def ended(server: RunningServer, path: str) -> dict[str, Any]:
    wait_until(lambda: job(server, path)["status"] not in ("running", "cancelling"), why=server.log.read_text)
    return job(server, path)


def leftovers(server: RunningServer) -> list[str]:
    return [path.name for path in server.skills_dir.iterdir()]


def test_a_job_installs_a_skill(server: RunningServer, web: WebServer) -> None:
    done = ended(server, start(server, f"{web.url}/tea.zip"))
    assert (done["status"], done["skill_id"], done["version"], done["error"]) == ("done", "tea", "1.0.0", None)
    assert server.api("GET", "/skills/tea").json()["data"]["installed"] is True


def test_a_job_tells_why_it_failed_as_a_request_does(server: RunningServer, web: WebServer) -> None:
    failed = ended(server, start(server, f"{web.url}/bad.zip"))
    refused = server.api("POST", "/skills", json={"origin": f"{web.url}/bad.zip"}).json()["error"]
    assert failed["status"] == "failed"
    assert failed["error"] == {"code": refused["code"], "message": refused["message"], "details": refused["details"]}
    assert leftovers(server) == []


@pytest.mark.parametrize("name", ["silent", "drip"])
def test_a_job_is_cancelled_while_it_waits_for_another_server(server: RunningServer, web: WebServer, name: str) -> None:
    path = start(server, f"{web.url}/{name}.zip")
    wait_until(lambda: job(server, path)["step"] == "fetching")
    answer = server.api("DELETE", path)
    assert (answer.status_code, answer.json()["data"]["status"]) == (202, "cancelling")
    assert ended(server, path)["status"] == "cancelled"
    assert leftovers(server) == []
    again = server.api("DELETE", path)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "CONFLICT")


def test_a_job_whose_process_was_killed_has_failed(server: RunningServer, web: WebServer) -> None:
    path = start(server, f"{web.url}/silent.zip")
    wait_until(lambda: job(server, path)["step"] == "fetching")
    server.kill()
    server.start()
    lost = job(server, path)
    assert (lost["status"], lost["error"]["code"]) == ("failed", "SERVICE_UNAVAILABLE")


def test_a_stop_does_not_wait_for_another_server(server: RunningServer, web: WebServer) -> None:
    path = start(server, f"{web.url}/silent.zip")
    wait_until(lambda: job(server, path)["step"] == "fetching")
    assert server.stop() == 0, server.log.read_text()
    server.start()
    assert job(server, path)["status"] == "cancelled"


def test_a_request_waits_for_an_installation_only_so_long(server: RunningServer, web: WebServer) -> None:
    answer = server.api("POST", "/skills", json={"origin": f"{web.url}/silent.zip"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert "?async=true" in answer.json()["error"]["message"]
    assert int(answer.headers["Retry-After"]) > 0
    assert leftovers(server) == []


def test_what_is_no_installation_and_what_is_no_job_is_refused(server: RunningServer) -> None:
    body = {"id": "made", "name": "Made", "description": "Made here, of nothing.", "version": "1.0.0"}
    assert server.api("POST", "/skills", params={"async": "true"}, json=body).status_code == 400
    for method in ("GET", "DELETE"):
        answer = server.api(method, "/installs/nothing")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_another_worker_shows_and_cancels_a_job(tmp_path: Path, web: WebServer) -> None:
    with RunningServer(tmp_path, "--outbound-allowed-host", web.host, "--workers", "2", *LIMITS) as server:
        path = start(server, f"{web.url}/silent.zip")
        for _ in range(20):  # a new connection each time, so that both workers answer some
            assert httpx.get(f"{server.url}/api/v1{path}", trust_env=False).json()["data"]["status"] == "running"
        cancelled = [httpx.delete(f"{server.url}/api/v1{path}", trust_env=False).status_code for _ in range(4)]
        assert cancelled[0] == 202
        assert ended(server, path)["status"] == "cancelled"
