"""The constraints files are what pyproject.toml asks for: complete, pinned, hashed, and without addresses."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "constraints"
STALE = "the constraints files are older than pyproject.toml: run `make constraints` and commit what it writes"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENTRY = re.compile(r"^([\w.-]+)==(\S+)(?: ; ([^\\\n]+))?(.*(?:\n    .*)*)", re.MULTILINE)
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))

spec = importlib.util.spec_from_file_location("renew", FOLDER / "renew.py")
assert spec is not None
assert spec.loader is not None
renew = importlib.util.module_from_spec(spec)
spec.loader.exec_module(renew)


def versions(*names: str) -> dict[str, set[Version]]:
    """Return the versions of each package in constraints files: several, if they depend on the platform."""
    result: dict[str, set[Version]] = {}
    for name in names:
        for package, version, *_ in ENTRY.findall((FOLDER / f"{name}.txt").read_text()):
            result.setdefault(canonicalize_name(package), set()).add(Version(version))
    return result


def files_until(name: str) -> list[str]:
    return list(renew.FILES)[: list(renew.FILES).index(name) + 1]


@pytest.mark.parametrize("name", renew.FILES)
def test_what_the_project_requires_is_locked(name: str) -> None:
    extras = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"], *(text for extra in renew.FILES[name] for text in extras[extra])]
    locked = versions(*files_until(name))
    for requirement in map(Requirement, texts + list(renew.BUILD if name == "build" else ())):
        if requirement.name != PROJECT["name"]:
            of_package = locked.get(canonicalize_name(requirement.name), set())
            assert of_package, f"{requirement}: {STALE}"
            assert all(version in requirement.specifier for version in of_package), f"{requirement}: {STALE}"


def test_every_extra_is_in_a_file() -> None:
    assert {extra for extras in renew.FILES.values() for extra in extras} == set(PROJECT["optional-dependencies"])
    assert sorted([*renew.FILES, *renew.ALONE]) == NAMES


def test_what_the_locked_packages_require_is_locked() -> None:
    locked = versions(*renew.FILES)
    for package in locked:
        try:
            texts = metadata.requires(package) or []
        except metadata.PackageNotFoundError:
            continue  # of another platform
        for requirement in map(Requirement, texts):
            needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if needed and requirement.name != "torch":
                assert canonicalize_name(requirement.name) in locked, f"{package} requires {requirement}: {STALE}"


@pytest.mark.parametrize("name", NAMES)
def test_every_package_has_hashes_and_no_address(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text()
    assert "://" not in text
    entries = ENTRY.findall(text)
    assert entries
    assert all("--hash=sha256:" in entry[-1] for entry in entries)
    assert len([line for line in text.splitlines() if line[0] not in " #"]) == len(entries)


def test_what_differs_from_its_hash_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "install.py").write_text((FOLDER / "install.py").read_text())
    package = tmp_path / "small-1.0-py3-none-any.whl"
    package.write_bytes(b"not what was locked")
    (tmp_path / "wrong.txt").write_text(f"small @ {package.as_uri()} --hash=sha256:{'0' * 64}\n")
    done = subprocess.run(
        [sys.executable, tmp_path / "install.py", "wrong"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "DO NOT MATCH THE HASHES" in done.stderr
