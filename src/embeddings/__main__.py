"""Converts the default model, so that a start needs no network and writes nothing: `python -m embeddings DIR`.

It converts the model tuned for skills, unless the wheel contains it, and the plain one, which serves while vectors that
it made are renewed.
"""

import sys
from pathlib import Path

from embeddings import adapter, converted, models

if __name__ == "__main__":
    for name in (adapter.AUTO, adapter.NONE):
        converted.load(models.default_model(adapter.find(name, is_default_model=True)), Path(sys.argv[1]))
