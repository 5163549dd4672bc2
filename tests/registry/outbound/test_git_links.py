"""Links in repositories: those within a repository become copies, all others are left out with a note."""

from pathlib import Path

import pytest

from registry.domain.origins import GitOrigin
from registry.outbound import AddressPolicy
from registry.outbound.git import Checkout, Git
from registry.outbound.git_run import GitError, GitLimits
from support.git_server import GitServer, Repository


@pytest.fixture
def skills(hub: GitServer) -> Repository:
    repository = hub.repository("linked")
    repository.commit(
        {
            "shared/rules.md": "The rules.\n",
            "shared/deep/more.md": "More.\n",
            "skills/own/SKILL.md": "own",
            "skills/own/note.md": "a note",
        }
    )
    return repository


def link(repository: Repository, path: str, target: str) -> None:
    place = repository.folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def fetched(hub: GitServer, into: Path, subdir: str | None = None, **limits: int) -> Checkout:
    git = Git(AddressPolicy([hub.host]), GitLimits(**limits))  # type: ignore[arg-type]
    return git.fetch(GitOrigin(url=hub.url("linked"), subdir=subdir), into / "out")


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("subdir", [None, "skills/own"])
def test_links_within_the_repository_become_copies(
    hub: GitServer, skills: Repository, tmp_path: Path, subdir: str | None
) -> None:
    link(skills, "skills/own/rules.md", "../../shared/rules.md")
    link(skills, "skills/own/references", "../../shared")
    link(skills, "skills/own/alias.md", "note.md")
    link(skills, "skills/own/chain.md", "alias.md")
    skills.commit()
    checkout = fetched(hub, tmp_path, subdir)
    folder = checkout.path if subdir else checkout.path / "skills/own"
    assert files(folder) == {
        "SKILL.md": "own",
        "note.md": "a note",
        "rules.md": "The rules.\n",
        "references/rules.md": "The rules.\n",
        "references/deep/more.md": "More.\n",
        "alias.md": "a note",
        "chain.md": "a note",
    }
    assert checkout.notes == ()
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../etc/passwd", "../..", "absent", "self", ".."])
def test_other_links_are_left_out_with_a_note(hub: GitServer, skills: Repository, tmp_path: Path, target: str) -> None:
    link(skills, "skills/own/self", target)
    skills.commit()
    checkout = fetched(hub, tmp_path)
    assert [note.path for note in checkout.notes] == ["skills/own/self"]
    assert set(files(checkout.path / "skills/own")) == {"SKILL.md", "note.md"}


def test_a_link_to_a_skill_is_another_name_of_it(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    link(skills, ".codex/skills/own", "../../skills/own")
    skills.commit()
    checkout = fetched(hub, tmp_path)
    assert checkout.notes == ()
    assert not (checkout.path / ".codex/skills/own").exists()


def test_a_skill_in_the_root_may_have_a_name_for_agents(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    """vercel-labs/skills 1396: such a link makes an installer copy the repository into itself."""
    link(skills, ".agents/skills/linked", "../..")
    skills.commit()
    (note,) = fetched(hub, tmp_path / "without").notes
    assert note.message == "is a link to a folder above it, and is left out"
    skills.commit({"SKILL.md": "linked"})
    checkout = fetched(hub, tmp_path)
    assert checkout.notes == ()
    assert not (checkout.path / ".agents/skills/linked").exists()


def test_a_folder_that_is_a_link_is_fetched_as_its_target(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    link(skills, ".codex/skills/own", "../../skills/own")
    skills.commit()
    checkout = fetched(hub, tmp_path, ".codex/skills/own")
    assert set(files(checkout.path)) == {"SKILL.md", "note.md"}


def test_copies_count_for_the_limit_of_a_repository(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    skills.commit({"shared/large.txt": "x" * 60_000})
    for number in range(10):
        link(skills, f"skills/own/copy{number}.txt", "../../shared/large.txt")
    skills.commit()
    checkout = fetched(hub, tmp_path, size=200_000)
    assert 0 < len(checkout.notes) < 10
    assert "more files than fit" in checkout.notes[0].message


@pytest.mark.parametrize("name", ["..", ".git"])
def test_a_link_into_a_malicious_tree_reads_nothing_of_this_machine(
    hub: GitServer, skills: Repository, tmp_path: Path, name: str
) -> None:
    (tmp_path / "config").write_text("a secret")
    link(skills, "skills/own/evil", "../../evil")
    skills.commit()
    blob = skills.git("rev-parse", "HEAD:shared/rules.md")
    inner = _tree(skills, "100644", "config", blob)
    for _ in range(3):
        inner = _tree(skills, "40000", name, inner)
    root = _with(skills, skills.git("rev-parse", "HEAD^{tree}"), "evil", inner)
    skills.git("update-ref", "refs/heads/main", skills.git("commit-tree", root, "-m", "evil"))
    try:
        checkout = fetched(hub, tmp_path, "skills/own")
    except GitError:
        return
    assert "a secret" not in files(checkout.path).values()
    assert set(files(checkout.path)) == {"SKILL.md", "note.md"}


def _tree(repository: Repository, mode: str, name: str, oid: str, before: bytes = b"") -> str:
    """Write a malicious tree object."""
    (repository.folder / "tree").write_bytes(before + f"{mode} {name}\0".encode() + bytes.fromhex(oid))
    tree = repository.git("hash-object", "-t", "tree", "--literally", "-w", "tree")
    (repository.folder / "tree").unlink()
    return tree


def _with(repository: Repository, tree: str, name: str, inner: str) -> str:
    """Return the tree with one more folder; names after it must sort behind it."""
    lines = repository.git("ls-tree", tree).splitlines()
    entries = [(*line.partition("\t")[0].split(), line.partition("\t")[2]) for line in lines]
    entries = sorted([*entries, ("040000", "tree", inner, name)], key=lambda entry: entry[3])
    data = b"".join(f"{mode.lstrip('0')} {path}\0".encode() + bytes.fromhex(oid) for mode, _, oid, path in entries[:-1])
    mode, _, oid, path = entries[-1]
    return _tree(repository, mode.lstrip("0"), path, oid, data)
