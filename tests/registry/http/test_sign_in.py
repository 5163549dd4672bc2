"""People sign in at an issuer of OpenID Connect: groups give role and scope, and whatever does not match is refused."""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from registry.config.settings import SettingsError, load_settings
from support.credentials import code
from support.people_issuer import ANN, Browser, PeopleIssuer, enter
from support.servers import RunningServer, bearer
from support.waiting import wait_until


@pytest.fixture(scope="module")
def issuer() -> Iterator[PeopleIssuer]:
    with PeopleIssuer() as running:
        yield running


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, issuer: PeopleIssuer) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("sign-in")
    with RunningServer(folder, "--profile", "registry", env=issuer.settings) as running:
        yield running


@pytest.fixture
def browser(registry: RunningServer, issuer: PeopleIssuer) -> Iterator[Browser]:
    issuer.put(ANN, preferred_username="Ann Lee", groups=["acme-team", "staff"])
    with httpx.Client(base_url=registry.url) as client:
        yield client


def user_of(registry: RunningServer, token: str) -> tuple[str, str, str]:
    said = registry.http.get("/auth/verify", headers=bearer(token)).json()["data"]
    return said["user"], said["role"], said["scope"]


def users(registry: RunningServer) -> dict[str, str]:
    headers = bearer(registry.token("admin"))
    listed = registry.http.get("/api/v1/auth/users", headers=headers).json()["data"]
    return {user["name"]: user["role"] for user in listed}


def test_a_person_signs_in_with_the_rights_of_a_group(
    registry: RunningServer, browser: Browser, issuer: PeopleIssuer
) -> None:
    begun = browser.get("/auth/sign-in", params={"back": "/skills/acme/pdf?view=x"})
    assert (begun.status_code, begun.headers["Cache-Control"]) == (303, "no-store")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(begun.headers["Location"]).query).items()}
    assert asked["redirect_uri"] == f"{registry.url}/auth/sign-in/callback"
    assert (asked["response_type"], asked["code_challenge_method"], asked["scope"]) == (
        "code",
        "S256",
        "openid profile",
    )
    cookie = begun.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/auth/sign-in/callback" in cookie
    sealed = browser.cookies["skill-registry-sign-in"].split(".")[1]
    verifier = json.loads(base64.urlsafe_b64decode(sealed + "=="))["verifier"]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    assert asked["code_challenge"] == challenge

    back = browser.get(enter(begun.headers["Location"], ANN))
    assert back.status_code == 303, back.text
    assert (back.status_code, back.headers["Location"]) == (303, "/skills/acme/pdf?view=x#signed-in")
    assert "SameSite=strict" in back.headers["Set-Cookie"]
    taken = browser.post("/auth/sign-in/token")
    assert (taken.status_code, taken.headers["Cache-Control"]) == (200, "no-store")
    data = taken.json()["data"]
    assert (data["user"], data["scope"], data["token"]["role"]) == ("acme/ann-lee", "acme", "manager")
    assert user_of(registry, data["token"]["token"]) == ("acme/ann-lee", "manager", "acme")
    assert code(browser.post("/auth/sign-in/token")) == (401, "UNAUTHORIZED")
    assert registry.http.get("/api/v1/status").json()["data"]["sign_in"] is True


def signed_in(browser: Browser, subject: str = ANN) -> httpx.Response:
    location = browser.get("/auth/sign-in").headers["Location"]
    assert browser.get(enter(location, subject)).status_code == 303
    return browser.post("/auth/sign-in/token")


def token_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    token: str = answer.json()["data"]["token"]["token"]
    return token


def test_a_person_who_leaves_a_group_loses_its_rights_at_the_next_sign_in(
    registry: RunningServer, browser: Browser, issuer: PeopleIssuer
) -> None:
    before = token_of(signed_in(browser))
    made = registry.http.post(
        "/api/v1/auth/tokens",
        json={"name": "ci", "operations": ["publish"], "expires_at": "2027-01-01T00:00:00Z"},
        headers=bearer(before),
    )
    assert made.status_code == 201, made.text
    own = made.json()["data"]["token"]
    assert user_of(registry, own)[0] == "acme/ann-lee"

    issuer.put(ANN, preferred_username="Ann Lee", groups=["staff"])
    after = token_of(signed_in(browser))
    assert user_of(registry, after) == ("people/ann-lee", "user", "people")
    for token in (before, own):
        assert code(registry.http.get("/auth/verify", headers=bearer(token))) == (401, "INVALID_TOKEN")

    issuer.put(ANN, preferred_username="Ann Lee", groups=["others"])
    refused = signed_in(browser)
    assert code(refused) == (401, "UNAUTHORIZED")
    assert "None of your groups may sign in here" in refused.text
    assert code(registry.http.get("/auth/verify", headers=bearer(after))) == (401, "INVALID_TOKEN")
    assert not {"people/ann-lee", "acme/ann-lee"} & users(registry).keys()


def test_a_name_belongs_to_one_person(registry: RunningServer, browser: Browser, issuer: PeopleIssuer) -> None:
    token = token_of(signed_in(browser))
    issuer.put("another", preferred_username="ann.lee", groups=["acme-team"])
    refused = signed_in(browser, "another")
    assert code(refused) == (401, "UNAUTHORIZED")
    assert "'acme/ann-lee' belongs to another user" in refused.text
    assert user_of(registry, token)[0] == "acme/ann-lee"

    headers = bearer(registry.token("admin"))
    local = {"name": "acme/bob", "password": "a long password", "role": "user"}
    assert registry.http.post("/api/v1/auth/users", json=local, headers=headers).status_code == 201
    issuer.put("bob", preferred_username="bob", groups=["acme-team"])
    assert "belongs to another user" in signed_in(browser, "bob").text


def test_a_person_has_no_password_here(registry: RunningServer, browser: Browser) -> None:
    token_of(signed_in(browser))
    for password in ("", "a"):
        body = {"username": "acme/ann-lee", "password": password}
        assert registry.http.post("/auth/token", json=body).status_code in (400, 401)
    headers = bearer(registry.token("admin"))
    change = registry.http.put("/api/v1/auth/users/acme/ann-lee", json={"password": "a long password"}, headers=headers)
    assert change.status_code in (404, 405, 409), change.text


def test_an_answer_that_does_not_match_is_refused(
    registry: RunningServer, browser: Browser, issuer: PeopleIssuer
) -> None:
    location = browser.get("/auth/sign-in").headers["Location"]
    url = enter(location, ANN)
    wrong_state = url.replace("state=", "state=x")
    assert code(browser.get(wrong_state)) == (401, "UNAUTHORIZED")
    with httpx.Client(base_url=registry.url) as outsider:
        assert code(outsider.get(url)) == (401, "UNAUTHORIZED")
    assert "skill-registry-signed-in" not in browser.cookies
    assert browser.get(url).status_code == 303
    again = browser.get(url)
    assert code(again) == (401, "UNAUTHORIZED")

    parts = urlsplit(browser.get("/auth/sign-in").headers["Location"])
    changed = {**{name: values[0] for name, values in parse_qs(parts.query).items()}, "nonce": "another"}
    url = enter(str(httpx.URL(parts._replace(query="").geturl(), params=changed)), ANN)
    assert code(browser.get(url)) == (401, "UNAUTHORIZED")
    token_of(signed_in(browser))


def test_a_code_works_once(registry: RunningServer, browser: Browser) -> None:
    url = enter(browser.get("/auth/sign-in").headers["Location"], ANN)
    begun = browser.cookies["skill-registry-sign-in"]
    assert browser.get(url).status_code == 303
    again = httpx.get(registry.url + str(httpx.URL(url).raw_path, "ascii"), cookies={"skill-registry-sign-in": begun})
    assert code(again) == (401, "UNAUTHORIZED")
    assert "ended already" in again.text


def test_who_says_no_at_the_issuer_is_told_so(browser: Browser) -> None:
    location = browser.get("/auth/sign-in").headers["Location"]
    state = parse_qs(urlsplit(location).query)["state"][0]  # this provider forgets it when a user says no
    assert browser.get(f"{enter(location, None)}&state={state}").status_code == 303
    refused = browser.post("/auth/sign-in/token")
    assert code(refused) == (401, "UNAUTHORIZED")
    assert "The issuer has not signed you in" in refused.text


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example/", "/\\evil.example", "a", "/a\nb"])
def test_no_sign_in_leads_elsewhere(browser: Browser, back: str) -> None:
    assert code(browser.get("/auth/sign-in", params={"back": back})) == (400, "VALIDATION_ERROR")


def test_what_is_sealed_is_no_token_and_no_token_is_sealed(registry: RunningServer, browser: Browser) -> None:
    token = token_of(signed_in(browser))
    browser.get("/auth/sign-in")
    begun = browser.cookies["skill-registry-sign-in"]
    assert code(registry.http.get("/auth/verify", headers=bearer(begun))) == (401, "INVALID_TOKEN")
    for text in (token, begun, "a.b.c", ""):
        with httpx.Client(base_url=registry.url, cookies={"skill-registry-signed-in": text}) as other:
            assert code(other.post("/auth/sign-in/token")) == (401, "UNAUTHORIZED")


def test_while_the_issuer_is_down_passwords_and_keys_work(tmp_path: Path) -> None:
    issuer = PeopleIssuer()
    with RunningServer(tmp_path, "--profile", "registry", env=issuer.settings) as registry:
        headers = bearer(registry.token("admin"))
        local = {"name": "acme/bob", "password": "a long password", "role": "user"}
        assert registry.http.post("/api/v1/auth/users", json=local, headers=headers).status_code == 201
        down = registry.http.get("/auth/sign-in")
        assert code(down) == (503, "SERVICE_UNAVAILABLE")
        assert down.headers["Retry-After"] == "10"
        signed = registry.http.post("/auth/token", json={"username": "acme/bob", "password": "a long password"})
        assert signed.status_code == 200
        issuer.start()
        try:
            wait_until(lambda: registry.http.get("/auth/sign-in").status_code == 303)
        finally:
            issuer.stop()


def test_without_an_issuer_nobody_signs_in_so(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry") as registry:
        assert code(registry.http.get("/auth/sign-in")) == (404, "NOT_FOUND")
        assert registry.http.get("/api/v1/status").json()["data"]["sign_in"] is False


def test_a_found_file_names_no_issuer_for_a_secret_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    oidc = '[auth.oidc]\nissuer = "https://evil.example"\nclient_id = "x"\ngroups = ["*=admin"]\n'
    (tmp_path / "registry.toml").write_text(oidc)
    load_settings({}, {})
    for variable, secret in (("AUTH_OIDC_CLIENT_SECRET", "a"), ("AUTH_SECRET", "a secret that is long enough: 12345")):
        with pytest.raises(SettingsError, match=r"auth.oidc.issuer \(from registry.toml in the current folder\)"):
            load_settings({}, {f"SKILL_REGISTRY_{variable}": secret})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"auth.oidc.client_id": ""}, "set auth.oidc.client_id"),
        ({"auth.oidc.groups": ""}, "admits no user"),
        ({"auth.oidc.issuer": "http://id.example.org"}, "must be an https:// URL"),
        ({"auth.oidc.groups": "acme-team=manager"}, "GROUP=ROLE@SCOPE"),
        ({"auth.oidc.issuer": "id.example.org"}, "expected an https:// URL"),
    ],
)
def test_settings_that_admit_nobody_or_everybody_stop_the_start(changes: dict[str, str], said: str) -> None:
    flags = {"auth.oidc.issuer": "https://id.example.org", "auth.oidc.client_id": "x", "auth.oidc.groups": ("*=user",)}
    assert load_settings(flags, {}).auth.oidc.groups == ("*=user",)
    with pytest.raises(SettingsError, match=said):
        load_settings({**flags, **changes}, {})
