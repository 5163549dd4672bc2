"""`skill-registry mirror --all`: everything is fetched once, and kills at any point leave whole packages."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Done, steps
from support.mirrors import MirrorService, Upstream
from support.parties import Developer

NAMES = ("tea", "coffee", "water")


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstream]:
    with Upstream(tmp_path_factory.mktemp("upstream")) as running:
        for name in NAMES:
            running.release(name)
        running.release("tea", "1.1.0")
        running.release("leaky")
        running.withdraw("revoke", "leaky")
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, upstream: Upstream) -> Iterator[MirrorService]:
    with MirrorService(tmp_path_factory.mktemp("mirror"), upstream) as running:
        running.follow(upstream)
        yield running


class Operator:
    """An operator at the machine of a mirroring service."""

    def __init__(self, folder: Path, service: MirrorService, upstream: Upstream) -> None:
        self.folder = folder
        self.service = service
        hosts = upstream.address.removeprefix("http://")
        self.env = {
            "SKILL_REGISTRY_DATA_DIR": str(service.data_dir),
            "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": hosts,
        }

    def mirror(self, *args: str, **env: str) -> Done:
        """Run the command."""
        return Done(self.folder, "mirror", "corp", *args, **(self.env | env))

    def forget(self) -> None:
        """Remove all that the service keeps of the registry."""
        shutil.rmtree(self.service.data_dir / "mirrored", ignore_errors=True)

    def check(self) -> int:
        """Return the number of kept packages, each of which is whole."""
        packages = self.service.kept("packages", "*", "*")
        for path in packages:
            assert path.name.startswith(".skill-registry-") or _digest(path) == path.name
        return sum(not path.name.startswith(".") for path in packages)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def operator(tmp_path: Path, service: MirrorService, upstream: Upstream) -> Operator:
    return Operator(tmp_path, service, upstream)


def test_everything_but_what_is_revoked_is_fetched_once(operator: Operator, upstream: Upstream, tmp_path: Path) -> None:
    operator.forget()
    done = operator.mirror("--all", "--json")
    assert done.code == 0, done.out + done.error
    wanted = {"source": "corp", "packages": 4, "fetched": 4, "revoked": 1, "missing": {}}
    assert {name: done.json[name] for name in wanted} == wanted
    assert operator.check() == 4
    again = operator.mirror("--all")
    assert (again.code, "4" in again.out) == (0, True), again.error
    assert operator.mirror("--all", "--json").json["fetched"] == 0
    upstream.stop()
    try:
        developer = Developer(tmp_path / "developer", operator.service, operator.service.new_key())
        for name in NAMES:
            assert developer.run("install", f"acme/{name}").code == 0
        operator.mirror("--all").complains(1, "cannot answer")
    finally:
        upstream.start()


def test_a_kill_at_any_point_leaves_whole_packages(operator: Operator) -> None:
    operator.forget()
    count = steps(operator.folder, "mirror", "corp", "--all", env=operator.env)
    assert operator.check() == 4
    for kill_at in range(2, count, max(1, count // 8)):
        operator.forget()
        steps(operator.folder, "mirror", "corp", "--all", kill_at=kill_at, env=operator.env)
        kept = operator.check()
        done = operator.mirror("--all", "--json")
        assert (done.code, done.json["packages"]) == (0, 4), done.error
        assert done.json["fetched"] == 4 - kept
        assert operator.check() == 4


def test_a_limit_of_bytes_ends_a_run_with_the_reason(operator: Operator) -> None:
    operator.forget()
    done = operator.mirror("--all", "--json", SKILL_REGISTRY_LIMITS_MIRROR_BYTES="3500")
    assert done.code == 1
    assert "limits.mirror_bytes" in json.dumps(done.json) + done.error
    assert operator.check() < 4
    assert sum(path.stat().st_size for path in operator.service.kept("**", "*")) <= 4500
    assert operator.mirror("--all").code == 0


def test_wrong_usage(operator: Operator) -> None:
    for wrong in ((), ("--key", "x"), ("--all", "--import", "x"), ("--all", "--key", "x")):
        operator.mirror(*wrong).complains(2, "--all")
    Done(operator.folder, "mirror", "other", "--all", **operator.env).complains(1, "other", "not found")
