"""What the example scripts print, with what differs from run to run taken out: parts of the README."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"

_VARYING = (
    (r"eyJ[\w.-]+", "eyJhbGciOiJIUzI1NiIs…"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "2026-11-21T12:00:00.000Z"),
    (r'"took_ms":[\d.]+', '"took_ms":0.4'),
    (r'"search_id":"[\w-]+"', '"search_id":"…"'),
    (r"search, [\d.]+ ms", "search, 0.4 ms"),
    (r"http://127\.0\.0\.1:\d+/dotnet/\.git", "https://git.example.org/dotnet-skills"),
    (r"http://127\.0\.0\.1:\d+", "http://localhost:8080"),
    (r"\bon \d{4}-\d\d-\d\d\b", "on 2026-11-21"),
    (r"\b[0-9a-f]{32}\b", "7f3c2a9e4b0d4c6f8a1e5b7d9c3f2a6e"),
    (r"[ \t]+$", ""),
)


def tour() -> str:
    """Run the tour of the registry profile and return what it printed."""
    return _printed("registry-tour.sh", {})


def log_tour() -> str:
    """Run the tour of the transparency log and return what it printed."""
    return _printed("log-tour.sh", {"COLUMNS": "110"})


def withdraw_tour() -> str:
    """Run the tour of withdrawals and return what it printed."""
    return _printed("withdraw-tour.sh", {"COLUMNS": "110"})


def review_tour() -> str:
    """Run the tour of reviews and of the policy of installations, and return what it printed."""
    return _printed("review-tour.sh", {"COLUMNS": "110"})


def sources_tour() -> str:
    """Run the tour of sources and return what it printed."""
    return _printed("sources-tour.sh", {"COLUMNS": "110"})


def _printed(script: str, settings: Mapping[str, str]) -> str:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "SKILL_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{plain['PATH']}"
    done = subprocess.run(
        ["sh", str(EXAMPLES / script)],
        env={**plain, "PATH": path, **settings},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the tour ended with {done.returncode}: {done.stderr}")
    text = done.stdout
    for pattern, same in _VARYING:
        text = re.sub(pattern, same, text, flags=re.MULTILINE)
    for number, commit in enumerate(dict.fromkeys(re.findall(r"\b[0-9a-f]{40}\b", text)), 1):
        text = text.replace(commit, str(number) * 40)
    return text.strip()
