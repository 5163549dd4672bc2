"""Versions in the browser: each has a page with its files, its text, and what it changed, line by line."""

import json
import struct
import zlib
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from support.pages import Watched, faults
from support.publishing import Registry, skill_package
from support.servers import bearer, new_skill

WOODS = "".join(f"- wood {number}\n" for number in range(30))
HOSTILE = "<img src=x onerror=alert(1)> zero\u200bwidth <script>alert(2)</script>"


def picture() -> bytes:
    """Return a PNG of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(b"\0\xff\0\0")
    size = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


OLD = {"references/woods.md": f"# Woods\n\n{WOODS}".encode(), "old/tool.py": b"print(1)\n", "gone.txt": b"x\n"}
NEW = {
    "references/woods.md": f"# Woods\n\n{WOODS.replace('wood 7', HOSTILE)}\n![plan](../assets/plan.png)\n".encode(),
    "new/tool.py": b"print(1)\n",
    "assets/plan.png": picture(),
    "assets/fake.png": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(3)"/>',
    "assets/grain.bin": bytes(range(256)),
}
BODY = "# Newer\n\n![the plan](assets/plan.png) ![nobody's](assets/none.png) ![far](https://evil.example/x.png)\n"

Enter = Callable[..., Page]


@pytest.fixture(scope="module")
def publishing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("compared")) as running:
        running.finished(running.publish(skill_package("whittle", "1.0.0", "# Older\n\nSame.\n", files=OLD)))
        running.finished(running.publish(skill_package("whittle", "1.1.0", "# Withdrawn\n", files=OLD)))
        running.finished(running.publish(skill_package("whittle", "2.0.0", BODY, files=NEW)))
        admin = running.caller("root", "admin")
        yanked = running.http.post("/api/v1/registry/skills/acme/whittle/1.1.0/yank", headers=admin)
        assert yanked.status_code == 200
        running.api("POST", "/skills", json=new_skill("plain-one"), headers=bearer(running.token()))
        yield running


@pytest.fixture
def enter(watched: Watched, publishing: Registry) -> Enter:
    def enter(path: str, **options: object) -> Page:
        page = watched.open(publishing.url, path, **options)  # type: ignore[arg-type]
        page.get_by_role("button", name="Sign in").first.click()
        page.get_by_role("dialog").get_by_role("button", name="Sign in").click()
        expect(page.locator(".detail h1").first).to_be_visible()
        return page

    return enter


def test_an_older_version_is_read_with_its_own_text_and_files(enter: Enter, publishing: Registry) -> None:
    page = enter("/skills/acme/whittle")
    expect(page.get_by_role("heading", name="3 versions")).to_be_visible()
    expect(page.locator("aside .badge", has_text="yanked")).to_have_count(1)
    page.get_by_role("link", name="1.0.0").click()
    expect(page).to_have_url(f"{publishing.url}/skills/acme/whittle@1.0.0")
    expect(page.get_by_role("heading", name="Version 1.0.0")).to_be_visible()
    expect(page.locator(".markdown h1")).to_contain_text("Older")
    expect(page.locator(".elsewhere")).to_contain_text("The current version is 2.0.0")
    expect(page.locator(".files a[title]")).to_have_text(["tool.py", "woods.md", "SKILL.md", "gone.txt"])
    page.locator(".files").get_by_role("link", name="gone.txt").click()
    expect(page.locator(".file pre")).to_have_text("x")
    with page.expect_download() as started:
        page.get_by_role("link", name="Download the package").click()
    assert started.value.suggested_filename == "whittle-1.0.0.zip"


def test_the_page_of_an_older_version_is_about_that_version(enter: Enter, publishing: Registry) -> None:
    headers = publishing.caller()
    lines = publishing.http.get("/index/acme/whittle", headers=headers).text.splitlines()
    digests = [json.loads(line)["cksum"] for line in lines]
    page = enter("/skills/acme/whittle@1.0.0")
    expect(page.locator(".detail h1").first).to_have_text("whittle 1.0.0")
    expect(page.locator("aside dd.digest")).to_have_text(digests[0])
    line = page.locator(".install .copyable code")
    expect(line).to_have_text(f"skill-registry install acme/whittle@1.0.0 --from {publishing.url}")
    expect(page.locator(".install .ways button")).to_have_text(["skill-registry", "MCP", "curl"])
    expect(page.locator(".install .facts")).to_contain_text("Exactly this version")
    page.get_by_role("button", name="MCP", exact=True).click()
    expect(page.locator(".install .facts")).to_have_text(
        "Then the agent reads it with get_skill acme/whittle, version 1.0.0."
    )
    page.get_by_role("button", name="curl", exact=True).click()
    address = line.inner_text().rpartition("'")[0].rpartition("'")[2]
    assert "# Older" in publishing.http.get(address, headers=headers).text
    page.locator(".elsewhere a").click()
    expect(page.locator(".detail h1").first).to_have_text("whittle 2.0.0")
    expect(page.locator("aside dd.digest")).to_have_text(digests[2])
    expect(page.locator(".install .ways button").nth(1)).to_have_text("npx skills")


def test_a_yanked_version_is_marked_and_can_be_read(enter: Enter) -> None:
    page = enter("/skills/acme/whittle@1.1.0")
    expect(page.locator(".version-page .head .badge")).to_have_text("yanked")
    expect(page.locator(".markdown h1")).to_contain_text("Withdrawn")


def test_two_versions_are_compared_file_by_file_and_line_by_line(enter: Enter) -> None:
    page = enter("/skills/acme/whittle@2.0.0")
    expect(page.locator(".compare [role=status]")).to_have_text(
        "3 files added, 1 file removed, 2 files changed, 1 file moved"
    )
    expect(page.locator(".change", has_text="new/tool.py")).to_contain_text("from old/tool.py")
    woods = page.locator(".change", has_text="references/woods.md")
    expect(woods.locator(".diff .minus")).to_have_text("-- wood 7")
    expect(woods.locator(".diff .plus").first).to_contain_text("+- <img src=x onerror=alert(1)> zeroU+200Bwidth")
    expect(woods.locator(".diff .hunk")).to_have_count(2)
    assert page.locator(".diff :is(img, script)").count() == 0
    page.get_by_label("Changes since").select_option("1.0.0")
    expect(page.locator(".change", has_text="SKILL.md").locator(".diff .minus", has_text="# Older")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Changes since")).to_have_value("1.0.0")


def test_images_of_the_package_are_shown_and_no_others(enter: Enter) -> None:
    page = enter("/skills/acme/whittle")
    image = page.locator(".markdown img")
    expect(image).to_have_count(1)
    expect(page.locator(".markdown img")).to_have_js_property("naturalWidth", 1)
    expect(page.locator(".markdown")).to_contain_text("nobody's")
    expect(page.locator(".markdown")).to_contain_text("far")
    page.get_by_role("link", name="plan.png").click()
    expect(page.locator(".picture img")).to_have_js_property("naturalWidth", 1)


def test_a_file_that_only_poses_as_an_image_is_not_shown(enter: Enter, watched: Watched) -> None:
    watched.expected = ["400"]
    page = enter("/skills/acme/whittle?file=assets/fake.png")
    expect(page.locator(".picture")).to_have_text("assets/fake.png")
    expect(page.locator(".picture img")).to_have_count(0)


def test_a_markdown_file_is_rendered_or_shown_as_it_is(enter: Enter) -> None:
    page = enter("/skills/acme/whittle?file=references/woods.md")
    expect(page.locator(".file .markdown li")).to_have_count(30)
    expect(page.locator(".file .markdown img")).to_have_js_property("naturalWidth", 1)
    expect(page.locator(".file .markdown mark.hidden-character")).to_have_text("U+200B")
    page.get_by_role("button", name="Source").click()
    expect(page.locator(".file .line-of").first).to_have_text("# Woods")
    page.get_by_role("button", name="Rendered").click()
    expect(page.locator(".file .markdown h1")).to_contain_text("Woods")


def test_a_version_that_is_not_there_is_said(enter: Enter, publishing: Registry) -> None:
    page = enter("/skills/acme/whittle@9.0.0")
    expect(page.locator(".notice .title").first).to_have_text("There is no such version")
    expect(page.locator(".detail h1").first).to_have_text("whittle 2.0.0")
    expect(page.locator(".install code")).to_have_text(f"skill-registry install acme/whittle --from {publishing.url}")


def test_of_a_revoked_version_nothing_is_offered_that_fails(enter: Enter, publishing: Registry) -> None:
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        publishing.finished(publishing.publish(skill_package("gouge", version, f"# Gouge {version}\n")))
    admin = publishing.caller("root", "admin")
    note = {"reason": "it bites"}
    address = "/api/v1/registry/skills/acme/gouge/1.1.0/revoke"
    publishing.http.post(address, json=note, headers=admin).raise_for_status()
    page = enter("/skills/acme/gouge@1.1.0")
    for _ in range(2):
        expect(page.locator(".withdrawn").last).to_contain_text("it bites")
        expect(page.locator(".install")).to_have_text("This version was revoked: nobody can install it.")
        expect(page.locator(".elsewhere")).to_have_text("The text below is that of the current version 1.2.0.")
        expect(page.locator(".markdown h1")).to_contain_text("Gouge 1.2.0")
        expect(page.get_by_role("button", name="Try again")).to_have_count(0)
        expect(page.get_by_role("link", name="Download the package")).to_have_count(0)
        page.goto(f"{publishing.url}/skills/acme/gouge@1.1.0?file=SKILL.md")
    page.goto(f"{publishing.url}/skills/acme/gouge@1.2.0")  # is compared with the one before that can be read
    expect(page.get_by_label("Changes since").locator("option")).to_have_text(["1.0.0"])
    expect(page.locator(".compare [role=status]")).to_have_text("1 file changed")


def test_a_record_has_versions_without_files(enter: Enter) -> None:
    page = enter("/skills/plain-one@1.0.0")
    expect(page.get_by_role("heading", name="Version 1.0.0")).to_be_visible()
    expect(page.locator(".compare")).to_have_count(0)


@pytest.mark.parametrize("path", ["@2.0.0", "@1.0.0?file=references/woods.md", "@1.1.0"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_of_it_stands_in_the_way_of_anybody(enter: Enter, path: str, scheme: str) -> None:
    page = enter(f"/skills/acme/whittle{path}", color_scheme=scheme)
    expect(page.locator(".markdown h1").first).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    assert faults(page) == []
    page.set_viewport_size({"width": 320, "height": 900})
    expect(page.locator("html")).to_have_js_property("scrollWidth", 320)


DIFFERENCES = """async () => {
  const { diff, changedFiles } = await import("/ui/js/later/diff.js");
  const lines = (number, text) => Array.from({ length: number }, (_, index) => `${text} ${index}\\n`).join("");
  return {
    same: diff("a\\nb\\n", "a\\nb\\n").hunks.length,
    none: diff("", "a\\n").hunks[0].lines,
    end: diff("a\\nb", "a\\nc").hunks[0].lines,
    different: diff(lines(600, "a"), lines(600, "b")),
    long: diff(lines(6000, "a"), lines(6000, "a")),
    moved: changedFiles([{path: "a", sha256: "1"}], [{path: "b", sha256: "1"}]).map(({kind, path}) => [kind, path]),
  };
}"""


def test_texts_that_are_too_long_or_too_different_are_not_compared(enter: Enter) -> None:
    found = enter("/skills/acme/whittle").evaluate(DIFFERENCES)
    assert found == {
        "same": 0,
        "none": [["+", "a"]],
        "end": [[" ", "a"], ["-", "b"], ["+", "c"]],
        "different": None,
        "long": None,
        "moved": [["moved", "b"]],
    }


def test_a_withdrawn_skill_says_why_and_what_to_use(enter: Enter, publishing: Registry) -> None:
    job = publishing.finished(publishing.publish(skill_package("carve", "1.0.0", "# Carve\n")))
    assert job["status"] == "accepted"
    admin = publishing.caller("root", "admin")
    note = {"reason": "its knife is <b>dull</b>", "replacement": "acme/whittle@^2"}
    publishing.http.post("/api/v1/registry/skills/acme/carve/deprecate", json=note, headers=admin).raise_for_status()
    page = enter("/skills/acme/carve")
    banner = page.get_by_role("note").filter(has_text="was deprecated")
    expect(banner).to_contain_text("its knife is <b>dull</b>")
    expect(banner).to_contain_text("Use acme/whittle@^2 instead.")
    assert faults(page) == []
    page.goto(f"{publishing.url}/?q=carve")
    expect(page.get_by_role("article").filter(has_text="carve").first).to_contain_text("deprecated")
