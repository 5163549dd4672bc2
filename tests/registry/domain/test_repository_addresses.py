"""Addresses of repositories as people paste them: each means one place, or is refused with the forms that are read."""

import pytest

from registry.domain.origins import GitOrigin, GitRef, Origin, ZipOrigin, address_within, classify, origin_at
from registry.domain.repository_addresses import RepositoryAddress, of_owner
from registry.errors import RegistryError

HASH = "0123456789abcdef0123456789abcdef01234567"
OTHER = "fedcba9876543210fedcba9876543210fedcba98"
REFS = {
    "refs/heads/main": HASH,
    "refs/heads/fix/ABC-123": HASH,
    "refs/heads/größe": HASH,
    "refs/heads/both": HASH,
    "refs/heads/v2": HASH,
    "refs/tags/both": OTHER,
    "refs/tags/v1.0.0": OTHER,
    "refs/tags/w/v1.0.0": OTHER,
}
REPO = "https://git.example/o/r"
AZURE = "https://dev.azure.com/org/my%20project/_git/r"
SKILLS_SH = ("https://skills.sh/o/r/pdf", "https://www.skills.sh/o/r/pdf?utm_source=x", "skills.sh/o/r/pdf")
SERVER, CLONED = "https://bitbucket.example/projects/KEY/repos/r", "https://bitbucket.example/scm/KEY/r.git"


def at(text: str) -> Origin:
    """Return what an address means in a repository with these refs."""
    found = classify(text)
    return origin_at(found, REFS) if isinstance(found, RepositoryAddress) else found


def git(folder: str | None = None, url: str = REPO, **ref: str) -> GitOrigin:
    return GitOrigin(url=url, ref=GitRef(**ref) if ref else None, subdir=folder)


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        (f"{REPO}/tree/main/skills/pdf", git("skills/pdf", branch="main")),
        (f"{REPO}/tree/main", git(branch="main")),
        (f"{REPO}.git/tree/main/a", git("a", f"{REPO}.git", branch="main")),
        (f"{REPO}/tree/v1.0.0/skills/pdf", git("skills/pdf", tag="v1.0.0")),
        (f"{REPO}/tree/fix/ABC-123/skills/pdf/", git("skills/pdf", branch="fix/ABC-123")),
        (f"{REPO}/tree/fix%2FABC-123/skills/pdf", git("skills/pdf", branch="fix/ABC-123")),
        (f"{REPO}/tree/gr%C3%B6%C3%9Fe/my%20skills/pdf", git("my skills/pdf", branch="größe")),
        (f"{REPO}/-/tree/w/v1.0.0/skills", git("skills", tag="w/v1.0.0")),
        (f"{REPO}/tree/both", git(branch="both")),
        (f"{REPO}/tree/refs/tags/both/a", git("a", tag="both")),
        (f"{REPO}/tree/both/a?ref_type=tags", git("a", tag="both")),
        (f"{REPO}/-/tree/main/skills/pdf?ref_type=heads", git("skills/pdf", branch="main")),
        (f"{REPO}/tree/{HASH}/a", git("a", commit=HASH)),
        (f"{REPO}/tree/{OTHER[:9]}/a", git("a", commit=OTHER)),
        (f"{REPO}/tree/HEAD/a", git("a")),
        (f"{REPO}/commit/{HASH}", git(commit=HASH)),
        (f"{REPO}/releases/tag/w/v1.0.0", git(tag="w/v1.0.0")),
        (f"{REPO}/blob/main/skills/pdf/SKILL.md", git("skills/pdf", branch="main")),
        (f"{REPO}/blob/main/skills/pdf/SKILL.md?plain=1#L3-L9", git("skills/pdf", branch="main")),
        (f"{REPO}/-/blob/main/skills/pdf/skill.md", git("skills/pdf", branch="main")),
        (f"{REPO}/blob/main/SKILL.md", git(branch="main")),
        (f"{REPO}/raw/refs/heads/main/a/SKILL.md", git("a", branch="main")),
        (f"{REPO}/src/branch/fix/ABC-123/a", git("a", branch="fix/ABC-123")),
        (f"{REPO}/src/tag/v1.0.0", git(tag="v1.0.0")),
        (f"{REPO}/src/commit/{HASH}/a/SKILL.md", git("a", commit=HASH)),
        (f"{REPO}/raw/branch/main/a/SKILL.md", git("a", branch="main")),
        (f"{REPO}/src/main/a/", git("a", branch="main")),
        ("https://bitbucket.org/o/r/src/main/", git(None, "https://bitbucket.org/o/r", branch="main")),
        ("https://h.example/g/s/t/r/-/tree/main/a", git("a", "https://h.example/g/s/t/r", branch="main")),
        ("http://h.example/one/tree/main/a", git("a", "http://h.example/one", branch="main")),
        ("http://h.example/one/src/branch/main/a", git("a", "http://h.example/one", branch="main")),
        ("https://h.example/o/tree/tree/main", git(None, "https://h.example/o/tree", branch="main")),
        (
            "https://raw.githubusercontent.com/o/r/refs/heads/main/a/SKILL.md",
            git("a", "https://github.com/o/r", branch="main"),
        ),
        ("https://raw.githubusercontent.com/o/r/v1.0.0/SKILL.md", git(None, "https://github.com/o/r", tag="v1.0.0")),
        (f"{REPO}.git#fix/ABC-123", git(None, f"{REPO}.git", branch="fix/ABC-123")),
        (f"{REPO}#v1.0.0", git(tag="v1.0.0")),
        (f"{REPO}#{HASH}", git(commit=HASH)),
        (f"{REPO}#main:skills/pdf", git("skills/pdf", branch="main")),
        (f"{REPO}?ref=v1.0.0", git(tag="v1.0.0")),
        (f"git+{REPO}.git@v1.0.0#subdirectory=skills/pdf", git("skills/pdf", f"{REPO}.git", tag="v1.0.0")),
        (f"git+{REPO}.git", git(None, f"{REPO}.git")),
        (f"{REPO}/", git()),
        (f"{REPO}?tab=readme-ov-file&utm_source=x", git()),
        ("github:o/r", git(None, "https://github.com/o/r")),
        ("github:o/r#v1.0.0", git(None, "https://github.com/o/r", tag="v1.0.0")),
        ("github:o/r/skills/pdf#main", git("skills/pdf", "https://github.com/o/r", branch="main")),
        ("github:o/r/skills/pdf", git("skills/pdf", "https://github.com/o/r")),
        ("gitlab:g/r", git(None, "https://gitlab.com/g/r")),
        ("github.com/o/r/tree/main/a", git("a", "https://github.com/o/r", branch="main")),
        (AZURE, git(None, AZURE)),
        (f"{AZURE}?path=/skills/pdf&version=GBmain", git("skills/pdf", AZURE, branch="main")),
        (f"{AZURE}?path=%2Fmy%20skills%2Fpdf%2FSKILL.md&_a=contents", git("my skills/pdf", AZURE)),
        (f"{AZURE}?version=GBfix%2FABC-123&line=3&lineEnd=4", git(None, AZURE, branch="fix/ABC-123")),
        (f"{AZURE}?version=GTboth&path=/a", git("a", AZURE, tag="both")),
        (f"{AZURE}?version=GC{HASH}", git(None, AZURE, commit=HASH)),
        (f"{AZURE}/tree/main/a", git("a", AZURE, branch="main")),
        ("dev.azure.com/org/p/_git/r?path=/a", git("a", "https://dev.azure.com/org/p/_git/r")),
        (
            "https://org.visualstudio.com/DefaultCollection/p/_git/r?path=/a&version=GBmain",
            git("a", "https://org.visualstudio.com/DefaultCollection/p/_git/r", branch="main"),
        ),
        (SERVER, git(None, CLONED)),
        (f"{SERVER}/browse", git(None, CLONED)),
        (f"{SERVER}/browse/my%20skills/pdf?at=refs%2Fheads%2Fmain", git("my skills/pdf", CLONED, branch="main")),
        (f"{SERVER}/browse/a/SKILL.md?at=refs%2Ftags%2Fboth#3", git("a", CLONED, tag="both")),
        (f"{SERVER}/raw/a/SKILL.md?at={HASH}", git("a", CLONED, commit=HASH)),
        (f"{SERVER}/commits/{HASH}", git(None, CLONED, commit=HASH)),
        (f"{CLONED}/tree/main/a", git("a", CLONED, branch="main")),
        (
            "https://h.example/git/users/ada/repos/r/browse/a",
            git("a", "https://h.example/git/scm/~ada/r.git"),
        ),
        ("https://skills.sh/o/r", git(None, "https://github.com/o/r")),
        (f"{REPO}/archive/refs/heads/main.zip", ZipOrigin(url=f"{REPO}/archive/refs/heads/main.zip")),
        (f"{REPO}/releases/download/v1/pdf.skill", ZipOrigin(url=f"{REPO}/releases/download/v1/pdf.skill")),
        (f"{REPO}/a.zip#skills/pdf", ZipOrigin(url=f"{REPO}/a.zip", subdir="skills/pdf")),
    ],
)
def test_an_address_means_one_place(text: str, origin: Origin) -> None:
    assert at(text) == origin


@pytest.mark.parametrize("text", ["o/r@pdf", "github:o/r@pdf", "https://github.com/o/r@pdf", *SKILLS_SH])
def test_an_address_may_name_a_skill(text: str) -> None:
    assert classify(text) == RepositoryAddress("https://github.com/o/r", skill="pdf")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("git@github.com:o/r.git", "write https://github.com/o/r.git"),
        ("ssh://git@git.example:2222/o/r.git", "write https://git.example/o/r.git"),
        ("git+ssh://git@git.example/o/r", "write https://git.example/o/r"),
        ("git@ssh.dev.azure.com:v3/org/p/r", "write https://dev.azure.com/org/p/_git/r"),
        ("https://skills.sh/o", "write https://skills.sh/OWNER/REPO/SKILL"),
        (f"{AZURE}?version=main", "no branch (GB)"),
        (f"{AZURE}?path=/a&x=1", "'x' in the query"),
        (f"{AZURE}?path=/a#main", "twice"),
        (f"{AZURE}?path=/../../etc", "path below the root"),
        (f"{SERVER}/raw/a/README.md", "no SKILL.md"),
        (f"{SERVER}/browse?at=--upload-pack=x", "name of a branch"),
        ("file:///srv/skills", "write the path of the folder, /srv/skills"),
        ("git://git.example/o/r", "https://git.example/o/r"),
        ("s3://bucket/skills", "s3 is not supported"),
        ("https://github.com/o/r/issues/5", "github:OWNER/REPO"),
        ("https://github.com/o/r/pull/5/files", "no folder of a repository"),
        (f"{REPO}/-/merge_requests/5", "no folder of a repository"),
        (f"{REPO}/blob/main/README.md", "'README.md' is no SKILL.md"),
        (f"{REPO}/tree/main#beta", "two refs, main and beta"),
        (f"{REPO}?path=%2Fa&version=GBmain", "'path' in the query"),
        (f"{REPO}/archive/main.tar.gz", "only .zip and .skill"),
        (f"{REPO}/tree/%FF/a", "percent signs"),
        (f"{REPO}#:a", "no branch, tag or commit"),
        ("github:o", "not OWNER/REPO"),
        (f"{REPO}/tree/main/%2e%2e/%2e%2e/etc", "path below the root"),
        (f"{REPO}/tree/--upload-pack=x/a", "name of a branch"),
        (f"{REPO}#--upload-pack=x", "name of a branch"),
        (f"{REPO}#a%0Ab", "name of a branch"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_forms(text: str, says: str) -> None:
    with pytest.raises(RegistryError) as error:
        classify(text)
    assert says in error.value.line


@pytest.mark.parametrize(
    "text",
    [
        *(f"{REPO}/tree/absent/a", f"{REPO}#fix", f"{REPO}#readme", f"{REPO}/src/tag/main/a", f"{REPO}#deadbee"),
        *(f"{REPO}/src/branch/v1.0.0", f"{REPO}/tree/refs/heads/v1.0.0", f"{REPO}/src/commit/main/a"),
    ],
)
def test_no_other_ref_is_taken_than_the_one_that_was_given(text: str) -> None:
    with pytest.raises(RegistryError, match="the repository has no") as error:
        at(text)
    assert "it has main, " in error.value.line


@pytest.mark.parametrize(
    "origin",
    [git("a b/c", branch="fix/ABC-123"), git("skills/pdf"), git("a", tag="v1.0.0"), git("a#b%", commit=HASH)],
)
def test_a_shown_address_is_understood(origin: GitOrigin) -> None:
    folder = origin.subdir or ""
    assert at(address_within(origin, folder)) == origin
    archive = ZipOrigin(url=f"{REPO}/a.zip", subdir=folder)
    assert at(address_within(ZipOrigin(url=archive.url), folder)) == archive


def test_a_folder_on_github_is_named_by_its_owner() -> None:
    assert of_owner("o/r/skills/pdf") == "https://github.com/o/r#HEAD:skills/pdf"
    assert of_owner("o/r") == "https://github.com/o/r"
    assert of_owner("../r") is None
