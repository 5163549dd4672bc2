"""Where the command begins: what must be so before numpy, FAISS and the rest are loaded."""

import os

# These libraries read how many threads they may use when they are loaded, and take one for every core. For one search
# that is too small to share, and those that wait for their part do so at work: at a million skills a search cost twice
# its time, and whatever ran beside it slowed down. More searches at once use more cores, and so do more workers.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from registry.cli import main  # noqa: E402 - after the threads

__all__ = ["main"]
