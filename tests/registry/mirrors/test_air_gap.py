"""An export of a mirror is carried to a service that reaches no registry, and its developers install from it."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.commands import Done, steps
from support.mirrors import MirrorService, Upstream
from support.parties import Developer


class Gap(NamedTuple):
    """The key of the registry, an export of its mirror, and a service that reaches nothing."""

    key: str
    exported: Path
    service: MirrorService
    env: dict[str, str]

    def take(self, folder: Path, *args: str) -> Done:
        """Import a folder at the service."""
        return Done(self.service.data_dir, "mirror", "corp", "--import", str(folder), *args, **self.env)

    def forget(self) -> None:
        """Remove all that the service keeps."""
        shutil.rmtree(self.service.data_dir / "mirrored", ignore_errors=True)


@pytest.fixture(scope="module")
def gap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gap]:
    folder = tmp_path_factory.mktemp("gap")
    exported = folder / "carried"
    with Upstream(folder / "upstream") as upstream, MirrorService(folder / "mirror", upstream) as mirror:
        for name in ("tea", "water", "leaky"):
            upstream.release(name)
        mirror.follow(upstream)
        env = {
            "SKILL_REGISTRY_DATA_DIR": str(mirror.data_dir),
            "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": upstream.address.removeprefix("http://"),
        }
        assert Done(folder, "mirror", "corp", "--all", **env).code == 0
        upstream.withdraw("revoke", "leaky")
        done = Done(folder, "mirror", "corp", "--all", "--export", str(exported), "--json", **env)
        assert done.code == 0, done.error
        assert (done.json["exported"]["packages"], done.json["exported"]["skills"]) == (2, 3)
        Done(folder, "mirror", "corp", "--export", str(exported), **env).complains(1, "exists")
        key = upstream.get("/api/v1/log/key").json()["data"]["key"]
        address = upstream.address
    source = {"name": "corp", "type": "registry", "url": address, "mirror": True}
    sources = {"SKILL_REGISTRY_SOURCES": json.dumps([source])}
    with MirrorService(folder / "alone", upstream, env=sources) as service:
        yield Gap(key, exported, service, {**sources, "SKILL_REGISTRY_DATA_DIR": str(service.data_dir)})


def test_an_export_is_installed_from_without_a_network(gap: Gap, tmp_path: Path) -> None:
    done = gap.take(gap.exported, "--key", gap.key, "--json")
    assert done.code == 0, done.error
    assert done.json["imported"] == {**done.json["imported"], "skills": 3, "packages": 2}
    developer = Developer(tmp_path / "developer", gap.service, gap.service.new_key())
    for name in ("tea", "water"):
        installed = developer.run("install", f"acme/{name}")
        assert installed.code == 0, installed.error
    assert developer.run("verify", "--log", "--key", gap.key).code == 0
    refused = developer.run("install", "acme/leaky@1.0.0")
    assert (refused.code, "revoked" in refused.error) == (1, True)
    assert gap.take(gap.exported).code == 0


def test_a_changed_byte_of_an_export_is_refused_before_anything_is_kept(gap: Gap, tmp_path: Path) -> None:
    gap.forget()
    names = [path.relative_to(gap.exported) for path in gap.exported.rglob("*") if path.is_file()]
    assert len(names) == 8
    for number, name in enumerate(names):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(gap.exported, copy)
        content = (copy / name).read_bytes()
        middle = len(content) // 2
        (copy / name).write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        gap.take(copy).complains(1, "refused")
        assert not gap.service.kept("**", "*")


def test_a_folder_that_is_no_export_of_this_registry_is_refused(gap: Gap, tmp_path: Path) -> None:
    gap.forget()
    gap.take(tmp_path / "missing").complains(1, "no folder")
    (tmp_path / "empty").mkdir()
    gap.take(tmp_path / "empty").complains(1, "mirror.json")
    more = tmp_path / "more"
    shutil.copytree(gap.exported, more)
    (more / "packages" / "extra").write_bytes(b"x")
    gap.take(more).complains(1, "packages/extra")
    (more / "packages" / "extra").unlink()
    (more / "packages" / "link").symlink_to("/etc/passwd")
    gap.take(more).complains(1, "neither a file nor a folder")
    gap.take(gap.exported, "--key", gap.key.replace("+", "x+", 1)).complains(1, "key")
    assert not gap.service.kept("**", "*")


def test_a_killed_import_leaves_whole_files_and_is_continued(gap: Gap) -> None:
    arguments = ("mirror", "corp", "--import", str(gap.exported))
    gap.forget()
    count = steps(gap.service.data_dir, *arguments, **gap.env)
    for kill_at in range(2, count, max(1, count // 5)):
        gap.forget()
        steps(gap.service.data_dir, *arguments, kill_at=kill_at, **gap.env)
        assert gap.take(gap.exported).code == 0
        assert len(gap.service.kept("packages", "*", "[0-9a-f]*")) == 2
