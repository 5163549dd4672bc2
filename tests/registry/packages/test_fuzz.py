"""Packages damaged at random: every one is refused or taken, nothing else happens and nothing is left."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.endurance import times

FUZZER = Path(__file__).parents[3] / "benchmarks" / "fuzz_packages.py"


@pytest.mark.endurance
def test_damaged_packages_are_refused_or_taken() -> None:
    command = [sys.executable, str(FUZZER), "--mutations", str(times(1500)), "--seed", "7"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=times(300), env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.returncode == 0, done.stderr
    assert "nothing else raised, nothing left" in done.stdout
