"""The entry point of the command. It limits the threads of numpy and FAISS before they are loaded."""

import os

# The libraries read their thread limit when they are loaded; the default is one thread per core. One search is too
# small to split, and waiting threads spin: with a million skills, a search took twice the CPU time and slowed down
# everything else. Parallel searches and more workers use more cores.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from registry.cli.main import main  # noqa: E402 - after the limits

__all__ = ["main"]

if __name__ == "__main__":
    main()
