"""A reader of one request opens few modules: `support.walks` counts them, and the numbers may only fall."""

import json
import subprocess
import sys
from pathlib import Path

MOST_MODULES = {"search": 73, "create": 92, "publish": 142}
"""A little more than measured, because other threads add some on a busy machine. Lower these with each shorter walk."""


def test_requests_pass_few_modules() -> None:
    command = [sys.executable, "-m", "support.walks"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    passed = {journey: walk["modules"] for journey, walk in json.loads(done.stdout).items()}
    too_many = {journey: number for journey, number in passed.items() if number > MOST_MODULES[journey]}
    assert (sorted(passed), too_many) == (sorted(MOST_MODULES), {})
