"""Git with real repositories on a real server: what is fetched, what is refused, and that nothing is executed."""

import os
import re
import socket
import stat
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from registry.domain.origins import GitOrigin, GitRef
from registry.outbound import AddressPolicy, OutboundError
from registry.outbound.git import Git
from registry.outbound.git_run import GitError, GitLimits, GitPlaceMissing
from registry.outbound.process_limits import ProcessLimits
from support.crafted_pack import crafted_repository
from support.git_server import GitServer, Repository
from support.web_server import WebServer, reply


@pytest.fixture
def skills(hub: GitServer) -> Repository:
    repository = hub.repository("skills")
    repository.commit({"pdf/SKILL.md": "first", "csv/SKILL.md": "first"})
    return repository


def git(hub: GitServer, **limits: float) -> Git:
    return Git(AddressPolicy([hub.host]), GitLimits(**limits))  # type: ignore[arg-type]


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def test_the_default_branch_is_fetched(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    commit = skills.commit({"pdf/SKILL.md": "second"})
    origin = GitOrigin(url=hub.url("skills"))
    assert git(hub).latest(origin) == commit
    assert git(hub).fetch(origin, tmp_path / "out") == (commit, tmp_path / "out", ())
    assert files(tmp_path / "out") == {"pdf/SKILL.md", "csv/SKILL.md"}


def test_a_repository_without_a_default_branch_names_its_branches(
    hub: GitServer, skills: Repository, tmp_path: Path
) -> None:
    skills.git("branch", "--move", "develop")
    skills.git("symbolic-ref", "HEAD", "refs/heads/gone")
    hub.repository("empty")
    url = hub.url("skills")
    for name, says in (
        ("skills", f"name one of its branches (develop), as in {url}#develop"),
        ("empty", "it is empty"),
    ):
        for read in (git(hub).latest, lambda origin: git(hub).fetch(origin, tmp_path / "out")):
            with pytest.raises(GitPlaceMissing, match=re.escape(f"{hub.url(name)} has no default branch: {says}")):
                read(GitOrigin(url=hub.url(name)))


def test_branches_tags_and_commits_are_distinguished(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    first = skills.git("rev-parse", "HEAD")
    skills.git("tag", "--annotate", "v1", "--message=one")
    skills.git("branch", "v1")
    skills.git("switch", "--quiet", "v1")
    second = skills.commit({"pdf/SKILL.md": "second"})
    expected = {GitRef(tag="v1"): first, GitRef(branch="v1"): second, GitRef(commit=first): first}
    for number, (ref, commit) in enumerate(expected.items()):
        origin = GitOrigin(url=hub.url("skills"), ref=ref)
        assert git(hub).latest(origin) == commit
        assert git(hub).fetch(origin, tmp_path / str(number)).commit == commit


def test_only_the_requested_folder_is_written(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    checkout = git(hub).fetch(GitOrigin(url=hub.url("skills"), subdir="pdf"), tmp_path / "out")
    assert checkout.path == tmp_path / "out/pdf"
    assert files(tmp_path / "out") == {"pdf/SKILL.md"}


@pytest.mark.parametrize("subdir", ["absent", "pdf/SKILL.md/x", "*", ":(glob)*"])
def test_a_missing_folder_is_refused_and_leaves_nothing(
    hub: GitServer, skills: Repository, tmp_path: Path, subdir: str
) -> None:
    with pytest.raises(GitError):
        git(hub).fetch(GitOrigin(url=hub.url("skills"), subdir=subdir), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_links_become_plain_files(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    (skills.folder / "pdf/SKILL.md").unlink()
    (skills.folder / "pdf/SKILL.md").symlink_to("/etc/passwd")
    (skills.folder / "etc").symlink_to("/etc")
    skills.commit()
    git(hub).fetch(GitOrigin(url=hub.url("skills")), tmp_path / "out")
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))
    assert (tmp_path / "out/pdf/SKILL.md").read_text() == "/etc/passwd"


def test_nothing_in_a_repository_is_executed(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    hook = skills.folder / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    config = f'[filter "lfs"]\n\tsmudge = touch {canary}\n[core]\n\tfsmonitor = touch {canary}\n'
    skills.commit({".gitattributes": "* filter=lfs\n", "model.bin": pointer, ".gitconfig": config})
    git(hub).fetch(GitOrigin(url=hub.url("skills")), tmp_path / "out")
    assert (tmp_path / "out/model.bin").read_text() == pointer
    assert not canary.exists()


def test_submodules_are_not_fetched(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    with WebServer() as inner:
        _submodule(skills, "inner", f"{inner.url}/inner.git")
        checkout = git(hub).fetch(GitOrigin(url=hub.url("skills")), tmp_path / "out")
        assert inner.connections == 0
    ((path, message),) = checkout.notes
    assert (path, message) == (
        "inner",
        f"is a submodule, whose files are not read: use its own repository, {inner.url}/inner.git",
    )
    assert files(tmp_path / "out") == {".gitmodules", "pdf/SKILL.md", "csv/SKILL.md"}


@pytest.mark.parametrize("folder", ["more/inner", "more/inner/skills/one"])
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:secret@git.example/o/r.git", "https://***@git.example/o/r.git"),
        ("git@git.example:o/r.git", "https://git.example/o/r.git"),
        ("../../other/.git", "http://{host}/other/.git"),
    ],
)
def test_a_folder_in_a_submodule_is_refused_with_its_repository(
    hub: GitServer, skills: Repository, tmp_path: Path, folder: str, url: str, shown: str
) -> None:
    _submodule(skills, "more/inner", url)
    with pytest.raises(GitError) as refused:
        git(hub).fetch(GitOrigin(url=hub.url("skills"), subdir=folder), tmp_path / "out")
    place = shown.replace("{host}", hub.host)
    assert f"more/inner, which is a submodule: use its own repository, {place}" in str(refused.value)


def _submodule(repository: Repository, path: str, url: str) -> None:
    head = repository.git("rev-parse", "HEAD")
    repository.commit({".gitmodules": f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n'})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},{path}")
    repository.git("commit", "--quiet", "--message=submodule")


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", ".."])
def test_a_tree_that_writes_into_the_git_folder_is_refused(
    hub: GitServer, skills: Repository, tmp_path: Path, name: str
) -> None:
    blob = skills.git("rev-parse", "HEAD:pdf/SKILL.md")
    inner = _tree(skills, f"100644 blob {blob}\tconfig")
    commit = skills.git("commit-tree", _tree(skills, f"040000 tree {inner}\t{name}"), "-m", "evil")
    skills.git("update-ref", "refs/heads/evil", commit)
    with pytest.raises(GitError):
        git(hub).fetch(GitOrigin(url=hub.url("skills"), ref=GitRef(branch="evil")), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "config").exists()


def _tree(repository: Repository, line: str) -> str:
    """Write a malicious tree object."""
    mode, _, rest = line.partition(" ")
    _, _, rest = rest.partition(" ")
    oid, _, name = rest.partition("\t")
    content = f"{mode.lstrip('0')} {name}\0".encode() + bytes.fromhex(oid)
    (repository.folder / "tree").write_bytes(content)
    tree = repository.git("hash-object", "-t", "tree", "--literally", "-w", "tree")
    (repository.folder / "tree").unlink()
    return tree


def test_private_addresses_are_refused(hub: GitServer) -> None:
    for url in (hub.url("skills"), f"http://2130706433:{hub.host.partition(':')[2]}/skills", "http://[::1]/skills"):
        with pytest.raises(OutboundError):
            Git(AddressPolicy()).latest(GitOrigin(url=url))
    assert hub.paths == []


def test_git_connects_to_the_checked_address(hub: GitServer, skills: Repository) -> None:
    port = hub.host.partition(":")[2]
    policy = AddressPolicy(["127.0.0.1/32"], lambda host, port: ["127.0.0.1"])
    origin = GitOrigin(url=f"http://nowhere.invalid:{port}/skills/.git")
    assert Git(policy).latest(origin) == skills.git("rev-parse", "HEAD")


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_an_ipv6_address_is_reached(tmp_path: Path) -> None:
    with GitServer(tmp_path / "hub", "::1") as hub:
        commit = hub.repository("skills").commit({"pdf/SKILL.md": "first"})
        policy = AddressPolicy(["::1/128"], lambda host, port: ["::1"])
        port = hub.host.rpartition(":")[2]
        for host in ("[::1]", "[0:0::1]", "six.invalid"):
            assert Git(policy).latest(GitOrigin(url=f"http://{host}:{port}/skills/.git")) == commit


def test_redirects_are_not_followed(hub: GitServer, skills: Repository) -> None:
    with WebServer() as inner:

        def elsewhere(request: BaseHTTPRequestHandler) -> bool:
            request.send_response(302)
            request.send_header("Location", f"{inner.url}{request.path}")
            request.end_headers()
            return True

        hub.before = elsewhere
        with pytest.raises(GitError):
            git(hub).latest(GitOrigin(url=hub.url("skills")))
        assert inner.connections == 0


def test_a_static_server_cannot_redirect_git(skills: Repository, tmp_path: Path) -> None:
    head = skills.git("rev-parse", "HEAD")
    with WebServer() as outer, WebServer() as inner:
        outer.answers |= {
            "/r/info/refs?service=git-upload-pack": reply(f"{head}\trefs/heads/main\n".encode()),
            "/r/HEAD": reply(b"ref: refs/heads/main\n"),
            "/r/objects/info/http-alternates": reply(f"{inner.url}/objects\n".encode()),
            "/r/objects/info/alternates": reply(f"{inner.url}/objects\n".encode()),
        }
        policy = AddressPolicy([outer.host])
        with pytest.raises(GitError):
            Git(policy).fetch(GitOrigin(url=f"{outer.url}/r"), tmp_path / "out")
        assert outer.connections > 1
        assert inner.connections == 0


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (403, b"", r"its server refuses access \(403\)"),
        (401, b"", r"its server wants a credential \(401\): its address is wrong, or it is private and .*"),
        (503, b"", r"its server has an error of its own \(503\): try again later"),
        (429, b"", r"its server got too many requests \(429\): try again later"),
        (200, b"<html>\nPlease sign in\n</html>\n", "something else than a repository, such as a web page"),
    ],
)
def test_an_answer_that_is_no_repository_is_explained(
    hub: GitServer, tmp_path: Path, status: int, body: bytes, reason: str
) -> None:
    def answer(request: BaseHTTPRequestHandler) -> bool:
        request.send_response(status)
        request.send_header("WWW-Authenticate", "Basic realm=hub")
        request.send_header("Content-Type", "text/html")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
        return True

    hub.before = answer
    origin = GitOrigin(url=hub.url("skills"))
    with pytest.raises(GitError, match=f"skills/.git cannot be read: .*{reason}$"):
        git(hub).latest(origin)
    with pytest.raises(GitError, match=f"skills/.git cannot be read: .*{reason}$"):
        git(hub).fetch(origin, tmp_path / "out")


def test_a_server_that_does_not_answer_times_out(hub: GitServer, tmp_path: Path) -> None:
    hub.before = lambda request: hub.stopping.wait()
    with pytest.raises(GitError, match="did not answer in time"):
        git(hub, seconds=0.5).fetch(GitOrigin(url=hub.url("skills")), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_repository_that_is_too_large_is_refused(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    skills.commit({"zeros": "0" * 1_000_000})
    origin = GitOrigin(url=hub.url("skills"))
    with pytest.raises(GitError, match="files of"):
        git(hub, size=900_000).fetch(origin, tmp_path / "out")
    (skills.folder / "noise").write_bytes(os.urandom(3_000_000))
    skills.commit()
    with pytest.raises(GitError, match="larger than"):
        git(hub, size=900_000).fetch(origin, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_pack_that_takes_more_memory_than_the_limit_is_refused(tmp_path: Path) -> None:
    answers = crafted_repository("/small", b"first", 2 << 20) | crafted_repository("/large", b"first", 512 << 20)
    with WebServer(answers) as web:
        limited = Git(AddressPolicy([web.host]), GitLimits(memory_bytes=256 << 20))
        limited.fetch(GitOrigin(url=f"{web.url}/small"), tmp_path / "small")
        with pytest.raises(GitError, match=r"needs more memory .* 268,435,456 bytes \(limits.git_memory_bytes\)"):
            limited.fetch(GitOrigin(url=f"{web.url}/large"), tmp_path / "large")
    assert files(tmp_path) == {"small/SKILL.md"}


def test_a_large_repository_needs_little_memory(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    skills.git("config", "core.compression", "0")  # so that a busy machine answers in time
    for name, content in {"noise": os.urandom(40 << 20), "zeros": bytes(20 << 20)}.items():
        (skills.folder / name).write_bytes(content)
    commit = skills.commit({f"many/{number}.md": f"{number}\n" * 9 for number in range(500)})
    (skills.folder / ".git/packed-refs").write_text("".join(f"{commit} refs/tags/v{n}\n" for n in range(5000)))
    limited = git(hub, memory_bytes=128 << 20, size=200 << 20)
    assert limited.latest(GitOrigin(url=hub.url("skills"), ref=GitRef(tag="v77"))) == commit
    limited.fetch(GitOrigin(url=hub.url("skills")), tmp_path / "out")
    assert len(files(tmp_path / "out")) == 504


def test_the_limits_hold_for_what_git_starts_and_where_a_system_refuses_one(tmp_path: Path) -> None:
    limits = ProcessLimits(memory_bytes=1 << 30, cpu_seconds=62, file_bytes=1 << 20)
    command = [*limits.command(["/bin/sh", "-c", "/bin/sh -c 'ulimit -v; ulimit -t; ulimit -n; ulimit -c'"])]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == [
        *("1048576", "62", "256", "0")
    ]
    command[2] = command[2].replace("ulimit -v", "ulimit -v none")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout.split()[1:], done.stderr) == (["62", "256", "0"], "")


def test_credentials_are_sent_but_never_shown(hub: GitServer, skills: Repository) -> None:
    git(hub).latest(GitOrigin(url=hub.url("skills", "ada:canary@")))
    assert hub.authorizations == ["Basic YWRhOmNhbmFyeQ=="]
    for url in (hub.url("absent", "ada:canary@"), hub.url("skills", "ada:canary@").replace("127.0.0.1", "127.0.0.2")):
        with pytest.raises(OutboundError) as error:
            git(hub).latest(GitOrigin(url=url))
        assert "canary" not in str(error.value)


def test_special_mode_bits_are_dropped(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    (skills.folder / "pdf/run.sh").write_text("#!/bin/sh\n")
    (skills.folder / "pdf/run.sh").chmod(0o6777)
    skills.commit()
    out = git(hub).fetch(GitOrigin(url=hub.url("skills")), tmp_path / "out").path
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o7111 for path in (out / "pdf").iterdir()}
    assert modes == {"SKILL.md": 0, "run.sh": 0o111}
