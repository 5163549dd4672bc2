"""The tables of the page about scaling that the model of large catalogs computes."""

import subprocess
import sys
from pathlib import Path

MODEL = Path(__file__).parents[2] / "benchmarks" / "scale_model.py"


def model_tables(*options: str) -> str:
    """Run the model over the kept results, and return what it prints."""
    command = [sys.executable, str(MODEL), *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
