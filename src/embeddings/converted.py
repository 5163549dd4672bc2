"""Converted local models: made once, kept as files that are checked at every load."""

import hashlib
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from embeddings.models import LocalModel

_LOG = logging.getLogger(__name__)

RECIPE = "int8-1"
"""Names how weights become a graph; it changes whenever the same weights would give other vectors."""


def cache_file(model: LocalModel, cache_dir: Path) -> Path:
    """Return where the converted model is kept: named by model, weights and recipe."""
    return cache_dir / f"{model.name}-{model.fingerprint[:16]}-{RECIPE}.onnx"


def load(model: LocalModel, cache_dir: Path) -> bytes:
    """Return the converted model, from the cache if its checksum holds, else made anew and stored.

    Raises EmbeddingError when the checkpoint cannot be had. A cache that cannot be written only costs time.
    """
    path = cache_file(model, cache_dir)
    kept = _checked(path)
    if kept is not None:
        return kept
    made = convert(model)
    try:
        _store(path, made)
    except OSError as fault:
        _LOG.warning("the converted model cannot be kept in %s: %s", cache_dir, fault)
    return made


def convert(model: LocalModel) -> bytes:
    """Return the model as an int8 ONNX graph, with tokenizer, prompts and length limit as its properties."""
    # Imported only here: a process that finds the model converted never pays for them.
    from safetensors import safe_open  # noqa: PLC0415

    from embeddings import checkpoint, onnx_bert  # noqa: PLC0415

    found = model.checkpoint()
    metadata = {
        "tokenizer": (found.directory / checkpoint.TOKENIZER).read_text(encoding="utf-8"),
        "max_length": str(found.max_length),
        "query_prompt": found.query_prompt,
        "document_prompt": found.document_prompt,
    }
    with safe_open(found.directory / checkpoint.WEIGHTS, framework="numpy") as tensors:
        prefix = "bert." if "bert.embeddings.LayerNorm.weight" in tensors.keys() else ""  # noqa: SIM118

        def weights(name: str) -> Any:
            return tensors.get_tensor(prefix + name).astype("float32", copy=False)

        return onnx_bert.serialized(onnx_bert.build(weights, found.shape), metadata)


def _sidecar(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _checked(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
        expected = _sidecar(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    if hashlib.sha256(data).hexdigest() == expected:
        return data
    _LOG.warning("the converted model %s is damaged and is made anew", path.name)
    return None


def _store(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, data)
    _replace(_sidecar(path), hashlib.sha256(data).hexdigest().encode("ascii"))


def _replace(path: Path, data: bytes) -> None:
    """Write the file so that a crash leaves the old one or the new one."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
