"""The page of a private scope: members sign in there and see its skills, others see nothing."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from support.pages import Watched, faults
from support.publishing import Registry, skill_package
from support.waiting import wait_until


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("scope")) as registry:
        body, admin = {"scope": "veiled", "owner": "una"}, registry.caller("root", "admin")
        registry.http.post("/api/v1/private-scopes", json=body, headers=admin).raise_for_status()
        una, files = (
            registry.caller("una", "user"),
            {"package": ("p.zip", skill_package("marmoset"), "application/zip")},
        )
        registry.http.post("/scopes/veiled/api/registry/publish", files=files, headers=una).raise_for_status()
        path = "/scopes/veiled/api/v1/skills/veiled/marmoset"
        wait_until(lambda: registry.http.get(path, headers=una).status_code == 200)
        yield registry


def enter(watched: Watched, registry: Registry, scope: str) -> Page:
    """Open the page below `/scopes/veiled` and sign in there with a new key of a scope."""
    body = {"name": "reader", "role": "user", "scope": scope}
    made = registry.http.post("/api/v1/auth/keys", json=body, headers=registry.caller("root", "admin"))
    page = watched.open(registry.url, "/scopes/veiled/")
    page.get_by_role("button", name="Sign in").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="API key").click()
    dialog.get_by_label("API key or token", exact=True).fill(made.json()["data"]["key"])
    dialog.get_by_role("button", name="Sign in").click()
    return page


def test_a_member_finds_and_reads_the_skills_of_the_scope(watched: Watched, registry: Registry) -> None:
    page = enter(watched, registry, "veiled")
    expect(page.locator(".who .badge")).to_have_text("user")
    page.get_by_role("link", name="Skills", exact=True).click()
    page.get_by_role("link", name="marmoset").click()
    expect(page.get_by_role("heading", name="1 version")).to_be_visible()
    assert page.url == f"{registry.url}/scopes/veiled/skills/veiled/marmoset"
    assert not faults(page)


def test_somebody_else_sees_no_skills(watched: Watched, registry: Registry) -> None:
    watched.expected = ["404"]
    page = enter(watched, registry, "other")
    expect(page.locator(".card")).to_have_count(0)
    expect(page.get_by_text("marmoset")).to_have_count(0)
