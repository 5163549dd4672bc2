"""Makes and opens IVF segments, where FAISS is installed. It is loaded for the first of them: few catalogs need one."""

import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from embeddings.base import Matrix
from search.types import Keys

if TYPE_CHECKING:
    from search.vectors.ivf_segment import IvfSegment


def can_cluster() -> bool:
    """Return whether FAISS is installed. It is the extra `faiss`, because it takes 66 MB."""
    return importlib.util.find_spec("faiss") is not None


def build_clusters(count: int, batches: Callable[[], Iterable[tuple[Keys, Matrix]]]) -> "IvfSegment":
    """Return a segment of `count` vectors. Each call of `batches` yields all keys and vectors."""
    from search.vectors.ivf_segment import build_ivf  # noqa: PLC0415 - loads FAISS

    return build_ivf(count, batches)


def open_clusters(path: Path) -> "IvfSegment":
    """Map the file of a segment into memory. The file may be deleted while it is in use, but must not change."""
    from search.vectors.ivf_segment import open_ivf  # noqa: PLC0415 - loads FAISS

    return open_ivf(path)
