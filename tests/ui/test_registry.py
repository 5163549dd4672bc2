"""The registry profile in the browser: who is signed in decides what is shown and what can be done."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from support.commands import Done
from support.pages import ListedServer, Watched, sign_in
from support.servers import new_skill

Enter = Callable[[str], Page]


@pytest.fixture
def enter(watched: Watched, registry: ListedServer) -> Enter:
    def enter(role: str) -> Page:
        page = watched.open(registry.url)
        sign_in(page, role)
        expect(page.locator(".who .badge")).to_have_text(role)
        return page

    return enter


def test_a_visitor_without_a_credential_is_sent_to_sign_in_and_nothing_is_requested_in_vain(
    watched: Watched, registry: ListedServer
) -> None:
    page = watched.open(registry.url, "/?skill=csv-cleanup")
    expect(page.locator(".notice .title")).to_have_text("Sign in to see the skills")
    expect(page.locator(".card")).to_have_count(0)


def test_a_user_reads_and_has_no_buttons_that_change(enter: Enter) -> None:
    page = enter("user")
    page.get_by_role("link", name="Skills", exact=True).click()
    expect(page.locator(".card").first).to_be_visible()
    expect(page.locator(".card .action")).to_have_count(0)
    page.get_by_role("link", name="Service").click()
    expect(page.get_by_role("heading", name="Index")).to_be_visible()
    expect(page.get_by_role("button", name="Reindex what changed")).to_have_count(0)
    page.reload()
    expect(page.locator(".who .badge")).to_have_text("user")


def test_a_manager_deletes_a_record_after_being_asked(enter: Enter, registry: ListedServer) -> None:
    token = registry.http.post("/auth/token", json={"role": "manager"}).json()["data"]["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert registry.api("POST", "/skills", json=new_skill("short-lived"), headers=headers).status_code == 201
    page = enter("manager")
    page.goto("/?skill=short-lived")
    expect(page.get_by_role("heading", name="1 version")).to_be_visible()
    page.get_by_role("button", name="Delete short lived").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".detail header .badge").first).to_have_text("removed")
    assert registry.api("GET", "/skills/short-lived", headers=headers).status_code == 404


def test_signing_out_ends_the_token_and_hides_the_skills(enter: Enter, registry: ListedServer) -> None:
    page = enter("user")
    kept = json.loads(page.evaluate("sessionStorage.getItem('skill-registry.session')"))
    assert registry.api("GET", "/skills", headers=kept["headers"]).status_code == 200
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator(".notice .title")).to_have_text("Sign in to see the skills")
    assert page.evaluate("sessionStorage.length") == 0
    registry.wait_for(lambda: registry.api("GET", "/skills", headers=kept["headers"]).status_code == 401)


def test_a_wrong_password_is_said_and_an_api_key_opens(watched: Watched, registry: ListedServer) -> None:
    watched.expected = ["401"]
    made = Done(registry.data_dir.parent, "keys", "create", "--role", "manager", "--data-dir", "data", "--json")
    page = watched.open(registry.url)
    page.get_by_role("button", name="Sign in").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Password").click()
    dialog.get_by_label("User name").fill("nobody")
    dialog.get_by_label("Password", exact=True).fill("  wrong  ")
    with page.expect_request("**/auth/token") as asked:
        dialog.get_by_role("button", name="Sign in").click()
    assert asked.value.post_data_json == {"username": "nobody", "password": "  wrong  "}
    expect(dialog.get_by_role("alert")).to_contain_text("wrong")
    dialog.get_by_role("button", name="API key").click()
    dialog.get_by_label("API key or token", exact=True).fill(made.json["key"])
    dialog.get_by_role("button", name="Sign in").click()
    expect(page.locator(".who .badge")).to_have_text("manager")
    expect(page.locator(".start .rows").first).to_be_visible()


def test_a_session_the_service_has_ended_leads_back_to_signing_in(enter: Enter, watched: Watched) -> None:
    watched.expected = ["401"]
    page = enter("user")
    page.evaluate("""async () => {
        const { headers } = JSON.parse(sessionStorage.getItem("skill-registry.session"));
        await fetch("/auth/logout", { method: "POST", headers });
    }""")
    page.get_by_role("searchbox").fill("csv")
    expect(page.locator(".notice .title")).to_have_text("Sign in to see the skills")
