"""Requests that wait for other servers hold up nobody else, and there is an end to how many may wait."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from support.servers import RunningServer, bearer, new_skill
from support.slow_answers import silence
from support.waiting import wait_until
from support.web_server import WebServer

MORE_THAN_FIT = 80
"""Above the threads and the queue for other servers."""


@pytest.fixture
def hanging() -> Iterator[WebServer]:
    with WebServer({f"/{number}.zip": silence for number in range(MORE_THAN_FIT)}) as web:
        yield web


def test_installs_that_hang_delay_neither_administration_nor_the_catalog(
    hanging: WebServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("registry")
    args = ("--profile", "registry", "--outbound-allowed-host", hanging.host, "--limits-download-seconds", "600")
    with RunningServer(folder, *args, "--limits-drain-seconds", "0") as server:
        admin, ended = server.token("admin"), server.token("manager")
        key = server.api("POST", "/auth/keys", json={"name": "ci"}, headers=bearer(admin)).json()["data"]
        with ThreadPoolExecutor(MORE_THAN_FIT) as callers:
            answers = [callers.submit(_install, server, admin, hanging, number) for number in range(MORE_THAN_FIT)]
            wait_until(lambda: any(answer.done() for answer in answers) and hanging.connections > 5)
            refused = [answer.result() for answer in answers if answer.done()]
            assert {answer.status_code for answer in refused} == {503}
            assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
            assert refused[0].json()["error"]["code"] == "SERVICE_UNAVAILABLE"

            server.token("manager")
            assert server.http.get("/api/status").status_code == 200
            assert server.http.get("/metrics", headers=bearer(admin)).status_code == 200
            assert server.http.post("/auth/logout", headers=bearer(ended)).status_code == 200
            assert server.api("DELETE", f"/auth/keys/{key['id']}", headers=bearer(admin)).status_code == 200
            made = server.api("POST", "/skills", json=new_skill("written"), headers=bearer(admin))
            assert made.status_code == 201, made.text
            assert server.api("GET", "/search", params={"q": "written"}, headers=bearer(admin)).json()["data"]["count"]
            waiting = [answer for answer in answers if not answer.done()]
            assert len(waiting) > 12, "the installs must still hang while the others answer"
            hanging.stopping.set()


def _install(server: RunningServer, token: str, web: WebServer, number: int) -> httpx.Response:
    return httpx.post(
        f"{server.url}/api/v1/skills",
        json={"origin": f"{web.url}/{number}.zip"},
        headers=bearer(token),
        timeout=600,
        trust_env=False,
    )
