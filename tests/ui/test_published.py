"""Published skills in the browser: the line that installs them, and everything that is in their package."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from support.commands import Done
from support.pages import Watched, faults, sign_in
from support.publishing import Registry, skill_package
from support.servers import RunningServer, bearer, new_skill

FILES = {"references/woods.md": b"Lime <b>and</b> birch.\n", "assets/grain.bin": bytes(range(256))}
PACKAGE = skill_package("whittle", body="# Carving\n\nSee [the woods](references/woods.md).\n", files=FILES)

Enter = Callable[..., Page]


@pytest.fixture(scope="module")
def publishing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("published")) as running:
        running.finished(running.publish(PACKAGE))
        running.api("POST", "/skills", json=new_skill("plain-one"), headers=bearer(running.token()))
        yield running


def signed_in(watched: Watched, url: str, path: str = "/", role: str = "user", **options: Any) -> Page:
    page = watched.open(url, path, **options)
    sign_in(page, role)
    expect(page.locator(".rows, .card, .markdown").first).to_be_visible()
    return page


@pytest.fixture
def enter(watched: Watched, publishing: Registry) -> Enter:
    return lambda *args, **options: signed_in(watched, publishing.url, *args, **options)


def command(publishing: Registry) -> str:
    return f"skill-registry install acme/whittle --from {publishing.url}"


@pytest.mark.parametrize("path", ["/?view=skills", "/?q=whittle", "/skills/acme/whittle"])
def test_the_line_that_installs_a_skill_is_copied_with_the_keyboard(
    enter: Enter, publishing: Registry, path: str
) -> None:
    page = enter(path)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=re.compile("^Copy( command)?: install acme.whittle$")).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").get_by_text("Copied")).to_have_count(1)
    assert page.evaluate("navigator.clipboard.readText()") == command(publishing)
    expect(page.get_by_role("button", name="Install whittle", exact=True)).to_have_count(0)


def test_without_a_clipboard_the_line_is_selected(enter: Enter, publishing: Registry) -> None:
    page = enter("/skills/acme/whittle")
    expect(page.get_by_text(command(publishing))).to_be_visible()
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")  # as over plain HTTP
    page.get_by_role("button", name="Copy: install acme/whittle").click()
    assert page.evaluate("String(getSelection())") == command(publishing)


def test_the_line_names_the_address_at_which_others_reach_the_registry(watched: Watched, tmp_path: Path) -> None:
    with Registry(tmp_path, "--public-url", "https://skills.example.com/team/") as registry:
        registry.finished(registry.publish(PACKAGE))
        page = signed_in(watched, registry.url, "/skills/acme/whittle")
        line = page.locator(".install .copyable code")
        expect(line).to_have_text("skill-registry install acme/whittle --from https://skills.example.com/team")


def test_a_version_has_a_page(enter: Enter) -> None:
    page = enter("/skills/acme/whittle@1.0.0")
    expect(page.get_by_role("heading", name="Version 1.0.0")).to_be_visible()
    page.get_by_role("link", name="All skills").click()
    expect(page.locator(".hero")).to_be_visible()


def test_the_files_of_a_package_are_listed_and_opened(enter: Enter) -> None:
    page = enter("/?skill=acme%2Fwhittle")
    expect(page.locator(".files a[title]")).to_have_text(["grain.bin", "woods.md", "SKILL.md"])
    page.get_by_role("link", name="the woods").click()
    expect(page.locator(".file .markdown")).to_have_text("Lime and birch.")
    page.get_by_role("button", name="Source").click()
    expect(page.locator(".file pre")).to_have_text("Lime <b>and</b> birch.")
    page.get_by_role("link", name="grain.bin").click()
    expect(page.locator(".file .title")).to_contain_text("it is no text")
    assert downloaded(page, "Download it") == ("grain.bin", FILES["assets/grain.bin"])


def downloaded(page: Page, link: str) -> tuple[str, bytes]:
    """Return the name and the bytes of the file that a link leads to."""
    with page.expect_download() as started:
        page.get_by_role("link", name=link).click()
    return started.value.suggested_filename, Path(started.value.path()).read_bytes()


def test_the_package_is_downloaded_by_who_is_signed_in(enter: Enter) -> None:
    page = enter("/?skill=acme%2Fwhittle")
    assert downloaded(page, "Download the package") == ("whittle-1.0.0.zip", PACKAGE)


def test_why_a_package_cannot_be_downloaded_is_said(enter: Enter, watched: Watched) -> None:
    watched.expected = ["503"]
    page = enter("/?skill=acme%2Fwhittle")
    refusal = '{"success": false, "error": {"code": "SERVICE_UNAVAILABLE", "message": "The store is away"}}'
    page.route("**/packages/**", lambda route: route.fulfill(status=503, body=refusal))
    page.get_by_role("link", name="Download the package").click()
    expect(page.locator("aside").get_by_role("alert")).to_have_text("The store is away")


def test_a_package_is_downloaded_without_signing_in_where_all_may_read(watched: Watched, tmp_path: Path) -> None:
    public = ("--public-url", "https://skills.example.com/team")
    with Registry(tmp_path, "--auth-anonymous-read", *public) as registry:
        registry.finished(registry.publish(PACKAGE))
        page = watched.open(registry.url, "/?skill=acme%2Fwhittle")
        assert downloaded(page, "Download the package") == ("whittle-1.0.0.zip", PACKAGE)


def test_a_package_elsewhere_is_a_link_that_carries_nothing(watched: Watched, tmp_path: Path) -> None:
    with Registry(tmp_path, "--s3-blob-base-url", "https://cdn.example.com/skills") as registry:
        registry.finished(registry.publish(PACKAGE))
        page = signed_in(watched, registry.url, "/?skill=acme%2Fwhittle")
        link = page.get_by_role("link", name="Download the package")
        assert (link.get_attribute("href") or "").startswith("https://cdn.example.com/skills/")
        assert link.get_attribute("rel") == "noopener noreferrer"


def test_a_record_says_that_it_is_one_and_has_no_line(enter: Enter) -> None:
    page = enter("/?q=plain-one")
    card = page.locator(".card", has_text="plain one")
    expect(card.locator(".badge").first).to_have_text("record")
    expect(card.locator(".copyable")).to_have_count(0)


@pytest.mark.parametrize("path", ["/", "/?skill=acme%2Fwhittle"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_of_it_stands_in_the_way_of_anybody(enter: Enter, path: str, scheme: str) -> None:
    page = enter(path, "manager", color_scheme=scheme)
    assert faults(page) == []
    page.set_viewport_size({"width": 320, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_lines_on_the_pages_install_the_skill(
    watched: Watched, publishing: Registry, follower: RunningServer, tmp_path: Path
) -> None:
    at_registry = signed_in(watched, publishing.url, "/?skill=acme%2Fwhittle").locator(".title .copyable code")
    at_follower = watched.open(follower.url, "/?skill=corp%2Facme.whittle").locator(".install .copyable code").first
    for line, more in ((at_registry, ()), (at_follower, ("--server", follower.url))):
        folder = tmp_path / f"developer{len(more)}"
        folder.mkdir()
        key = {"SKILL_REGISTRY_CLIENT_API_KEY": reader_key(publishing)}
        done = Done(folder, *line.inner_text().split()[1:], *more, **key)
        assert done.code == 0, done.out + done.error
    assert (tmp_path / "developer0" / "skills" / "whittle" / "SKILL.md").is_file()
    assert (follower.skills_dir / "whittle" / "SKILL.md").is_file()


def reader_key(publishing: Registry) -> str:
    body = {"name": "reader", "role": "user"}
    return str(
        publishing.api("POST", "/auth/keys", json=body, headers=bearer(publishing.token())).json()["data"]["key"]
    )


@pytest.fixture
def follower(publishing: Registry, tmp_path: Path) -> Iterator[RunningServer]:
    """A local service that has the registry as a source."""
    source = {"name": "corp", "url": publishing.url, "api_key": reader_key(publishing)}
    with RunningServer(tmp_path, "--outbound-allowed-host", publishing.url.removeprefix("http://")) as running:
        assert running.api("POST", "/registry/sources", json=source).json()["data"]["error"] is None
        running.wait_for(lambda: running.found("whittle") == ["corp/acme.whittle"])
        yield running


@pytest.mark.parametrize("path", ["/?q=whittle", "/?source=corp", "/?skill=corp%2Facme.whittle"])
def test_a_skill_of_another_registry_is_installed_and_uninstalled(
    watched: Watched, follower: RunningServer, path: str
) -> None:
    page = watched.open(follower.url, path)
    page.get_by_role("button", name="Install whittle", exact=True).click()
    expect(page.locator(".badge.installed")).to_be_visible()
    installed = follower.skills_dir / "whittle" / "SKILL.md"
    assert "# Carving" in installed.read_text()
    if page.locator(".card").count():
        page.locator(".card a.open").first.click()
    page.get_by_role("button", name="Uninstall whittle").click()
    page.get_by_role("dialog").get_by_role("button", name="Uninstall").click()
    expect(page.get_by_role("button", name="Install whittle", exact=True)).to_be_visible()
    assert not installed.exists()


def test_what_an_upgrade_changes_is_shown_before_it_is_done(watched: Watched, tmp_path: Path) -> None:
    with Registry(tmp_path / "registry", "--auth-anonymous-read") as registry:
        registry.finished(registry.publish(PACKAGE))
        address = registry.url.removeprefix("http://")
        with RunningServer(tmp_path / "follower", "--outbound-allowed-host", address) as running:
            running.api("POST", "/registry/sources", json={"name": "corp", "url": registry.url})
            running.wait_for(lambda: running.found("whittle") == ["corp/acme.whittle"])
            body = {"skill_id": "corp/acme.whittle", "source_name": "corp"}
            assert running.api("POST", "/skills", json=body).status_code == 201
            page = watched.open(running.url, "/skills/whittle")
            page.get_by_role("button", name="Look for an upgrade").click()
            expect(page.locator(".upgrade")).to_contain_text("It is up to date.")
            later = skill_package("whittle", "1.1.0", "# Finer carving\n", files={"references/oils.md": b"Linseed.\n"})
            registry.finished(registry.publish(later))
            page.get_by_role("button", name="Look for an upgrade").click()
            expect(page.locator(".upgrade [role=status]")).to_have_text("Version 1.1.0 is there.")
            changes = ["Addedreferences/oils.md", "Removedassets/grain.bin", "Removedreferences/woods.md"]
            expect(page.locator(".upgrade .change")).to_have_text([*changes, "ChangedSKILL.md"])
            assert faults(page) == []
            page.get_by_role("button", name="Upgrade", exact=True).click()
            expect(page.locator(".markdown h1")).to_contain_text("Finer carving")
            assert not (running.skills_dir / "whittle" / "assets").exists()


def test_a_deleted_skill_can_be_brought_back_and_the_dialog_says_what_stays(
    watched: Watched, enter: Enter, publishing: Registry
) -> None:
    publishing.finished(publishing.publish(skill_package("withdrawn")))
    page = enter("/skills/acme/withdrawn", "manager")
    expect(page.get_by_role("region", name="Install")).to_be_visible()
    expect(page.get_by_role("button", name="Delete withdrawn")).to_have_count(0)  # it is of another scope
    page = enter("/skills/acme/withdrawn", "admin")
    page.get_by_role("button", name="Delete withdrawn").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Requests that name a version still get its files.")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.locator(".detail header .badge").first).to_have_text("removed")
    assert publishing.get("/packages/acme/withdrawn/1.0.0.zip").status_code == 200
    page.get_by_role("button", name="Bring back withdrawn").click()
    expect(page.get_by_role("button", name="Delete withdrawn")).to_be_visible()
    assert publishing.get("/api/v1/skills/acme/withdrawn").status_code == 200
