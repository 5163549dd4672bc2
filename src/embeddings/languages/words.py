"""Frequent words of German, Spanish, French, Italian, Dutch, Polish, Portuguese and Turkish that are not English.

`benchmarks/foreign_words.py` makes the list. The encoder of the extra `languages` knows an English word for each.
"""

import functools
import importlib.util
from pathlib import Path

from embeddings.languages.reader import PACKAGE

FILE = Path(__file__).with_name("words.txt")


@functools.cache
def frequent_words() -> frozenset[str]:
    """Return the words in lower case, some 2 MB; none without the extra, where nothing could read them."""
    if importlib.util.find_spec(PACKAGE) is None:
        return frozenset()
    return frozenset(FILE.read_text(encoding="utf-8").split())
