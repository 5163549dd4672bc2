"""Converted local models: that of the wheel, and a cache. A file is checked against its SHA-256 when it is loaded."""

import hashlib
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embeddings.models import LocalModel
from embeddings.settings import EmbeddingSettings

if TYPE_CHECKING:
    from embeddings.encoder import Encoder

_LOG = logging.getLogger(__name__)

RECIPE = "int8-1"
"""The version of the conversion. It changes whenever the same weights would give different vectors."""


PACKAGED = Path(__file__).parent / "model"
"""The folder that `hatch_build.py` adds to the wheel: the converted default model. A clone has none."""


@dataclass(frozen=True)
class ConvertedModel:
    """A model that is converted when it is first opened."""

    model: LocalModel

    @property
    def name(self) -> str:
        """The public name of the model."""
        return self.model.name

    @property
    def dimension(self) -> int:
        """The dimension of its vectors."""
        return self.model.dimension

    @property
    def space(self) -> str:
        """The space of its vectors."""
        return f"local/{self.model.variant}/{self.model.dimension}/{RECIPE}"

    def open(self, settings: EmbeddingSettings) -> "Encoder":
        """Load the model, and convert it before if necessary. Raises EmbeddingError, and what onnxruntime raises."""
        # Imported only if needed: onnxruntime takes a tenth of a second to import.
        from embeddings.encoder import Encoder  # noqa: PLC0415

        return Encoder(load(self.model, settings.cache_dir), settings.threads)


def is_converted(model: LocalModel, cache_dir: Path) -> bool:
    """Return whether the model is in the wheel or in the cache."""
    return any((folder / _file_name(model)).is_file() for folder in (PACKAGED, cache_dir))


def load(model: LocalModel, cache_dir: Path) -> bytes:
    """Return the converted model: from the wheel or the cache if it is intact there, else converted now and stored.

    Raises EmbeddingError if the checkpoint is not available. If the cache cannot be written, each load converts.
    """
    for folder in (PACKAGED, cache_dir):
        model_bytes = _read_intact(folder / _file_name(model))
        if model_bytes is not None:
            return model_bytes
    data = convert(model)
    try:
        _store(cache_dir / _file_name(model), data)
    except OSError as error:
        _LOG.warning("the converted model cannot be written to %s: %s", cache_dir, error)
    return data


def _file_name(model: LocalModel) -> str:
    """Return a name that contains the model, its adapter, and the recipe."""
    return f"{model.variant.replace('@', '-')}-{RECIPE}.onnx"


def convert(model: LocalModel) -> bytes:
    """Return the model as an int8 ONNX graph with its tokenizer, prompts and length limit as metadata properties."""
    # Imported only if needed: most processes find the model converted.
    from safetensors import safe_open  # noqa: PLC0415

    from embeddings import checkpoint, onnx_bert  # noqa: PLC0415

    source = model.checkpoint()
    metadata = {
        "tokenizer": (source.directory / checkpoint.TOKENIZER).read_text(encoding="utf-8"),
        "max_length": str(source.max_length),
        "query_prompt": source.prompts.query,
        "document_prompt": source.prompts.document,
    }
    with safe_open(source.directory / checkpoint.WEIGHTS, framework="numpy") as tensors:
        prefix = "bert." if "bert.embeddings.LayerNorm.weight" in tensors.keys() else ""  # noqa: SIM118

        def weights(name: str) -> Any:
            return tensors.get_tensor(prefix + name).astype("float32", copy=False)

        corrected = model.adapter.corrected(weights) if model.adapter else weights
        return onnx_bert.build(corrected, source.shape, metadata)


def _sidecar(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _read_intact(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
        expected = _sidecar(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    if hashlib.sha256(data).hexdigest() == expected:
        return data
    _LOG.warning("the converted model %s is damaged; converting it again", path.name)
    return None


def _store(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, data)
    _replace(_sidecar(path), hashlib.sha256(data).hexdigest().encode("ascii"))


def _replace(path: Path, data: bytes) -> None:
    """Replace the file atomically: a crash leaves the old or the new content."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:  # remove the temporary file also on KeyboardInterrupt
            Path(file.name).unlink(missing_ok=True)
            raise
