"""A reader of one request opens few modules: `support.walks` counts them, and the numbers may only fall."""

import json
import subprocess
import sys
from pathlib import Path

MOST_MODULES = {"search": 72, "create": 88, "publish": 140}
"""Lower these when folding or moving code has made a walk shorter."""


def test_requests_pass_few_modules() -> None:
    command = [sys.executable, "-m", "support.walks"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    passed = {journey: walk["modules"] for journey, walk in json.loads(done.stdout).items()}
    too_many = {journey: number for journey, number in passed.items() if number > MOST_MODULES[journey]}
    assert (sorted(passed), too_many) == (sorted(MOST_MODULES), {})
