"""Creates a second of two versions of the service, in turns: with one client, with eight, and as a batch.

    python benchmarks/creates.py 25f67f6 [--new .] [--skills 2000] [--creates 400] [--json OUT]

The first argument is a commit; the other version is the working tree, or a commit too. Both serve catalogs of the same
skills in both profiles, without embedding. Rounds of creates alternate between them, so that whatever else the machine
does slows both alike; the rate is that of all rounds together. Batches alternate too, and their rates are medians.

On ext4, a file is created more slowly for minutes after others were deleted in the same part of the disk, as tests do:
`--folder` names a place on a part of its own, such as an empty folder after `chattr +T`.
"""

import argparse
import http.client
import json
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from corpora import entries
from in_turns import Version, both_versions
from results_file import keep

ROUNDS = 8
CLIENTS = (1, 8)
BATCH = 1_000
BATCHES = 7
BODY = "Read the file and write what it says. " * 20


def _line(skill_id: str) -> bytes:
    words = f"What {skill_id} does, and when to use it."
    fields = {"id": skill_id, "name": skill_id, "description": words, "version": "1.0.0", "content": BODY}
    return json.dumps(fields).encode()


def _post(to: httpx.Client, path: str, bodies: list[bytes], media_type: str, status: int) -> None:
    """Send requests one after another on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", to.base_url.port)
    headers = {"Content-Type": media_type}
    if "Authorization" in to.headers:
        headers["Authorization"] = to.headers["Authorization"]
    for body in bodies:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != status or b'"success":false' in content:
            raise RuntimeError(f"{answer.status}: {content[:500]!r}")
    connection.close()


def seconds_of_creates(to: httpx.Client, name: str, clients: int, creates: int) -> float:
    """Return how long creates of so many clients take."""
    ids = [[_line(f"{name}-{client}-{number}") for number in range(creates // clients)] for client in range(clients)]
    threads = [
        threading.Thread(target=_post, args=(to, "/api/v1/skills", bodies, "application/json", 201)) for bodies in ids
    ]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def rates(versions: list[Version], profile: str, creates: int) -> dict[str, Any]:
    """Return the creates a second of both versions, old and new, and their ratio, by the number of clients."""
    found: dict[str, Any] = {}
    for clients in CLIENTS:
        seconds: dict[int, float] = defaultdict(float)
        each = creates // ROUNDS // clients * clients
        for number in range(ROUNDS + 1):  # the first warms up
            for one in (0, 1) if number % 2 else (1, 0):
                took = seconds_of_creates(getattr(versions[one], profile), f"r{number}-{clients}", clients, each)
                seconds[one] += took if number else 0
        old, new = (each * ROUNDS / seconds[one] for one in (0, 1))
        found[f"{clients} clients"] = {"old": round(old, 1), "new": round(new, 1), "ratio": round(new / old, 2)}
        print(profile, clients, found[f"{clients} clients"], flush=True)
    return found


def batch_rates(versions: list[Version], profile: str) -> dict[str, float]:
    """Return the skills a second that batches create in both versions, old and new, and their ratio."""
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(BATCHES + 1):  # the first warms up
        body = b"\n".join(_line(f"batch-{number}-{line}") for line in range(BATCH))
        for one in (0, 1) if number % 2 else (1, 0):
            started = time.perf_counter()
            _post(getattr(versions[one], profile), "/api/v1/skills:batch", [body], "application/x-ndjson", 200)
            found[one].append(BATCH / (time.perf_counter() - started))
    old, new = (statistics.median(rates[1:]) for rates in found)
    return {"old": round(old, 1), "new": round(new, 1), "ratio": round(new / old, 2)}


def main() -> None:
    """Measure both profiles."""
    parser = argparse.ArgumentParser(description="Create skills in two versions of the service, in turns.")
    parser.add_argument("old", help="a commit")
    parser.add_argument("--new", default=".", help="the other commit; default: the working tree")
    parser.add_argument("--skills", type=int, default=2000, help="skills that are there before")
    parser.add_argument(
        "--creates", type=int, default=400, help="creates of each version, profile and number of clients"
    )
    parser.add_argument("--folder", type=Path, help="where to write; default: the folder for temporary files")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    tempfile.tempdir = str(arguments.folder) if arguments.folder else None
    skills = entries(None)[: arguments.skills]
    results: dict[str, Any] = {"skills before": len(skills), "creates of each row": arguments.creates}
    with both_versions((arguments.old, arguments.new), skills, None, workers=1) as versions:
        for profile in ("registry", "local"):
            results[profile] = rates(versions, profile, arguments.creates)
            results[profile]["batch, skills a second"] = batch_rates(versions, profile)
            print(profile, "batch", results[profile]["batch, skills a second"], flush=True)
    keep(arguments.json, results)


if __name__ == "__main__":
    main()
