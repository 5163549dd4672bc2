"""The files of every version, and the forms in which a file is sent: hostile ones run and load nothing."""

import hashlib
from collections.abc import Iterator

import pytest

from support.publishing import Registry, skill_package

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'
HTML = b"<html><script>alert(1)</script></html>"
BODY = """# Drawn

![inside](assets/plan.png) ![outside](https://evil.example/x.png) ![above](../../x.png) <script>alert(1)</script>
"""
NOTES = b"---\nname: ignored\n---\n# Notes\n\n![up](../assets/plan.png) <img src=x.png onerror=alert(1)>\n"
OLD = skill_package("drawn", "1.0.0", "# Drawn\n", files={"notes/more.md": b"# Old\n"})
NEW = skill_package(
    "drawn",
    "1.1.0",
    BODY,
    files={
        "assets/plan.png": PNG,
        "assets/fake.png": SVG,
        "assets/page.gif": HTML,
        "notes/more.md": NOTES,
    },
)
SKILL = "/api/v1/skills/acme/drawn"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("versions")) as running:
        for package in (OLD, NEW):
            assert running.finished(running.publish(package))["status"] == "accepted"
        yield running


def test_the_files_of_every_version_are_listed_with_their_digests(registry: Registry) -> None:
    def listed(version: str) -> dict[str, tuple[int, str]]:
        answer = registry.get(f"{SKILL}/versions/{version}/files")
        assert answer.status_code == 200, answer.text
        return {file["path"]: (file["size"], file["sha256"]) for file in answer.json()["data"]}

    assert set(listed("1.0.0")) == {"SKILL.md", "notes/more.md"}
    assert listed("1.1.0")["assets/plan.png"] == (len(PNG), hashlib.sha256(PNG).hexdigest())
    assert listed("1.0.0")["notes/more.md"] != listed("1.1.0")["notes/more.md"]


def test_a_file_of_an_older_version_is_sent_as_it_was(registry: Registry) -> None:
    old = registry.get(f"{SKILL}/versions/1.0.0/files/notes/more.md")
    assert (old.status_code, old.content) == (200, b"# Old\n")
    assert old.headers["Content-Type"].startswith("text/plain")
    assert registry.get(f"{SKILL}/versions/1.1.0/files/notes/more.md").content == NOTES
    assert registry.get(f"{SKILL}/files/notes/more.md").content == NOTES


@pytest.mark.parametrize("path", ["2.0.0/files", "2.0.0/files/SKILL.md", "1.0.0/files/assets/plan.png", "x/files"])
def test_what_is_not_there_is_not_found(registry: Registry, path: str) -> None:
    answer = registry.get(f"{SKILL}/versions/{path}")
    assert (answer.status_code, answer.json()["success"]) == (404, False)


def test_nobody_reads_them_without_a_credential(registry: Registry) -> None:
    for path in ("files", "files/SKILL.md", "files/assets/plan.png?format=image"):
        assert registry.http.get(f"{SKILL}/versions/1.1.0/{path}").status_code == 401


def test_a_yanked_version_is_read_and_a_revoked_one_is_not(registry: Registry) -> None:
    admin = registry.caller("root", "admin")
    for version in ("1.0.0", "1.1.0"):
        package = skill_package("withdrawn", version, f"# {version}\n")
        registry.finished(registry.publish(package))
    change = "/api/v1/registry/skills/acme/withdrawn/1.0.0"
    place = "/api/v1/skills/acme/withdrawn/versions/1.0.0/files/SKILL.md"
    assert registry.http.post(f"{change}/yank", headers=admin).status_code == 200
    assert b"# 1.0.0" in registry.get(place).content
    assert registry.http.post(f"{change}/revoke", headers=admin).status_code == 200
    assert registry.get(place).status_code == 409


@pytest.mark.parametrize("place", [f"{SKILL}/files", f"{SKILL}/versions/1.1.0/files"])
def test_an_image_is_known_by_its_bytes_and_can_do_nothing(registry: Registry, place: str) -> None:
    answer = registry.get(f"{place}/assets/plan.png?format=image")
    assert (answer.status_code, answer.content) == (200, PNG)
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    for name in ("assets/fake.png", "assets/page.gif", "SKILL.md"):
        refused = registry.get(f"{place}/{name}?format=image")
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("place", [f"{SKILL}/files", f"{SKILL}/versions/1.1.0/files"])
def test_markdown_is_rendered_with_the_images_of_its_own_version(registry: Registry, place: str) -> None:
    answer = registry.get(f"{place}/SKILL.md?format=html")
    assert answer.headers["Content-Type"].startswith("text/html")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert f'<img src="{place}/assets/plan.png?format=image" alt="inside">' in answer.text
    assert "outside above" in answer.text
    assert "<script" not in answer.text
    notes = registry.get(f"{place}/notes/more.md?format=html").text
    assert notes.startswith("<h1>Notes</h1>")
    assert f'<img src="{place}/assets/plan.png?format=image" alt="up">' in notes
    assert "onerror" not in notes
    assert registry.get(f"{place}/assets/plan.png?format=html").status_code == 400


def test_the_text_of_a_skill_names_its_images(registry: Registry) -> None:
    content = registry.get(f"{SKILL}/content?format=html").json()["data"]["content"]
    assert f'<img src="{SKILL}/files/assets/plan.png?format=image" alt="inside">' in content
    assert "evil.example" not in content


def test_a_form_that_does_not_exist_is_refused(registry: Registry) -> None:
    assert registry.get(f"{SKILL}/files/SKILL.md?format=svg").status_code == 400
