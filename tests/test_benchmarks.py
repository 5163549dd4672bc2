"""The benchmarks that are run by hand still run: each on a small catalog, with figures for an end."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.endurance


def figures_of(folder: Path, name: str, *args: str) -> dict[str, Any]:
    """Run a benchmark and return what it leaves. It may say that a limit is not kept: small runs do not measure."""
    results = folder / "results.json"
    command = [sys.executable, str(ROOT / "benchmarks" / name), *args, "--json", str(results)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert results.is_file(), done.stderr[-3000:]
    figures: dict[str, Any] = json.loads(results.read_text())
    return figures


def test_the_latency_of_search(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, "latency.py", "--sizes", "100")
    [result] = figures["results"]
    assert result["ratios"]["hybrid p50 over HTTP / sum of its parts"] > 0
    assert figures["reindex"]["ratio"] > 0


def test_the_cost_of_the_page(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, "ui.py", "--skills", "60")
    assert figures["searches"] > 0
    assert figures["first_load_kb"] > 0


def test_two_versions_in_turns(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, "in_turns.py", "HEAD", "--skills", "40", "--requests", "4")
    assert len([name for name, row in figures.items() if isinstance(row, dict)]) > 5


def test_two_versions_under_load(tmp_path: Path) -> None:
    only = ("--load", "--only", "POST search, 8 clients", "--rounds", "1")
    figures = figures_of(tmp_path, "in_turns.py", "HEAD", "--skills", "40", *only)
    assert "POST search, 8 clients" in figures


def test_the_choice_of_versions(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, "resolving.py", "--skills", "200", "--runs", "1")
    assert [result["set"] > 1 for result in figures["results"]] == [True, True, True]
