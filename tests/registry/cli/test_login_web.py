"""`login --web`: a person enters a code at the issuer, and the command gets a token."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from support.commands import Done
from support.credentials import code
from support.device_issuer import PENDING, DeviceIssuer
from support.servers import RunningServer


@pytest.fixture
def issuer() -> Iterator[DeviceIssuer]:
    with DeviceIssuer() as running:
        yield running


@pytest.fixture
def settings(issuer: DeviceIssuer) -> dict[str, str]:
    return {
        "SKILL_REGISTRY_AUTH_OIDC_ISSUER": issuer.url,
        "SKILL_REGISTRY_AUTH_OIDC_CLIENT_ID": "skills",
        "SKILL_REGISTRY_AUTH_OIDC_CLIENT_SECRET": "a secret: of this client",
        "SKILL_REGISTRY_AUTH_OIDC_GROUPS": "acme-team=manager@acme",
        "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": issuer.server.host,
    }


@pytest.fixture
def registry(tmp_path: Path, settings: dict[str, str]) -> Iterator[RunningServer]:
    with RunningServer(tmp_path / "registry", "--profile", "registry", env=settings) as running:
        yield running


def test_a_person_signs_in_with_a_code(registry: RunningServer, issuer: DeviceIssuer, tmp_path: Path) -> None:
    issuer.says = [PENDING, PENDING, (200, issuer.person())]
    done = Done(tmp_path, "login", "--web", "--server", registry.url, "--json")
    assert (done.code, done.json["role"]) == (0, "manager"), done.error
    assert f"open {issuer.page} and enter the code WDJB-MJHT" in done.error
    listed = Done(tmp_path, "list", "--json")
    assert listed.code == 0, listed.error
    asked = [parse_qs(body.decode()) for _, body in issuer.server.posted]
    assert asked[0] == {"scope": ["openid profile"]}
    assert asked[1]["device_code"] == ["d3v1ce"]
    assert asked[1]["grant_type"] == ["urn:ietf:params:oauth:grant-type:device_code"]
    assert {headers["Authorization"][:6] for headers, _ in issuer.server.posted} == {"Basic "}


WRONG: dict[str, dict[str, Any]] = {
    "another client": {"aud": "others"},
    "two clients": {"aud": ["skills", "others"]},
    "a token for another party": {"azp": "others"},
    "expired": {"iat": 1, "nbf": 1, "exp": int(time.time()) - 1},
    "another issuer": {"iss": "https://id.example.org"},
    "no person": {"sub": None},
    "no name": {"preferred_username": None},
    "a name of signs": {"preferred_username": "--/--"},
}


def test_without_a_terminal_the_issuer_is_a_way_too(settings: dict[str, str], tmp_path: Path) -> None:
    closed = {**settings, "SKILL_REGISTRY_AUTH_ISSUER": "closed"}
    with RunningServer(tmp_path / "registry", "--profile", "registry", env=closed) as registry:
        done = Done(tmp_path, "login", "--server", registry.url)
    done.complains(1, "give --username and --password-stdin, --api-key, or --web")


def test_what_does_not_fit_is_refused(registry: RunningServer, issuer: DeviceIssuer) -> None:
    refused: list[tuple[int, dict[str, Any]]] = [(200, issuer.person(**changes)) for changes in WRONG.values()]
    for said in (*refused[:4], (200, issuer.person()), *refused[4:], (200, issuer.person())):
        issuer.says = [said]
        answer = registry.http.post("/auth/sign-in/device/token", json={"device_code": "d3v1ce"})
        if said in refused:
            assert code(answer) == (401, "UNAUTHORIZED"), answer.text
        else:  # failures before it are forgotten
            assert answer.status_code == 200, answer.text
    issuer.says = [(200, issuer.person(groups=["others"]))]
    answer = registry.http.post("/auth/sign-in/device/token", json={"device_code": "d3v1ce"})
    assert code(answer) == (403, "FORBIDDEN")
    issuer.says = [(200, {"id_token": issuer.forged()}), (400, {"error": "access_denied"})]
    for _ in range(2):
        answer = registry.http.post("/auth/sign-in/device/token", json={"device_code": "d3v1ce"})
        assert code(answer) == (401, "UNAUTHORIZED")


def test_an_issuer_without_devices_or_with_a_strange_page(
    registry: RunningServer, issuer: DeviceIssuer, tmp_path: Path
) -> None:
    issuer.page = "javascript:alert(1)"
    done = Done(tmp_path, "login", "--web", "--server", registry.url)
    assert done.code == 1
    assert "cannot be asked" in done.error
    issuer.known["token_endpoint"] = "http://id.example.org/token"  # not on this machine, and without https
    registry.stop()
    registry.start()
    answer = registry.http.post("/auth/sign-in/device/token", json={"device_code": "d3v1ce"})
    assert code(answer) == (503, "SERVICE_UNAVAILABLE")
    del issuer.known["device_authorization_endpoint"]
    registry.stop()
    registry.start()
    done = Done(tmp_path, "login", "--web", "--server", registry.url)
    assert (done.code, "no sign-in for devices" in done.error) == (1, True), done.error
