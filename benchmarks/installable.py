"""Counts how many of the listed skills of real collections are installed by the line that is shown.

    python benchmarks/installable.py FOLDER ... [--each 1] [--json OUT]

Each folder becomes a source of a running service. For each skill that the source lists, `skill-registry show` runs,
then the line that it prints, then `skill-registry uninstall`, through the code of the command and over HTTP. Of a skill
that says that it cannot be installed, the reason is kept. With `--each 10`, every tenth skill is tried.
"""

import argparse
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner, Result

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from registry.cli.main import main as command
from results_file import keep
from support.servers import RunningServer

LINE = "Install it: skill-registry "
REFUSED = "It cannot be installed: "
TARGET = 0.99
PATIENCE = ("--limits-source-wait-seconds", "600")


class Try(NamedTuple):
    """What became of a listed skill: installed and removed, said not to be installable, or why neither."""

    skill_id: str
    is_installed: bool = False
    refused: str | None = None
    failed: str | None = None


class Caller:
    """Runs the command in a project of its own, beside a service."""

    def __init__(self, server: RunningServer, home: Path) -> None:
        self._runner = CliRunner()
        self._env: dict[str, str | None] = {name: None for name in os.environ if name.startswith("SKILL_REGISTRY")}
        self._env |= {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "XDG_CACHE_HOME": str(home),
            "SKILL_REGISTRY_DATA_DIR": str(server.data_dir),
            "SKILL_REGISTRY_SKILLS_DIR": str(server.skills_dir),
            "SKILL_REGISTRY_PROJECT_FILE": str(server.manifest),
        }

    def run(self, *arguments: str) -> Result:
        """Run the command with these arguments."""
        return self._runner.invoke(command, arguments, env=self._env, terminal_width=1_000)

    def tried(self, skill_id: str) -> Try:
        """Show a skill, run the line that is shown, and remove what that installed."""
        shown = self.run("show", skill_id)
        lines = [line for line in shown.output.splitlines() if line.startswith((LINE, REFUSED))]
        if len(lines) != 1:
            return Try(skill_id, failed=f"no line is shown: {shown.output[-200:]}")
        if lines[0].startswith(REFUSED):
            return Try(skill_id, refused=lines[0].removeprefix(REFUSED))
        installed = self.run(*shlex.split(lines[0].removeprefix(LINE)), "--json")
        if installed.exit_code:
            return Try(skill_id, failed=installed.output[-500:])
        own_id = json.loads(installed.stdout)["results"][0]["id"]
        removed = self.run("uninstall", own_id)
        return Try(skill_id, is_installed=True, failed=removed.output[-500:] if removed.exit_code else None)


def listed(server: RunningServer, source: str) -> list[str]:
    """Return the ids of the skills that a source lists."""
    ids: list[str] = []
    while True:
        query = {"source": source, "limit": 100, "offset": len(ids)}
        page = [skill["id"] for skill in server.api("GET", "/skills", params=query).json()["data"]]
        ids += page
        if not page:
            return ids


def counted(root: Path, each: int) -> dict[str, Any]:
    """Return how many skills of a collection are listed, tried and installed, and each that is not, with the reason."""
    with tempfile.TemporaryDirectory() as folder, RunningServer(Path(folder), *PATIENCE) as server:
        caller = Caller(server, Path(folder, "home"))
        added = caller.run("sources", "add", "tried", str(root))
        assert added.exit_code == 0, added.output
        ids = listed(server, "tried")
        tries = [caller.tried(skill_id) for skill_id in ids[::each]]
    installed = sum(one.is_installed for one in tries)
    return {
        "listed": len(ids),
        "tried": len(tries),
        "installed": installed,
        "share": round(installed / max(1, len(tries)), 4),
        "cannot be installed, as shown": {one.skill_id: one.refused for one in tries if one.refused},
        "failed": {one.skill_id: one.failed for one in tries if one.failed},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Count, print and keep the figures. Exits with 1 below the target."""
    parser = argparse.ArgumentParser(
        description="Count the listed skills that are installed by the line that is shown."
    )
    parser.add_argument("folders", nargs="+", type=Path, help="collections of skills")
    parser.add_argument("--each", type=int, default=1, help="try every so many skills only")
    parser.add_argument("--json", type=Path, help="file for the results")
    chosen = parser.parse_args(arguments)
    collections = {}
    for folder in chosen.folders:
        collections[folder.name] = counted(folder.resolve(), chosen.each)
        print(folder.name, collections[folder.name])
    tried, installed = (sum(one[name] for one in collections.values()) for name in ("tried", "installed"))
    share = round(installed / max(1, tried), 4)
    print(f"installed {installed} of {tried}: {share}")
    keep(
        chosen.json,
        {"tried": tried, "installed": installed, "share": share, "target": TARGET, "collections": collections},
    )
    sys.exit(share < TARGET)


if __name__ == "__main__":
    main()
