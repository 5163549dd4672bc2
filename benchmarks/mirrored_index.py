"""How long a mirror takes for the index file of one skill, which it keeps.

    python benchmarks/mirrored_index.py [--versions 1000] [--runs 50] [--json OUT]

The figures are milliseconds of processor time: of the first answer of a process, and the median of the others.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from registry.config.settings import load_settings
from registry.database import open_database
from registry.domain.source_entry import SourceEntry
from registry.mirrors.kept_files import KeptFiles
from registry.mirrors.kept_log import KeptLog
from registry.mirrors.mirror import Mirror
from registry.mirrors.space import Space
from registry.outbound.configured import outbound_client
from registry.sources.access import NO_ACCESS
from registry.sources.log_monitor import LogMonitor
from registry.sources.registry_clients import RegistryClients
from registry.transparency.checkpoint import Signer, Verifier
from registry.transparency.log import LogEntry, canonical
from registry.transparency.merkle import Tree, leaf_hash, root
from results_file import keep

SKILL, URL = "acme/tea", "http://127.0.0.1:9"
NEEDED = [{"id": f"acme/needed-{number}", "range": "^1"} for number in range(5)]


def _line(version: str, checksum: str) -> dict[str, Any]:
    metadata = {
        "description": "Make tea. " * 20,
        "author": "Ann",
        "license": "MIT",
        "tags": ["tea"],
        "capabilities": [],
    }
    return {
        "name": SKILL,
        "vers": version,
        "deps": NEEDED,
        "cksum": checksum,
        "features": {},
        "yanked": False,
        "download_url": f"{URL}/packages/{SKILL}/{version}.zip",
        "published_at": "2026-11-28T00:00:00Z",
        "size": 1000,
        "metadata": metadata,
    }


def _entry(version: str, checksum: str) -> str:
    fields = {"kind": "publish", "skill_id": SKILL, "version": version, "sha256": checksum}
    return canonical(msgspec.convert(fields, LogEntry)).decode()


def _mirror(folder: Path, versions: int) -> Mirror:
    """Return a mirror with a log and an index file of so many versions, whose registry is away."""
    kept = folder / "mirror"
    named = [(f"1.{number}.0", f"sha256:{number:064x}") for number in range(versions)]
    texts = [_entry(version, checksum) for version, checksum in named]
    tree = Tree()
    for text in texts:
        tree.append(leaf_hash(text.encode()))
    signer = Signer(folder, "example.org/log")
    note = signer.sign(versions, root(versions, tree.subtree))
    KeptLog(kept).extend(Verifier(signer.verifier_key), note, texts)
    KeptFiles(kept).put_index(SKILL, b"".join(json.dumps(_line(*one)).encode() + b"\n" for one in named))
    settings = load_settings({"data_dir": str(folder / "data"), "outbound.allowed_hosts": ["127.0.0.1:9"]}, {})
    clients = RegistryClients(settings, NO_ACCESS, outbound_client(settings.outbound))
    source = SourceEntry(name="corp", type="registry", url=URL, mirror=True)
    monitor = LogMonitor(open_database(settings))
    return Mirror(source, kept, lambda: clients.open(URL), monitor, Space(kept, 1 << 30))


def _took(answer: Callable[[], object]) -> float:
    start = time.process_time()
    answer()
    return (time.process_time() - start) * 1_000


def main() -> None:
    """Answer the same index file often, and show how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--versions", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mirror = _mirror(Path(folder), args.versions)
        mirror.log()
        times = [_took(lambda: mirror.lines(SKILL, "http://mirror.example")) for _ in range(args.runs)]
    result = {"first_ms": round(times[0], 1), "median_ms": round(statistics.median(times[1:]), 1)}
    print(result)
    keep(args.json, {"versions": args.versions, "runs": args.runs, **result})


if __name__ == "__main__":
    main()
