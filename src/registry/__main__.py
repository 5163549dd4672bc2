"""The entry point of the command. It limits the threads of numpy and FAISS before they are loaded."""

import os

# These libraries read their thread limit when they are loaded; by default they take one thread for every core. One
# search is too small to share, and threads that wait for their part spin: at a million skills a search took twice its
# processor time and slowed down everything beside it. Parallel searches and more workers use more cores.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from registry.cli.main import main  # noqa: E402 - after the threads

__all__ = ["main"]

if __name__ == "__main__":
    main()
