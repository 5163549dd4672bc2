"""What the guard of the registry profile costs: throughput with it, divided by that of the same route without.

Both servers run side by side on catalogs of the same skills and are asked in turn, several rounds; the median of the
rounds' ratios counts. Rate limits are set out of the way: counting is part of the cost, refusing is not.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import load

ROUNDS = 15
WARM_UP = 4
REQUESTS = 1500
CLIENTS = 8
SKILLS = 200

COMMAND = str(Path(sys.executable).with_name("skill-registry"))


def write_skills(folder: Path) -> list[str]:
    """Write skill folders and return their ids."""
    ids = [f"skill-{number}" for number in range(SKILLS)]
    for number, skill_id in enumerate(ids):
        (folder / skill_id).mkdir(parents=True)
        text = f"---\nname: {skill_id}\ndescription: Turns document {number} into table {number * 7}.\n---\n# Steps\n"
        (folder / skill_id / "SKILL.md").write_text(text)
    return ids


def serve_command(folder: Path, *more: str) -> list[str]:
    """Return the command that serves the skills in `folder` with a data directory of its own."""
    return [
        COMMAND, "serve", "--host", "127.0.0.1", "--port", "{port}", "--embedding-provider", "none",
        "--skills-dir", str(folder / "skills"), "--log-level", "error", *more,
    ]  # fmt: skip


def key_of(data_dir: Path) -> str:
    """Return a new API key of a data directory."""
    command = [COMMAND, "keys", "create", "--role", "manager", "--data-dir", str(data_dir), "--json"]
    return str(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["key"])


def token_of(data_dir: Path) -> str:
    """Return a token of a data directory."""
    command = [COMMAND, "token", "--role", "manager", "--data-dir", str(data_dir)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def routes(port: int, ids: Sequence[str], credential: str, number: int) -> dict[str, list[bytes]]:
    """Return the requests of each route that is measured, with a header line more; new queries for each round."""

    def of(path: str, body: bytes | None = None) -> bytes:
        head, _, rest = load.request(path, port, body).partition(b"\r\n")
        return head + b"\r\n" + credential.encode() + rest

    def search(text: str) -> bytes:
        return of("/api/v1/search", json.dumps({"query": text, "mode": "keyword"}).encode())

    repeated = [search("document into table")] * REQUESTS
    return {
        "GET /api/v1/skills/{id}": [of(f"/api/v1/skills/{ids[n % SKILLS]}") for n in range(REQUESTS)],
        "GET /api/v1/skills": [of("/api/v1/skills")] * REQUESTS,
        "POST /api/v1/search, words": [search(f"document {n} table {number}") for n in range(REQUESTS)],
        "POST /api/v1/search, repeated": repeated,
    }


def measure(folder: Path, served: Any) -> dict[str, dict[str, float]]:
    """Return, for every route and kind of credential, the median ratio of throughputs; `served` starts a server."""
    ids = write_skills(folder / "skills")
    limits = ("--limits-reads-per-minute", "100000000", "--data-dir", str(folder / "registry"))
    plain = served(serve_command(folder, "--data-dir", str(folder / "local")), "/healthz")
    guarded = served(serve_command(folder, "--profile", "registry", *limits), "/healthz")
    credentials = {
        "token": f"Authorization: Bearer {token_of(folder / 'registry')}\r\n",
        "API key": f"x-api-key: {key_of(folder / 'registry')}\r\n",
    }
    found: dict[str, dict[str, float]] = {}
    for kind, credential in credentials.items():
        found[kind] = _ratios({plain.port: "", guarded.port: credential}, ids)
    plain.stop()
    guarded.stop()
    return found


def _ratios(credentials: dict[int, str], ids: Sequence[str]) -> dict[str, float]:
    measured: dict[str, list[list[float]]] = {}
    for number in range(ROUNDS + WARM_UP):
        ports = list(credentials) if number % 2 else list(reversed(credentials))  # neither is always the second
        asked = {port: routes(port, ids, credentials[port], number) for port in ports}
        for name in asked[ports[0]]:
            throughput = {port: load.run(port, asked[port][name], CLIENTS).throughput for port in ports}
            measured.setdefault(name, []).append([throughput[port] for port in credentials])
    return {
        name: statistics.median(guarded / plain for plain, guarded in rounds[WARM_UP:])
        for name, rounds in measured.items()
    }
