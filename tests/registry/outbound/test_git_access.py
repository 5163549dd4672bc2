"""Repositories that have moved, that are private, or of which one small folder is wanted."""

import os
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from registry.domain.origins import GitOrigin, GitRef
from registry.outbound import AddressPolicy, Authorities, OutboundClient, OutboundError, parse_url
from registry.outbound.git import Checkout, Git
from registry.outbound.git_access import GitAccess, GitCredential
from registry.outbound.git_run import GitError, GitLimits
from support.authority import Authority
from support.git_server import GitServer, Repository
from support.web_server import WebServer

ADA = "Basic YWRhOmNhbmFyeQ=="


@pytest.fixture
def skills(hub: GitServer) -> Repository:
    repository = hub.repository("skills")
    repository.commit({"pdf/SKILL.md": "first", "csv/SKILL.md": "first"})
    return repository


def git(hub: GitServer, credentials: Sequence[GitCredential] = (), **limits: Any) -> Git:
    return Git(AddressPolicy([hub.host]), GitLimits(**limits), GitAccess(credentials=credentials), client(hub))


def client(hub: GitServer) -> OutboundClient:
    return OutboundClient(AddressPolicy([hub.host]))


def redirect_to(hub: GitServer, base: str) -> None:
    """Redirect what is below /old/, as hosts do with repositories that were renamed."""

    def moved(request: BaseHTTPRequestHandler) -> bool:
        if not request.path.startswith("/old/"):
            return False
        request.send_response(301)
        request.send_header("Location", base + request.path.removeprefix("/old"))
        request.send_header("Content-Length", "0")
        request.end_headers()
        return True

    hub.before = moved


def test_a_renamed_repository_is_read_at_its_new_address(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    redirect_to(hub, "")
    origin = GitOrigin(url=f"http://ada:canary@{hub.host}/old/skills/.git", subdir="pdf")
    commit = skills.git("rev-parse", "HEAD")
    assert git(hub).latest(origin) == commit
    assert git(hub).fetch(origin, tmp_path / "out") == Checkout(commit, tmp_path / "out/pdf")
    assert set(hub.authorizations) == {ADA}


def test_a_repository_that_has_moved_to_another_host_is_named(hub: GitServer, skills: Repository) -> None:
    with WebServer() as other:
        redirect_to(hub, other.url)
        origin = GitOrigin(url=f"http://ada:canary@{hub.host}/old/skills/.git")
        with pytest.raises(GitError) as error:
            git(hub).latest(origin)
        assert f"has moved to {other.url}/skills/.git: use that address" in str(error.value)
        assert "canary" not in str(error.value)
        assert other.connections == 0


def test_a_repository_that_is_redirected_for_ever_is_refused(hub: GitServer, skills: Repository) -> None:
    redirect_to(hub, "/old/more")
    with pytest.raises(GitError, match="redirected more than 5 times"):
        git(hub).latest(GitOrigin(url=f"http://{hub.host}/old/skills/.git"))


def test_a_credential_goes_to_its_origin_only(hub: GitServer, skills: Repository) -> None:
    origin = GitOrigin(url=hub.url("skills"))
    git(hub, [GitCredential(f"http://{hub.host}", "ada", "canary")]).latest(origin)
    assert set(hub.authorizations) == {ADA}
    hub.authorizations.clear()
    others = [f"https://{hub.host}", f"http://127.0.0.1:{hub.port + 1}", "http://127.0.0.1", "http://other.example"]
    git(hub, [GitCredential(other, "ada", "canary") for other in others]).latest(origin)
    assert set(hub.authorizations) == {None}


def test_a_program_is_asked_for_the_password(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    program, asked = tmp_path / "askpass", tmp_path / "asked"
    program.write_text(f'#!/bin/sh\necho "$1" >> {asked}\necho canary\n')
    program.chmod(0o700)

    def protected(request: BaseHTTPRequestHandler) -> bool:
        if request.headers["Authorization"] == ADA:
            return False
        request.send_response(401)
        request.send_header("WWW-Authenticate", 'Basic realm="private"')
        request.send_header("Content-Length", "0")
        request.end_headers()
        return True

    hub.before = protected
    origin = GitOrigin(url=hub.url("skills"))
    credential = GitCredential(f"http://{hub.host}", "ada", None, str(program))
    assert git(hub, [credential]).latest(origin) == skills.git("rev-parse", "HEAD")
    assert asked.read_text() == f"Password for 'http://ada@{hub.host}': \n"
    asked.unlink()
    with pytest.raises(GitError):
        git(hub, [credential._replace(origin="http://other.example")]).latest(origin)
    assert not asked.exists()


def test_a_netrc_file_has_credentials_for_https(tmp_path: Path) -> None:
    file = tmp_path / "netrc"
    file.write_text("machine git.corp login ada password canary\nmachine other.corp login eve password other\n")
    file.chmod(0o600)
    access = GitAccess(netrc_file=file)

    def header(url: str) -> list[str]:
        return [value for value in access.configuration(parse_url(url)).values() if "Authorization" in value]

    assert header("https://git.corp/skills") == [f"Authorization: {ADA}"]
    for url in ("http://git.corp/skills", "https://git.corp:8443/skills", "https://third.corp/skills"):
        assert header(url) == []
    file.write_text("machine")
    with pytest.raises(OutboundError, match="netrc_file cannot be read: its syntax is wrong"):
        header("https://git.corp/skills")
    file.unlink()
    with pytest.raises(OutboundError, match="netrc_file cannot be read: No such file"):
        header("https://git.corp/skills")


def test_an_authority_of_its_own_is_trusted_by_git(hub: GitServer, skills: Repository, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    authority.secure(hub.server, "git.corp")
    policy = AddressPolicy([f"git.corp:{hub.port}"], lambda host, port: ["127.0.0.1"])
    origin = GitOrigin(url=f"https://git.corp:{hub.port}/skills/.git")
    trusting = Git(policy, access=GitAccess(authorities=Authorities(authority.certificate)))
    assert trusting.latest(origin) == skills.git("rev-parse", "HEAD")
    with pytest.raises(GitError, match="certificate"):
        Git(policy).latest(origin)


@pytest.fixture
def large(hub: GitServer) -> Repository:
    """A repository that is larger than the limit, with a small skill in it."""
    repository = hub.repository("large")
    for number in range(3):
        (repository.folder / f"noise{number}").write_bytes(os.urandom(2_000_000))
    repository.commit({"skills/pdf/SKILL.md": "small", "skills/csv/SKILL.md": "other"})
    return repository


def test_a_small_folder_of_a_large_repository_is_fetched_alone(
    hub: GitServer, large: Repository, tmp_path: Path
) -> None:
    large.git("config", "uploadpack.allowFilter", "true")
    origin = GitOrigin(url=hub.url("large"), subdir="skills/pdf")
    fetched = git(hub, size=1_000_000).fetch(origin, tmp_path / "out")
    assert fetched == Checkout(large.git("rev-parse", "HEAD"), tmp_path / "out/skills/pdf")
    assert [path.read_text() for path in tmp_path.rglob("out/**/*") if path.is_file()] == ["small"]
    for ref in (GitRef(branch="main"), GitRef(commit=fetched.commit)):
        git(hub, size=1_000_000).fetch(GitOrigin(url=origin.url, subdir="skills/pdf", ref=ref), tmp_path / "again")
    large.commit({"skills/pdf/large.bin": "0" * 2_000_000})
    with pytest.raises(GitError, match=r"larger than 1,000,000 bytes \(limits.git_bytes\)"):
        git(hub, size=1_000_000).fetch(origin, tmp_path / "more")
    for missing in ("skills/absent", "noise0/x"):
        with pytest.raises(GitError, match=f"has no folder {missing}"):
            git(hub, size=1_000_000).fetch(GitOrigin(url=origin.url, subdir=missing), tmp_path / "more")
    with pytest.raises(GitError, match=r"has no folder pdf, but skills/pdf$"):
        git(hub, size=1_000_000).fetch(GitOrigin(url=origin.url, subdir="pdf"), tmp_path / "more")
    with pytest.raises(GitError, match=r"larger than 1,000,000 bytes \(limits.git_bytes\)"):
        git(hub, size=1_000_000).fetch(GitOrigin(url=origin.url), tmp_path / "more")


def test_a_folder_with_links_elsewhere_gets_what_they_lead_to(
    hub: GitServer, large: Repository, tmp_path: Path
) -> None:
    large.git("config", "uploadpack.allowFilter", "true")
    (large.folder / "skills/pdf/more.md").symlink_to("../csv/SKILL.md")
    large.commit()
    fetched = git(hub).fetch(GitOrigin(url=hub.url("large"), subdir="skills/pdf"), tmp_path / "out")
    assert (fetched.path / "more.md").read_text() == "other"


def test_a_server_without_filters_sends_all(hub: GitServer, large: Repository, tmp_path: Path) -> None:
    large.git("config", "uploadpack.allowFilter", "false")
    origin = GitOrigin(url=hub.url("large"), subdir="skills/pdf")
    assert git(hub).fetch(origin, tmp_path / "out").commit == large.git("rev-parse", "HEAD")
    with pytest.raises(GitError, match=r"larger than 1,000,000 bytes \(limits.git_bytes\)"):
        git(hub, size=1_000_000).fetch(origin, tmp_path / "more")


def test_a_server_that_sends_no_single_files_sends_all(hub: GitServer, large: Repository, tmp_path: Path) -> None:
    large.git("config", "uploadpack.allowFilter", "true")

    def old_protocol(request: BaseHTTPRequestHandler) -> bool:
        del request.headers["Git-Protocol"]  # the first version refuses objects that are no tips of refs
        return False

    hub.before = old_protocol
    origin = GitOrigin(url=hub.url("large"), subdir="skills/pdf")
    assert git(hub).fetch(origin, tmp_path / "out").commit == large.git("rev-parse", "HEAD")
    assert (tmp_path / "out/skills/pdf/SKILL.md").read_text() == "small"
