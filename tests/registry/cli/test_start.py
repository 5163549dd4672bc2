"""What the command sees to before anything else is loaded."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import registry.__main__
import threading, faiss, numpy
many = numpy.ones((2000, 2000), numpy.float32)
many @ many
print(len(os.listdir("/proc/self/task")), end=" ", flush=True)
other = threading.Thread(target=lambda: print(faiss.omp_get_max_threads()))
other.start()
other.join()
"""


@pytest.mark.parametrize(("given", "threads"), [({}, "1 1"), ({"OMP_NUM_THREADS": "3"}, "1 3")])
def test_numpy_and_faiss_use_one_thread_unless_told_otherwise(given: dict[str, str], threads: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")} | given
    command = [sys.executable, "-c", "import os" + PROGRAM]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60).stdout
    assert printed.strip() == threads
