"""What a second worker adds, and what a replica on PostgreSQL serves: searches a second, beside one process on SQLite.

    python benchmarks/processes.py --corpus corpus.jsonl --queries queries.jsonl [--skills 4000] [--json OUT]

Three services with the same skills and the local model stand side by side and are asked in turn, several rounds, by as
many clients as keep both processors busy; each search is new. The median of the rounds' ratios counts. The clients run
on the same processors, at the lowest priority, and are part of what is measured.
"""

import argparse
import json
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import corpora
import load
from embeddings import EmbeddingSettings, choose
from latency_http import Served
from registry.config.types import DatabaseUrl
from registry.database import open_url
from results_file import keep
from support.postgres_server import PostgresServer

ROUNDS = 9
CLIENTS = 16
SEARCHES = 400
ASKED = {"two workers / one": 1.7, "replica / one process": 0.9}


def serve(folder: Path, models: Path, url: DatabaseUrl, workers: int) -> Served:
    """Start a service and wait until it searches by meaning."""
    (folder / "skills").mkdir(parents=True, exist_ok=True)
    (folder / "models").symlink_to(models)
    command = [
        str(Path(sys.executable).with_name("skill-registry")), "serve", "--host", "127.0.0.1", "--port", "{port}",
        "--skills-dir", str(folder / "skills"), "--data-dir", str(folder), "--database-url", url.reveal(),
        "--embedding-provider", "local", "--workers", str(workers), "--log-level", "warning",
    ]  # fmt: skip
    return Served(command, "/api/v1/search?q=first&mode=semantic")


def throughput(server: Served, queries: list[str], suffix: str) -> float:
    """Return searches a second, each for something that was not asked before."""
    bodies = [json.dumps({"query": f"{query} {suffix}"}).encode() for query in queries]
    requests = [load.request("/api/v1/search", server.port, body) for body in bodies]
    return load.run(server.port, requests, CLIENTS).throughput


def measure(corpus: Path | None, queries: list[str], skills: int) -> dict[str, Any]:
    """Return the medians of the throughputs and of their ratios."""
    models = Path(tempfile.gettempdir()) / "skill-registry-models"
    embedder = choose(EmbeddingSettings(provider="local", cache_dir=models))
    assert embedder is not None
    originals = corpora.entries(corpus)
    near = embedder.documents([f"{entry.name}: {entry.description}" for entry in originals])
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name, PostgresServer() as postgres, ExitStack() as stack:
        folder = Path(name)
        servers = {}
        for kind, workers in (("one", 1), ("two workers", 2), ("replica", 1)):
            here = folder / kind.replace(" ", "-")
            here.mkdir()
            url = DatabaseUrl(
                postgres.new_database() if kind == "replica" else f"sqlite:///{here / 'skill-registry.db'}"
            )
            database = open_url(url)
            for _ in corpora.fill(database, originals, skills, embedder, near):
                pass
            database.close()
            servers[kind] = serve(here, models, url, workers)
            stack.callback(servers[kind].stop)
            throughput(servers[kind], queries, "warm")
        for number in range(ROUNDS):
            for kind, server in servers.items():
                found.setdefault(kind, []).append(throughput(server, queries, f"{number}"))
    one = found["one"]
    ratios = {
        "two workers / one": [two / single for two, single in zip(found["two workers"], one, strict=True)],
        "replica / one process": [replica / single for replica, single in zip(found["replica"], one, strict=True)],
    }
    return {
        "skills": skills,
        "searches a second": {kind: statistics.median(values) for kind, values in found.items()},
        "ratios": {what: statistics.median(values) for what, values in ratios.items()},
        "ratios of each round": ratios,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what more processes add.")
    parser.add_argument("--corpus", type=Path, help="corpus.jsonl of real skills; made-up ones without it")
    parser.add_argument("--queries", type=Path, required=True, help="queries.jsonl")
    parser.add_argument("--skills", type=int, default=4000)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    texts = [json.loads(line)["text"] for line in arguments.queries.read_text().splitlines()]
    queries = list(dict.fromkeys(" ".join(text.split())[:2000] for text in texts))[:SEARCHES]
    result = measure(arguments.corpus, queries, arguments.skills)
    table = Table("figure", "measured", "asked", title=f"{arguments.skills:,} skills, {CLIENTS} clients")
    for kind, value in result["searches a second"].items():
        table.add_row(f"searches a second: {kind}", f"{value:.0f}", "")
    for what, value in result["ratios"].items():
        table.add_row(what, f"{value:.2f}", f">= {ASKED[what]}")
    Console().print(table)
    keep(arguments.json, result)


if __name__ == "__main__":
    main()
