"""What the protocols of other clients cost: a search by MCP, its tokens, and the start of the service.

    python benchmarks/protocols.py --skills DIR [--baseline SRC] [--rounds 15] [--json OUT]

A real local service holds the skill folders below DIR with their vectors. `search_skills` and `POST /api/v1/search` get
the same queries, the descriptions of skills, each of them once; a few of one and the same few of the other take turns.
A query is new to both, so its vector is computed each time. `--baseline` is the `src` folder of a release without the
protocols: a service of it and one of this checkout start in turns, both without skills.

Tokens are counted as four characters each: of the definitions of the tools, which an agent has in every conversation,
and of the answers to the same queries, as text and as data.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import load
from latency_http import Served, processor_seconds
from registry.parsing.frontmatter import read
from results_file import keep
from support.servers import RunningServer

LIMIT = 1.3
BLOCK = 20
WORDS = 12
LIMIT_OF_RESULTS = 5
CHARACTERS_PER_TOKEN = 4


def queries(skills: Path, count: int, seed: int = 1) -> list[str]:
    """Return the first words of the descriptions of `count` skills, each text once."""
    texts = set()
    for file in sorted(skills.rglob("SKILL.md")):
        description = str(read(file.read_text(encoding="utf-8", errors="replace")).fields.get("description") or "")
        texts.add(" ".join(description.split()[:WORDS]))
    return random.Random(seed).sample(sorted(texts - {""}), count)


def search(skills: Path, count: int) -> dict[str, Any]:
    """Return the latencies of both searches in milliseconds, and the ratio of their 95th percentiles."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(skills, folder / "skills")
        with RunningServer(folder, "--embedding-provider", "local") as server:
            server.wait_for(lambda: server.status()["pending"] == 0, 900)
            port = int(server.url.rsplit(":", 1)[1])
            texts = queries(skills, count)
            times = _in_turns(port, [f"{text} 0" for text in texts[:BLOCK]])  # warms up
            times = _in_turns(port, texts)
            held = server.status()["skills"]
            cost = tokens(server, texts)
    figures = {label: _figures(values) for label, values in times.items()}
    ratio = figures["search_skills"]["p95"] / figures["POST /api/v1/search"]["p95"]
    return {
        "skills": held,
        "queries": count,
        "milliseconds": figures,
        "ratio of p95": round(ratio, 3),
        "limit": LIMIT,
        "tokens": cost,
    }


def tokens(server: RunningServer, texts: Sequence[str]) -> dict[str, Any]:
    """Return the tokens of the definitions of the tools, and of answers: the median and the most."""
    found = [_answer(server, "search_skills", query=text, limit=LIMIT_OF_RESULTS) for text in texts]
    data = [answer["structuredContent"] for answer in found]
    ids = sorted({skills["skills"][0]["id"] for skills in data if skills["skills"]})
    definitions = _result(server, {"method": "tools/list"})["tools"]
    return {
        "definitions": _tokens(definitions),
        "search, text": _spread([_tokens(answer["content"][0]["text"]) for answer in found]),
        "search, data": _spread([_tokens(skills) for skills in data]),
        "get_skill": _spread([_tokens(_answer(server, "get_skill", id=one)["content"][0]["text"]) for one in ids]),
    }


def _answer(server: RunningServer, tool: str, **arguments: Any) -> Any:
    return _result(server, {"method": "tools/call", "params": {"name": tool, "arguments": arguments}})


def _result(server: RunningServer, message: dict[str, Any]) -> Any:
    return server.http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, **message}).json()["result"]


def _tokens(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return len(text) // CHARACTERS_PER_TOKEN


def _spread(values: Sequence[int]) -> dict[str, float]:
    return {"p50": statistics.median(values), "most": max(values)}


def _in_turns(port: int, texts: Sequence[str]) -> dict[str, list[float]]:
    """Return the latencies of both. Each text is made new for the one that comes second, by a word at its end."""
    times: dict[str, list[float]] = {"POST /api/v1/search": [], "search_skills": []}
    for start in range(0, len(texts), BLOCK):
        some = texts[start : start + BLOCK]
        kinds = list(times) if start // BLOCK % 2 else list(reversed(times))
        for number, kind in enumerate(kinds):
            asked = [_request(kind, port, f"{text} {number}") for text in some]
            times[kind] += load.run(port, asked).latencies
    return times


def _request(kind: str, port: int, text: str) -> bytes:
    if kind != "search_skills":
        return load.request("/api/v1/search", port, json.dumps({"query": text, "limit": LIMIT_OF_RESULTS}).encode())
    params = {"name": kind, "arguments": {"query": text, "limit": LIMIT_OF_RESULTS}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return load.request("/mcp", port, json.dumps(message).encode())


def _figures(values: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(values, n=100)
    return {"p50": round(cuts[49], 3), "p95": round(cuts[94], 3)}


def starts(sources: dict[str, Path], rounds: int) -> dict[str, Any]:
    """Return the medians of CPU time until ready, and of resident memory at rest, for services of these sources."""
    times: dict[str, list[tuple[float, float]]] = {label: [] for label in sources}
    with tempfile.TemporaryDirectory() as name:
        for number in range(rounds + 1):
            for label, source in sources.items():
                taken = _start(Path(name) / label, source)
                if number:  # the first round compiles the modules
                    times[label].append(taken)
    return {
        label: {
            "CPU ms until ready": round(statistics.median(taken[0] for taken in values), 1),
            "RSS MB at rest": round(statistics.median(taken[1] for taken in values), 1),
        }
        for label, values in times.items()
    }


def _start(folder: Path, source: Path) -> tuple[float, float]:
    """Start and stop a service; return its CPU time until it was ready and its memory half a second later."""
    (folder / "skills").mkdir(parents=True, exist_ok=True)
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    os.environ.clear()
    os.environ.update({**variables, "PYTHONPATH": str(source)})
    command = [
        sys.executable, "-m", "registry", "serve", "--host", "127.0.0.1", "--port", "{port}", "--log-level", "error",
        "--skills-dir", str(folder / "skills"), "--data-dir", str(folder), "--embedding-provider", "none",
        "--project-file", str(folder / "skill-project.toml"),
    ]  # fmt: skip
    server = Served(command, "/readyz")
    busy = processor_seconds(server.process.pid)
    time.sleep(0.5)
    memory = server.rss_mb()
    server.stop()
    return busy * 1000, memory


def main() -> None:
    """Measure; exit with 1 if a search by MCP is above the limit."""
    parser = argparse.ArgumentParser(description="Measure what the protocols cost.")
    parser.add_argument("--skills", type=Path, required=True, help="folder of real skills")
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--baseline", type=Path, help="`src` of a release without the protocols")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    results: dict[str, Any] = {"commit": commit.stdout.strip(), "search": search(arguments.skills, arguments.queries)}
    if arguments.baseline:
        sources = {"baseline": arguments.baseline.resolve(), "now": Path(__file__).parents[1] / "src"}
        results["start"] = starts(sources, arguments.rounds)
    Console().print(results)
    keep(arguments.json, results)
    sys.exit(results["search"]["ratio of p95"] > LIMIT)


if __name__ == "__main__":
    main()
