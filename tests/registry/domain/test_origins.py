"""What one string, or one object, says of where a skill comes from."""

import subprocess
from typing import Any

import pytest

from registry.domain.origins import (
    GitOrigin,
    GitRef,
    HttpOrigin,
    LocalOrigin,
    Origin,
    SourceOrigin,
    ZipOrigin,
    checked_origin,
    classify,
    install_command,
    parse_origin,
)
from registry.errors import RegistryError

MAIN = GitRef(branch="main")
HASH = "0123456789abcdef0123456789abcdef01234567"

HOSTILE_URLS = [
    *("--upload-pack=touch canary", "ext::sh -c touch% canary", "file:///etc/passwd", "ssh://-oProxyCommand=x/y"),
    *("ssh://git@example.org/a", "git@example.org:a/b.git", "git://example.org/a", "https://", "http://127.1/a"),
    *("https://example.org/a b", "https://example.org/\u202ea", "https://exa\u0301mple.org/a", "-c core.sshCommand=x"),
]
HOSTILE_REFS = [
    *("--upload-pack=touch X", "--upload-pack=x", "-c core.sshCommand=x", "a..b", "@{-1}", "x:refs/heads/main", "@"),
    *("", "a b", "a\n", "a~1", "a^", "a?", "a*", "a[b", "a\\b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a/-b"),
    *("HEAD^{commit}", "a@{1}", "+a:b", "a\x00", "a\x7f", "x" * 201, "a."),
]


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("pdf", SourceOrigin(skill="pdf")),
        ("acme/pdf-forms", SourceOrigin(skill="acme/pdf-forms")),
        ("corp/acme.pdf-forms", SourceOrigin(skill="corp/acme.pdf-forms")),
        ("corp/acme.pdf@^1.2", SourceOrigin(skill="corp/acme.pdf", version="^1.2")),
        ("downloads/pdf.zip", LocalOrigin(path="downloads/pdf.zip")),
        (" acme/pdf@1.10.0 ", SourceOrigin(skill="acme/pdf", version="1.10.0")),
        ("./corp/acme.pdf", LocalOrigin(path="./corp/acme.pdf")),
        ("https://example.org/a/pdf.zip", ZipOrigin(url="https://example.org/a/pdf.zip")),
        ("HTTPS://example.org/PDF.ZIP?x=1", ZipOrigin(url="HTTPS://example.org/PDF.ZIP?x=1")),
        ("https://example.org/skills.git", GitOrigin(url="https://example.org/skills.git")),
        ("https://git.example/o/r/tree/main", GitOrigin(url="https://git.example/o/r", ref=MAIN)),
        ("https://git.example/o/r/tree/main/a/b/", GitOrigin(url="https://git.example/o/r", ref=MAIN, subdir="a/b")),
        ("https://git.example/o/r/-/tree/main/a", GitOrigin(url="https://git.example/o/r", ref=MAIN, subdir="a")),
        ("./skills/pdf", LocalOrigin(path="./skills/pdf")),
        ("~/My Skills", LocalOrigin(path="~/My Skills")),
        ("/srv/skills", LocalOrigin(path="/srv/skills")),
    ],
)
def test_a_string_means_one_thing(text: str, origin: Origin) -> None:
    assert parse_origin(text) == origin


@pytest.mark.parametrize("text", [*HOSTILE_URLS, "", "pdf@newest", "pdf@", "a\nb", "https://git.example/o/tree/a/../b"])
def test_a_string_that_could_mean_harm_is_refused(text: str) -> None:
    with pytest.raises(RegistryError) as error:
        classify(text)
    assert error.value.code == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ({"type": "git", "url": "https://e.org/r"}, GitOrigin(url="https://e.org/r")),
        (
            {"type": "git", "url": "https://e.org/r", "ref": {"commit": HASH}, "subdir": "a"},
            GitOrigin(url="https://e.org/r", ref=GitRef(commit=HASH), subdir="a"),
        ),
        ({"type": "local", "path": "/a", "editable": True}, LocalOrigin(path="/a", editable=True)),
        ({"type": "http", "url": "https://e.org/x"}, HttpOrigin(url="https://e.org/x")),
        ({"type": "source", "source": "acme", "skill": "pdf"}, SourceOrigin(source="acme", skill="pdf")),
    ],
)
def test_an_object_is_read_strictly(given: dict[str, Any], origin: Origin) -> None:
    assert parse_origin(given) == origin


@pytest.mark.parametrize("url", HOSTILE_URLS)
@pytest.mark.parametrize("kind", ["git", "http", "zip"])
def test_no_other_transport_is_taken(kind: str, url: str) -> None:
    with pytest.raises(RegistryError) as error:
        parse_origin({"type": kind, "url": url})
    assert [fault.field for fault in error.value.details] == ["origin.url"]


@pytest.mark.parametrize("ref", HOSTILE_REFS)
@pytest.mark.parametrize("kind", ["branch", "tag", "commit"])
def test_what_git_could_take_for_something_else_is_no_ref(kind: str, ref: str) -> None:
    with pytest.raises(RegistryError) as error:
        parse_origin({"type": "git", "url": "https://e.org/r", "ref": {kind: ref}})
    assert error.value.details[0].field == f"origin.ref.{kind}"


@pytest.mark.parametrize("ref", ["main", "v1.2.0", "feature/pdf_forms", "@acme/pdf@1.0.0", "größe"])
def test_names_people_use_are_refs(ref: str) -> None:
    origin = parse_origin({"type": "git", "url": "https://e.org/r", "ref": {"branch": ref}})
    assert isinstance(origin, GitOrigin)
    assert origin.ref == GitRef(branch=ref)


@pytest.mark.parametrize("ref", [{}, {"branch": "a", "tag": "b"}, {"branch": None}, "main", 5])
def test_a_ref_is_one_of_three(ref: object) -> None:
    with pytest.raises(RegistryError):
        parse_origin({"type": "git", "url": "https://e.org/r", "ref": ref})


@pytest.mark.parametrize("subdir", ["../a", "a/../b", "/a", "a//b", "a/", ".", "a/.git", ".GIT/x", "a\\b", "c:x", ""])
def test_a_folder_stays_below_the_root(subdir: str) -> None:
    with pytest.raises(RegistryError):
        parse_origin({"type": "git", "url": "https://e.org/r", "subdir": subdir})


@pytest.mark.parametrize("value", [None, 5, [], {}, {"type": "svn", "url": "https://e.org"}, {"type": "git"}])
def test_anything_else_is_no_origin(value: object) -> None:
    with pytest.raises(RegistryError) as error:
        parse_origin(value)
    assert error.value.details[0].field.startswith("origin")


def test_a_decoded_origin_is_checked_and_not_decoded_again() -> None:
    origin = ZipOrigin(url="https://example.org/a.zip")
    assert checked_origin(origin) is origin
    with pytest.raises(RegistryError, match=r"origin\.url"):
        checked_origin(ZipOrigin(url="file:///etc/passwd"))


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/$(id)",
        "https://example.org/a;id",
        "https://example.org/a`id`.zip",
        "https://example.org/a?b=1&c='2'",
        "/srv/my skills/pdf forms",
        '/srv/"x"/$HOME',
    ],
)
def test_a_shell_runs_nothing_of_an_address(address: str) -> None:
    command = install_command(address).replace("skill-registry install", "printf %s", 1)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (address, "")


def test_a_plain_address_stands_without_quotes() -> None:
    for address in ("https://example.org/a.zip#skills/pdf", "../pdf-forms", "acme/pdf@1.2.0", "/srv/表格"):
        assert install_command(address) == f"skill-registry install {address}"
