"""The page of a private scope: members sign in there and see its skills, others see nothing."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from support.pages import Watched, faults, sign_in
from support.publishing import Registry, skill_package
from support.waiting import wait_until

PASSWORD = "correct horse battery"


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


def test_other_users_see_no_skills(watched: Watched, registry: Registry) -> None:
    watched.expected = ["404"]
    page = enter(watched, registry, "other")
    expect(page.locator(".card")).to_have_count(0)
    expect(page.get_by_text("marmoset")).to_have_count(0)


def add_user(registry: Registry, name: str) -> None:
    body = {"name": name, "password": PASSWORD, "role": "user"}
    registry.http.post("/api/v1/auth/users", json=body, headers=registry.caller("root", "admin")).raise_for_status()


def enter_as(watched: Watched, registry: Registry, name: str, path: str = "/?view=admin&tab=scopes") -> Page:
    """Open the page and sign in with a password."""
    page = watched.open(registry.url, path)
    page.get_by_role("button", name="Sign in").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Password").click()
    dialog.get_by_label("User name").fill(name)
    dialog.get_by_label("Password", exact=True).last.fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Private scopes")).to_be_visible()
    return page


def confirm(page: Page, word: str, **values: str) -> None:
    """Fill in the dialog that is open, and send it."""
    dialog = page.get_by_role("dialog")
    for label, value in values.items():
        if label == "Role":
            dialog.get_by_role("combobox").select_option(value)
        else:
            dialog.get_by_label(label, exact=True).fill(value)
    dialog.get_by_role("button", name=word).click()
    expect(dialog).to_have_count(0)


def test_an_owner_names_members_and_a_reader_only_sees_them(watched: Watched, registry: Registry) -> None:
    for name in ("ona", "rod"):
        add_user(registry, name)
    body = {"role": "owner"}
    una = registry.caller("una", "user")
    registry.http.put("/api/v1/private-scopes/veiled/members/ona", json=body, headers=una).raise_for_status()
    page = enter_as(watched, registry, "ona")
    expect(page.get_by_role("row", name="veiled")).to_contain_text("owner")
    expect(page.get_by_role("button", name="New private scope")).to_have_count(0)
    expect(page.get_by_role("link", name="veiled")).to_have_attribute("href", "/scopes/veiled/")
    page.get_by_role("button", name="Members of veiled").click()
    page.get_by_role("button", name="Add a member").click()
    confirm(page, "Add", User="rod", Role="publisher")
    members = page.get_by_role("region", name="Members of veiled")
    expect(members.get_by_role("row", name="rod")).to_contain_text("publisher")
    members.get_by_role("button", name="Change rod").click()
    confirm(page, "Change", Role="reader")
    expect(members.get_by_role("row", name="rod")).to_contain_text("reader")
    assert not faults(page)
    reader = enter_as(watched, registry, "rod", "/scopes/veiled/?view=admin&tab=scopes")
    reader.get_by_role("button", name="Members of veiled").click()
    expect(reader.get_by_role("button", name="Remove rod")).to_be_visible()
    expect(reader.get_by_role("button", name="Remove ona")).to_have_count(0)
    expect(reader.get_by_role("button", name="Add a member")).to_have_count(0)
    expect(reader.get_by_role("link", name="veiled", exact=True)).to_have_attribute("href", "/scopes/veiled/")
    members.get_by_role("button", name="Remove rod").click()
    confirm(page, "Remove")
    expect(members.get_by_role("row", name="rod")).to_have_count(0)
    rod = registry.caller("rod", "user")
    assert registry.http.get("/scopes/veiled/api/v1/skills", headers=rod).status_code == 404


def test_the_last_owner_stays_and_the_dialog_says_so(watched: Watched, registry: Registry) -> None:
    watched.expected = ["409"]
    add_user(registry, "solo")
    body, admin = {"scope": "lonely", "owner": "solo"}, registry.caller("root", "admin")
    registry.http.post("/api/v1/private-scopes", json=body, headers=admin).raise_for_status()
    page = enter_as(watched, registry, "solo")
    page.get_by_role("button", name="Members of lonely").click()
    page.get_by_role("button", name="Remove solo").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("alert")).to_contain_text("would have no owner")


def test_an_administrator_adds_and_closes_a_scope(watched: Watched, registry: Registry) -> None:
    page = watched.open(registry.url, "/?view=admin&tab=scopes")
    sign_in(page, "admin")
    page.get_by_role("button", name="New private scope").click()
    confirm(page, "Add", Scope="shaded", Owner="una")
    expect(page.get_by_role("row", name="shaded")).to_be_visible()
    page.get_by_role("button", name="Members of shaded").click()
    expect(page.get_by_role("region", name="Members of shaded")).to_contain_text("una")
    page.get_by_role("button", name="Close shaded").click()
    confirm(page, "Close")
    expect(page.get_by_role("row", name="shaded")).to_have_count(0)
    assert not faults(page)
