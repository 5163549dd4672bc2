"""CPU time of the commands that talk to a server, divided by that of `import click, msgspec, httpx, rich`.

    python benchmarks/command_start.py [--rounds 15] [--json OUT]

A real server in registry mode answers. Each round runs every command once, in turn with the imports; the median of the
rounds counts. CPU time is user and system time of the process, from start to exit.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.publishing import Registry
from support.servers import COMMAND, write_skill

IMPORTS = [sys.executable, "-c", "import click, msgspec, httpx, rich"]
LIMIT = 1.3


def cpu_ms(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Run a command, which must succeed, and return its CPU time in milliseconds."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return (usage.ru_utime + usage.ru_stime) * 1000


def publish(folder: Path, number: int) -> list[str]:
    """Return the arguments that publish a new skill."""
    return ["publish", str(write_skill(folder / "new", f"skill-{number}", f"Does thing number {number}."))]


def measure(rounds: int) -> dict[str, Any]:
    """Return milliseconds and ratio for each command. The first round warms up and does not count."""
    with tempfile.TemporaryDirectory() as name, Registry(Path(name)) as registry:
        folder = Path(name)
        server = ["--server", registry.url]
        token = registry.caller()["Authorization"].removeprefix("Bearer ")
        # The interpreter caches bytecode, as it does for an installed package.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"XDG_CONFIG_HOME": str(folder / "config"), "SKILL_REGISTRY_CLIENT_API_KEY": token}
        cpu_ms([COMMAND, *publish(folder, rounds + 1), *server], environment)  # a search without results exits with 3
        times: dict[str, list[float]] = {}
        for number in range(rounds + 1):
            commands = {
                "--version": [COMMAND, "--version"],
                "--help": [COMMAND, "--help"],
                "search --server": [COMMAND, "search", "thing", *server],
                "publish": [COMMAND, *publish(folder, number), *server],
                "login": [COMMAND, "login", "--api-key", *server],
            }
            imports = [cpu_ms(IMPORTS, environment)]
            for label, command in commands.items():
                taken = cpu_ms(command, environment)
                imports.append(cpu_ms(IMPORTS, environment))
                if number:
                    times.setdefault(label, []).append(taken)
                    times.setdefault(f"{label} ratio", []).append(taken / statistics.mean(imports[-2:]))
    return {label: round(statistics.median(values), 2) for label, values in times.items()}


def main() -> None:
    """Measure once; exit with 1 if a command is above the limit."""
    parser = argparse.ArgumentParser(description="Measure the CPU time of the light commands.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    figures = measure(arguments.rounds)
    results = {"rounds": arguments.rounds, "limit of the ratios": LIMIT, "median, CPU ms and ratio": figures}
    Console().print(results)
    keep(arguments.json, results)
    sys.exit(any(value > LIMIT for label, value in figures.items() if label.endswith("ratio")))


if __name__ == "__main__":
    main()
