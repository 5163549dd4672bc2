"""Selects an embedder: hosted, else local, else none, unless the settings name one."""

import importlib.util
import logging
from pathlib import Path

from embeddings import converted, onnx_folder
from embeddings.adapter import Adapter, AdapterError, find
from embeddings.base import Embedder
from embeddings.checkpoint import CheckpointError
from embeddings.local import LocalEmbedder
from embeddings.models import (
    MISSING_WEIGHTS,
    LocalModel,
    default_model,
    default_model_available,
    folder_model,
    is_default,
)
from embeddings.settings import EmbeddingSettings, EmbeddingUnavailable

_LOG = logging.getLogger(__name__)
_RUNTIME = ("onnxruntime", "tokenizers")
_CONVERTER = ("safetensors",)


def choose(settings: EmbeddingSettings) -> Embedder | None:
    """Return the embedder selected by the settings, or None for keyword search only.

    `auto` selects the hosted provider if there is an API key (unless the model is a folder), else the local model if
    it is available, else None. Fast and without network access: slow work happens at the first call of the embedder.
    Raises EmbeddingUnavailable if the provider, model or adapter that the settings name is not available.
    """
    if settings.provider == "none":
        return None
    if settings.provider == "hosted":
        return _hosted(settings)
    adapter = _adapter(settings)
    if settings.provider == "local":
        return _local(settings, adapter)
    if settings.api_key and not _is_folder(settings.model):
        return _hosted(settings)
    try:
        return _local(settings, adapter)
    except EmbeddingUnavailable as reason:
        _LOG.info("keyword search only: %s", reason)
        return None


def _hosted(settings: EmbeddingSettings) -> Embedder:
    # Imported only if needed: the HTTP client takes a tenth of a second to import.
    from embeddings.hosted import HostedEmbedder  # noqa: PLC0415

    return HostedEmbedder(settings)


def _local(settings: EmbeddingSettings, adapter: Adapter | None) -> Embedder:
    if is_default(settings.model):
        model = default_model(adapter)
    elif settings.model is not None and _is_folder(settings.model):
        try:
            model = folder_model(Path(settings.model), adapter)
        except CheckpointError as reason:
            return _other_folder(Path(settings.model), settings, reason)
    else:
        return _sentence_transformers(settings)
    _check_available(model, settings)
    return LocalEmbedder(converted.ConvertedModel(model), settings)


def _other_folder(directory: Path, settings: EmbeddingSettings, reason: CheckpointError) -> Embedder:
    """Return the embedder of a folder that is not converted: its exported model, else sentence-transformers."""
    try:
        exported = onnx_folder.read(directory, settings.dimension)
    except CheckpointError as failure:
        _LOG.info("using sentence-transformers for %s: %s; %s", directory, reason, failure)
        return _sentence_transformers(settings)
    _check_installed(_RUNTIME)
    return LocalEmbedder(exported, settings)


def _adapter(settings: EmbeddingSettings) -> Adapter | None:
    try:
        return find(settings.adapter, is_default_model=is_default(settings.model))
    except AdapterError as error:
        raise EmbeddingUnavailable(f"{error}: set embedding.adapter to auto, none or the path of an adapter") from error


def _sentence_transformers(settings: EmbeddingSettings) -> Embedder:
    from embeddings.sentences import SentenceTransformersEmbedder  # noqa: PLC0415

    return SentenceTransformersEmbedder(settings)


def _check_available(model: LocalModel, settings: EmbeddingSettings) -> None:
    is_converted = converted.is_converted(model, settings.cache_dir)
    needed = _RUNTIME if is_converted else _RUNTIME + _CONVERTER
    _check_installed(needed)
    if settings.dimension not in (None, model.dimension):
        raise EmbeddingUnavailable(f"{model.name} has {model.dimension} dimensions: leave embedding.dimension unset")
    if is_default(settings.model) and not is_converted and not default_model_available():
        raise EmbeddingUnavailable(MISSING_WEIGHTS)


def _check_installed(needed: tuple[str, ...]) -> None:
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise EmbeddingUnavailable(f"the local model needs {', '.join(missing)}: pip install 'skill-registry[local]'")


def _is_folder(model: str | None) -> bool:
    return model is not None and Path(model).is_dir()
