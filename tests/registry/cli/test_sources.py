"""`skill-registry sources`: on a data directory, and through the server that runs on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Done
from support.git_server import GitServer, Repository
from support.publishing import Registry
from support.servers import RunningServer, write_skill

SKILL = "---\nname: pdf\ndescription: Fill in pdf forms.\n---\n"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(tmp_path / "hub") as server:
        server.repository("skills").commit({"pdf/SKILL.md": SKILL})
        yield server


@pytest.fixture
def folder(tmp_path: Path, hub: GitServer) -> Path:
    write_skill(tmp_path / "skills", "local-skill", "A skill of this machine.")
    write_skill(tmp_path / "elsewhere", "csv", "Clean csv files.")
    (tmp_path / "registry.toml").write_text(f'data_dir = "data"\n[outbound]\nallowed_hosts = ["{hub.host}"]\n')
    assert Done(tmp_path, "scan").code == 0
    return tmp_path


def test_a_repository_is_added_searched_refreshed_and_removed(folder: Path, hub: GitServer) -> None:
    added = Done(folder, "sources", "add", "hub", hub.url("skills", "ada:canary@"), "--json")
    assert (added.code, added.json["sources"][0]["skills"]) == (0, 1)
    assert "canary" not in added.out + added.error
    assert Done(folder, "search", "pdf forms", "--json").json["skills"][0]["skill"]["id"] == "hub/pdf"
    assert [one["skills"] for one in Done(folder, "sources", "refresh", "--json").json["sources"]] == [1, 1]
    (again,) = Done(folder, "sources", "refresh", "hub", "--json").json["sources"]
    assert (again["name"], again["error"]) == ("hub", None)
    Done(folder, "sources", "refresh", "absent").complains(1, "there is no source 'absent'")
    assert Done(folder, "sources", "remove", "hub").code == 0
    assert [one["name"] for one in Done(folder, "sources", "list", "--json").json["sources"]] == ["local"]


def test_a_folder_is_told_by_its_path(folder: Path) -> None:
    done = Done(folder, "sources", "add", "near", "elsewhere")
    assert (done.code, done.error) == (0, "")
    near = Done(folder, "sources", "list", "--json").json["sources"][1]
    assert (near["type"], near["path"], near["skills"]) == ("local", str(folder / "elsewhere"), 1)
    assert "near" in Done(folder, "sources", "list").out


def test_a_zip_is_told_by_its_name(folder: Path, hub: GitServer) -> None:
    url = f"http://{hub.host}/absent.zip"
    added = Done(folder, "sources", "add", "pack", url, "--json").json["sources"][0]
    assert (added["type"], added["skills"], added["url"]) == ("zip", 0, url)


def test_what_is_amiss_is_shown(folder: Path, hub: GitServer) -> None:
    added = Done(folder, "sources", "add", "broken", hub.url("absent"))
    assert (added.code, added.out.count("broken")) == (1, 2)
    assert "'skill-registry sources remove broken' removes it" in added.error
    assert "broken:" in Done(folder, "sources", "list").out
    assert Done(folder, "sources", "refresh").code == 1


def test_a_registry_that_wants_a_key_is_a_failure(tmp_path: Path, folder: Path) -> None:
    with Registry(tmp_path / "registry") as registry:
        allowed = {"SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": "127.0.0.1"}
        done = Done(folder, "sources", "add", "team", registry.url, "--json", **allowed)
    assert (done.code, done.json["sources"][0]["skills"]) == (1, 0)
    assert "key" in done.json["sources"][0]["error"]


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        (("local", "https://example.org/a"), "the name local is reserved"),
        (("../x", "https://example.org/a"), "name: must be 1 to 64 characters"),
        (("x", "http://127.1/a"), "127.1 is not a valid host name"),
        (("x", "ext::sh -c x", "--type", "git"), "url: must be an http:// or https:// URL"),
        (("x", "./registry.toml"), "./registry.toml is a file: name the folder"),
        (("x", "https://example.org/a", "--branch=--upload-pack=touch"), "branch: must be the name of a branch"),
        (("x", "https://example.org/a", "--type", "http", "--branch", "main"), "only a source of type git"),
    ],
)
def test_what_is_no_source_is_wrong_use(folder: Path, args: tuple[str, ...], rule: str) -> None:
    Done(folder, "sources", "add", *args).complains(2, rule)


def test_an_unknown_source_cannot_be_removed(folder: Path) -> None:
    Done(folder, "sources", "remove", "absent").complains(1, "absent")
    Done(folder, "sources", "remove", "local").complains(1, "configured or built in")


def test_a_running_server_is_spoken_to(tmp_path: Path, hub: GitServer) -> None:
    with RunningServer(tmp_path, "--outbound-allowed-host", hub.host) as server:
        data = ("--data-dir", str(server.data_dir))
        assert Done(tmp_path, "sources", "add", "hub", hub.url("skills"), *data).code == 0
        assert server.found("pdf") == ["hub/pdf"]
        assert [one["skills"] for one in Done(tmp_path, "sources", "refresh", "--json", *data).json["sources"]] == [
            0,
            1,
        ]
        Done(tmp_path, "sources", "add", "hub", hub.url("skills"), *data).complains(1, "already exists")
        assert Done(tmp_path, "sources", "remove", "hub", "--server", server.url).code == 0
        assert server.found("pdf") == []


def test_the_address_of_a_repository_names_a_ref_and_a_folder(folder: Path, hub: GitServer) -> None:
    repository = hub.repository("mono")
    repository.commit({"skills/old/SKILL.md": SKILL})
    repository.git("checkout", "--quiet", "-b", "fix/new")
    repository.commit({"more/new/SKILL.md": SKILL.replace("pdf", "new", 1)})
    repository.git("tag", "v2")
    repository.git("checkout", "--quiet", "main")
    url = hub.url("mono")
    forms = {
        "tree": (f"{url}/tree/fix/new/more", f"{url}/tree/fix/new/more", 1),
        "fragment": (f"{url}#fix/new", f"{url}/tree/fix/new", 2),
        "tag": (f"{url}/tree/v2/more?ref_type=tags", f"{url}/tree/refs/tags/v2/more", 1),
        "plain": (f"{url}/?tab=readme", url, 1),
        "pip": (f"git+{url}@v2#subdirectory=more", f"{url}/tree/v2/more", 1),
    }
    for name, (given, shown, count) in forms.items():
        source = Done(folder, "sources", "add", name, given, "--json").json["sources"][0]
        assert (source["type"], source["url"], source["skills"], source["error"]) == ("git", shown, count, None), name
    assert Done(folder, "sources", "refresh").code == 0
    installed = Done(folder, "install", "tree/new", "--json")
    assert installed.json["results"][0]["id"] == "new", installed.error
    repository.git("checkout", "--quiet", "fix/new")
    repository.commit({"more/new/notes.md": "new"})
    assert Done(folder, "upgrade", "new", "--json").json["results"][0]["outcome"] == "updated"


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("git@github.com:o/r.git", "write https://github.com/o/r.git"),
        ("https://github.com/o/r/issues", "no folder of a repository"),
        ("https://git.example/o/r/tree/main#beta", "two refs"),
        ("https://github.com/o/r@pdf", "not a skill"),
    ],
)
def test_an_address_that_is_no_source_is_refused(folder: Path, location: str, says: str) -> None:
    done = Done(folder, "sources", "add", "hub", location)
    assert done.code != 0
    assert says in done.error
    assert len(Done(folder, "sources", "list", "--json").json["sources"]) == 1


def test_a_ref_that_is_not_there_is_an_error_of_the_source(folder: Path, hub: GitServer) -> None:
    source = Done(folder, "sources", "add", "hub", f"{hub.url('skills')}#absent", "--json").json["sources"][0]
    assert "no branch, tag or commit 'absent'; it has main" in source["error"]


@pytest.mark.parametrize(
    "command", [["sources", "list"], ["sources", "refresh"], ["search", "pdf"], ["install", "hub/pdf"], ["upgrade"]]
)
def test_configured_sources_work_before_the_first_start(tmp_path: Path, hub: GitServer, command: list[str]) -> None:
    config = f'[outbound]\nallowed_hosts = ["{hub.host}"]\n[[sources]]\nname = "hub"\ntype = "git"\n'
    (tmp_path / "registry.toml").write_text(f'{config}url = "{hub.url("skills")}"\n')
    done = Done(tmp_path, *command)
    assert (done.code, "catalog" in done.error) == (0, False), done.error
    assert [one["skills"] for one in Done(tmp_path, "sources", "list", "--json").json["sources"]][1] == 1


def test_without_sources_a_command_says_that_there_is_no_catalog(tmp_path: Path) -> None:
    done = Done(tmp_path, "search", "pdf")
    assert done.code != 0
    assert "holds no catalog yet" in done.error


def test_an_upgrade_looks_at_the_source_as_it_is_now(folder: Path, hub: GitServer) -> None:
    Done(folder, "sources", "add", "hub", hub.url("skills"))
    assert Done(folder, "install", "hub/pdf").code == 0
    repository = Repository.at(hub.folder / "skills")
    repository.git("mv", "pdf", "documents")
    repository.commit({"documents/SKILL.md": SKILL + "\nNew.\n"})
    (row,) = Done(folder, "upgrade", "pdf", "--json").json["results"]
    assert row["reason"] == (
        "source 'hub' does not list it any more: skill-registry uninstall pdf, then "
        "skill-registry install hub/documents"
    )
    repository.git("mv", "documents", "pdf")
    repository.commit()
    assert Done(folder, "upgrade", "pdf", "--json").json["results"][0]["outcome"] == "updated"
    repository.git("rm", "-r", "pdf")
    repository.commit()
    (row,) = Done(folder, "upgrade", "pdf", "--json").json["results"]
    assert "'skill-registry uninstall pdf' removes it" in row["reason"]
    Done(folder, "sources", "remove", "hub")
    (row,) = Done(folder, "upgrade", "pdf", "--json").json["results"]
    assert f"was removed: 'skill-registry sources add hub {hub.url('skills')}' adds it again" in row["reason"]


def test_an_installed_skill_has_what_its_plugin_says(folder: Path, hub: GitServer) -> None:
    manifest = '{"name": "office", "version": "2.4.0", "license": "MIT", "author": {"name": "Ada"}}'
    repository = hub.repository("office")
    own = SKILL.replace("pdf", "own", 1).replace("---\n", "---\nlicense: Apache-2.0\n", 1)
    files = {".claude-plugin/plugin.json": manifest, "skills/pdf/SKILL.md": SKILL, "skills/own/SKILL.md": own}
    repository.commit(files)
    Done(folder, "sources", "add", "office", hub.url("office"))
    assert Done(folder, "install", "office/pdf@3.0.0").code != 0
    installed = Done(folder, "install", "office/pdf@^2.4", "office/own", "--json").json["results"]
    assert [row["resolved_version"] for row in installed] == ["2.4.0", "2.4.0"]

    def facts(skill_id: str) -> tuple[str, str, str]:
        (skill,) = [hit["skill"] for hit in Done(folder, "search", skill_id, "--json").json["skills"][:1]]
        return skill["version"], skill["author"], skill["license"]

    assert facts("pdf") == ("2.4.0", "Ada", "MIT")
    assert facts("own") == ("2.4.0", "Ada", "Apache-2.0")
    assert Done(folder, "upgrade", "pdf", "--json").json["results"][0]["outcome"] == "up_to_date"
    repository.commit({".claude-plugin/plugin.json": manifest.replace("2.4.0", "2.5.0")})
    row = Done(folder, "upgrade", "pdf", "--json").json["results"][0]
    assert (row["outcome"], row["resolved_version"]) == ("updated", "2.5.0")
    assert facts("pdf") == ("2.5.0", "Ada", "MIT")
    Done(folder, "scan")
    assert facts("pdf") == ("2.5.0", "Ada", "MIT")
