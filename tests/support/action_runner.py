"""A job that runs the steps of a composite action as GitHub's runner does."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

_EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
_NOT_OF_A_RUNNER = ("OPENAI", "SKILL_", "XDG_", "PYTHON", "VIRTUAL_ENV", "PYTEST", "ACTIONS_", "GITHUB_")


class StepFailed(Exception):
    """A step has ended with a code other than 0; the text is all that it said."""


class Step(NamedTuple):
    """A step of the action with a script for bash."""

    name: str
    script: str
    env: dict[str, str]


class ActionRunner:
    """A job in `workspace`, where the project is checked out; `temp` is the runner's folder for one job."""

    def __init__(self, folder: Path, temp: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.temp = temp

    def run(self, action: Path, inputs: Mapping[str, str], env: Mapping[str, str], *names: str) -> str:
        """Run the steps of an action with these names, each until one fails, and return what they say.

        Raises StepFailed.
        """
        said = ""
        for step in steps(action, inputs):
            if step.name in names:
                said += self._run(action, step, env)
        return said

    def _run(self, action: Path, step: Step, env: Mapping[str, str]) -> str:
        script = self.temp / f"{step.name.replace(' ', '-')}.sh"
        script.write_text(step.script)
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            env={**_environment(), **self._context(action), **env, **step.env},
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=500,
            check=False,
        )
        if done.returncode:
            raise StepFailed(done.stdout)
        return done.stdout

    def _context(self, action: Path) -> dict[str, str]:
        return {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(action.parent),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": str(self.temp),
        }


def steps(action: Path, given: Mapping[str, str]) -> list[Step]:
    """Return the steps of a composite action, with the inputs in place."""
    about: dict[str, Any] = yaml.safe_load(action.read_text())
    assert about["runs"]["using"] == "composite"
    assert given.keys() <= about["inputs"].keys()
    inputs = {name: given.get(name, one.get("default")) for name, one in about["inputs"].items()}
    assert all(inputs[name] for name, one in about["inputs"].items() if one.get("required"))

    def value(match: re.Match[str]) -> str:
        context, _, name = match[1].partition(".")
        assert context == "inputs", f"this runner has no {match[1]}"
        return str(inputs[name])

    assert all(step["shell"] == "bash" for step in about["runs"]["steps"])
    return [
        Step(
            step["name"],
            _EXPRESSION.sub(value, step["run"]),
            {name: _EXPRESSION.sub(value, text) for name, text in step.get("env", {}).items()},
        )
        for step in about["runs"]["steps"]
    ]


def _environment() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if not name.startswith(_NOT_OF_A_RUNNER)}
