"""Installing what people paste: addresses of repositories, of skills in them, and of archives."""

from collections.abc import Iterator

import pytest

from support.install_world import World, install_world, skill_md
from support.web_server import reply
from support.zips import plain_zip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with install_world(tmp_path_factory.mktemp("addresses")) as world:
        mono = world.hub.repository("mono")
        mono.commit({f"skills/{name}/SKILL.md": skill_md(name) for name in ("one", "two", "three")})
        mono.git("checkout", "--quiet", "-b", "fix/ABC-1")
        mono.commit({"skills/two/SKILL.md": skill_md("two", "2.0.0"), "skills/tagged/SKILL.md": skill_md("tagged")})
        mono.git("tag", "--annotate", "w/v2", "--message", "x")
        mono.commit({"skills/tagged/SKILL.md": skill_md("tagged", "3.0.0")})
        mono.git("checkout", "--quiet", "main")
        yield world


def test_the_longest_name_that_is_a_ref_is_the_ref(world: World) -> None:
    two = world.installed(origin=f"{world.hub.url('mono')}/tree/fix/ABC-1/skills/two")
    assert (two["version"], two["source_branch"]) == ("2.0.0", "fix/ABC-1")
    asked = [path for path in world.hub.paths if path.startswith("/mono/") and "info/refs" in path]
    assert len(asked) == 2  # one for the refs and one for the files
    tagged = world.installed(origin=f"{world.hub.url('mono')}/-/blob/w/v2/skills/tagged/SKILL.md?ref_type=tags")
    assert (tagged["version"], tagged["source_branch"]) == ("1.0.0", "w/v2")
    assert world.upgraded("tagged")["outcome"] == "immutable"


def test_a_repository_with_several_skills_has_an_address_for_each(world: World) -> None:
    refused = world.install(origin=world.hub.url("mono"))
    messages = [fault["message"] for fault in refused.json()["error"]["details"]]
    names = ("one", "three", "two")
    assert f"must name one of the skills: {', '.join(f'skills/{name}' for name in names)}" in messages
    lines = [message for message in messages if message.startswith("skill-registry install ")]
    assert [line.rpartition("/")[2] for line in lines] == list(names)
    one = world.installed(origin=lines[0].removeprefix("skill-registry install "))
    assert one["id"] == "one"


def test_pages_that_are_not_below_their_repository_are_installed_from_it(world: World) -> None:
    for name in ("scm/KEY/r.git", "project/_git/r"):
        repository = world.hub.repository(name)
        skill = f"of-{name.partition('/')[0]}"
        repository.commit({f"skills/{skill}/SKILL.md": skill_md(skill), "skills/b/SKILL.md": skill_md(f"b-{skill}")})
    base = f"http://{world.hub.host}"
    assert world.installed(origin=f"{base}/projects/KEY/repos/r/browse/skills/of-scm?at=refs%2Fheads%2Fmain")
    azure = f"{base}/project/_git/r?path=/skills/of-project&version=GBmain"
    assert world.installed(origin=azure)["source_url"] == f"{base}/project/_git/r"
    added = world.server.api("POST", "/registry/sources", json={"name": "azure", "url": azure})
    assert (added.status_code, added.json()["data"]["type"]) == (201, "git"), added.text


def test_the_only_skill_of_a_repository_is_installed_from_its_folder(world: World) -> None:
    repository = world.hub.repository("single")
    repository.commit(
        {"tools/skills/sole/SKILL.md": skill_md("sole"), ".claude/skills/sole/SKILL.md": skill_md("sole")}
    )
    sole = world.installed(origin=world.hub.url("single"))
    assert (sole["id"], sole["warnings"]) == ("sole", ["the skill is in tools/skills/sole, the only one there"])
    again = world.install(origin=world.hub.url("single"))
    assert (again.status_code, again.headers["Location"]) == (409, "/api/v1/skills/sole"), again.text
    repository.commit({"skills/second/SKILL.md": skill_md("second"), "tools/skills/sole/more.md": "More."})
    assert world.upgraded("sole")["outcome"] == "updated"
    several = world.install(origin=world.hub.url("single"))
    assert "must name one of the skills: skills/second, tools/skills/sole" in several.text


def test_the_command_for_a_folder_with_a_blank_is_one_that_a_shell_reads(world: World) -> None:
    folder = world.folder / "my packs"
    for name in ("eleven", "twelve"):
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text(skill_md(name))
    refused = world.install(origin={"type": "local", "path": str(folder)})
    messages = [fault["message"] for fault in refused.json()["error"]["details"]]
    assert messages[-2:] == [f"skill-registry install '{folder}/{name}'" for name in ("eleven", "twelve")], messages


def test_a_zip_with_several_skills_has_an_address_for_each(world: World) -> None:
    files = {f"pack-1/skills/{name}/SKILL.md": skill_md(name).encode() for name in ("eight", "nine")}
    url = f"{world.web.url}/pack.zip"
    world.web.answers["/pack.zip"] = reply(plain_zip(files))
    refused = world.install(origin=url)
    messages = [fault["message"] for fault in refused.json()["error"]["details"]]
    assert messages[-2:] == [f"skill-registry install {url}#pack-1/skills/{name}" for name in ("eight", "nine")]
    assert world.installed(origin=f"{url}#pack-1/skills/nine")["id"] == "nine"
    world.web.answers["/pack.zip"] = reply(plain_zip({"pack-1/skills/ten/SKILL.md": skill_md("ten").encode()}))
    assert world.installed(origin=url)["warnings"] == ["the skill is in pack-1/skills/ten, the only one there"]
    (world.folder / "pack.zip").write_bytes(plain_zip(files))
    local = world.install(origin={"type": "local", "path": str(world.folder / "pack.zip")})
    assert "has the skills pack-1/skills/eight, pack-1/skills/nine: unpack it" in local.text
    (world.folder / "delta.zip").write_bytes(plain_zip({"pack-2/skills/delta/SKILL.md": skill_md("delta").encode()}))
    delta = world.installed(origin={"type": "local", "path": str(world.folder / "delta.zip")})
    assert (delta["id"], delta["warnings"]) == ("delta", ["the skill is in pack-2/skills/delta, the only one there"])
    assert world.upgraded("delta")["outcome"] == "up_to_date"
    changed = {"pack-3/skills/delta/SKILL.md": skill_md("delta").encode() + b"More.\n"}
    (world.folder / "delta.zip").write_bytes(plain_zip(changed))
    assert world.upgraded("delta")["outcome"] == "updated"


def test_a_repository_of_submodules_names_their_repositories(world: World) -> None:
    repository = world.hub.repository("modules")
    modules = '[submodule "pdf"]\n\tpath = skills/pdf\n\turl = https://git.example/ada/pdf.git\n'
    head = repository.commit({".gitmodules": modules})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},skills/pdf")
    repository.git("commit", "--quiet", "--message=submodule")
    for tail in ("", "/tree/main/skills", "/tree/main/skills/pdf", "/tree/main/skills/pdf/deep"):
        refused = world.install(origin=world.hub.url("modules") + tail)
        assert (refused.status_code, "use its own repository, https://git.example/ada/pdf.git" in refused.text) == (
            400,
            True,
        ), refused.text


def test_an_installed_pointer_of_git_lfs_is_told_of(world: World) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    world.hub.repository("lfs").commit({"deck/SKILL.md": skill_md("deck"), "deck/assets/base.pptx": pointer})
    (told,) = world.installed(origin=f"{world.hub.url('lfs')}/tree/main/deck")["warnings"]
    assert told.startswith("assets/base.pptx is a pointer of git LFS, not the file")


def test_a_single_skill_file_at_a_url_is_installed(world: World) -> None:
    world.web.answers["/skills/solo/SKILL.md"] = reply(b"---\ndescription: Does one thing.\n---\n# Solo\n")
    solo = world.installed(origin={"type": "http", "url": f"{world.web.url}/skills/solo/SKILL.md"})
    assert (solo["id"], solo["description"]) == ("solo", "Does one thing.")


def test_no_other_ref_is_installed(world: World) -> None:
    for tail in ("#absent", "/tree/absent/skills/one", "/src/tag/main/skills/one", "#fix"):
        refused = world.install(origin=world.hub.url("mono") + tail)
        assert (refused.status_code, "the repository has no" in refused.text) == (400, True), refused.text


def test_a_folder_of_a_zip_and_a_skill_archive_are_installed(world: World) -> None:
    files = {f"repo-main/skills/{name}/SKILL.md": skill_md(name).encode() for name in ("four", "five")}
    world.web.answers["/archive/refs/heads/main.zip"] = reply(plain_zip(files))
    world.web.answers["/six.skill"] = reply(plain_zip({"six/SKILL.md": skill_md("six").encode()}))
    url = f"{world.web.url}/archive/refs/heads/main.zip"
    assert world.installed(origin=f"{url}#repo-main/skills/four")["id"] == "four"
    assert world.installed(origin=f"{world.web.url}/six.skill")["id"] == "six"


def test_a_source_with_credentials_lends_them_to_its_addresses(world: World) -> None:
    world.publish("seven")
    before = len(world.hub.authorizations)
    world.installed(origin=f"{world.hub.url('skills')}/tree/main/skills/seven")
    assert any(world.hub.authorizations[before:])
