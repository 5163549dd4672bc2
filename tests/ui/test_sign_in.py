"""Sign-in at an issuer in the browser: from the page to the provider and back, and all that can go wrong there."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from support.pages import Watched, faults
from support.people_issuer import ANN, PeopleIssuer, enter, enter_in
from support.servers import RunningServer


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
def page(watched: Watched, registry: RunningServer, issuer: PeopleIssuer) -> Page:
    """A page whose visitor has gone to the provider."""
    issuer.put(ANN, preferred_username="ann", groups=["acme-team"])
    # The page of the provider loads a style sheet from elsewhere, which is not reached.
    watched.expected = [issuer.url, "401", "cdn.jsdelivr.net", "ERR_NAME_NOT_RESOLVED"]
    return watched.open(registry.url, "/?view=admin")


def leave(page: Page) -> None:
    """Go to the provider."""
    page.get_by_role("button", name="Sign in").first.click()
    page.get_by_role("button", name="Sign in with your organization").click()


def test_a_person_comes_back_signed_in_to_the_same_page(page: Page, registry: RunningServer) -> None:
    page.get_by_role("button", name="Sign in").first.click()
    assert not faults(page)
    page.get_by_role("button", name="Sign in with your organization").click()
    enter_in(page, ANN)
    expect(page.locator(".who .badge")).to_have_text("manager")
    expect(page.get_by_role("link", name="Your account")).to_be_visible()
    assert page.url == f"{registry.url}/?view=admin"
    page.get_by_role("link", name="Your account").click()
    expect(page.get_by_role("heading", name="Your tokens")).to_be_visible()
    expect(page.get_by_role("button", name="Change password")).to_have_count(0)
    page.reload()
    expect(page.locator(".who .badge")).to_have_text("manager")
    page.get_by_role("button", name="Sign out").click()
    expect(page.locator(".who .badge")).to_have_count(0)


def refused(page: Page, reason: str) -> None:
    """Assert that the service says why it refuses an answer, and that nobody is signed in."""
    expect(page.locator("body")).to_contain_text(reason)
    page.goto("/")
    expect(page.get_by_role("button", name="Sign in").first).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def changed(url: str, **changes: str) -> str:
    parts = urlsplit(url)
    values = {name: given[0] for name, given in parse_qs(parts.query).items()}
    return parts._replace(query=urlencode(values | changes)).geturl()


def asked(page: Page) -> str:
    """Go to the provider, and return what the page has asked it."""
    with page.expect_request("**/oauth2/authorize*") as request:
        leave(page)
    return request.value.url


def test_a_wrong_state_is_refused(page: Page) -> None:
    page.goto(changed(enter(asked(page), ANN), state="another"))
    refused(page, "belongs to another sign-in")


def test_a_wrong_nonce_is_refused(page: Page) -> None:
    page.goto(enter(changed(asked(page), nonce="another"), ANN))
    refused(page, "belongs to another sign-in")


def test_a_code_works_once(page: Page) -> None:
    callback = enter(asked(page), ANN)
    begun = page.context.cookies()
    page.goto(callback)
    expect(page.locator(".who .badge")).to_have_text("manager")
    page.get_by_role("button", name="Sign out").click()
    # As if the browser had not forgotten the sign-in. Playwright has another type for the cookies it takes.
    page.context.add_cookies(begun)  # type: ignore[arg-type]
    page.goto(callback)
    refused(page, "has ended already")


def test_a_person_in_no_group_is_told_so(page: Page, issuer: PeopleIssuer) -> None:
    leave(page)
    issuer.put(ANN, preferred_username="ann", groups=[])
    enter_in(page, ANN)
    expect(page.get_by_role("alert")).to_contain_text("None of your groups may sign in here")
    expect(page.locator(".who .badge")).to_have_count(0)
    issuer.put(ANN, preferred_username="ann", groups=["staff"])
    page.get_by_role("button", name="Sign in with your organization").click()
    enter_in(page, ANN)
    expect(page.locator(".who .badge")).to_have_text("user")


def test_an_issuer_that_is_down_is_named(watched: Watched, tmp_path: Path) -> None:
    issuer = PeopleIssuer()
    watched.expected = ["503"]
    with RunningServer(tmp_path, "--profile", "registry", env=issuer.settings) as registry:
        page = watched.open(registry.url)
        leave(page)
        refused(page, "The issuer cannot be asked now, keys and passwords can")
