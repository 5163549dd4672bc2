"""Folders with an exported model: `model.onnx` and `tokenizer.json`, as most models are published beside their weights.

Such a folder is a local model without PyTorch. Its pooling, prompts and length limit are read from the files that
sentence-transformers writes; without them, they are those of sentence-transformers: the mean, none, and 512 tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from embeddings import checkpoint
from embeddings.base import EmbeddingError, Vector, unit_vector
from embeddings.checkpoint import CheckpointError, Prompts
from embeddings.settings import EmbeddingSettings

_NAMES = ("model.onnx", "onnx/model.onnx")
_DEFAULT_LENGTH = 512
_NO_LIMIT = 1_000_000
"""Tokenizer configurations without a limit have a number far above this one."""

Pool = Callable[[NDArray[np.float32]], Vector]
"""Turns the vectors of the tokens of one text, shape (tokens, dim), into the vector of the text, shape (dim,)."""

_POOLS: dict[str, Pool] = {
    "mean": lambda tokens: np.mean(tokens, axis=0),
    "cls": lambda tokens: tokens[0],
    "max": lambda tokens: np.max(tokens, axis=0),
    "lasttoken": lambda tokens: tokens[-1],
}


class _Config(msgspec.Struct):
    hidden_size: int | None = None
    max_position_embeddings: int | None = None


class _TokenizerConfig(msgspec.Struct):
    model_max_length: float | None = None


@dataclass(frozen=True)
class OnnxFolder:
    """A model that runs as it is. `max_length` is in tokens, `path` is that of its graph."""

    name: str
    path: Path
    directory: Path
    dimension: int
    max_length: int
    pooling: str
    prompts: Prompts
    space: str

    def open(self, settings: EmbeddingSettings) -> "OnnxEncoder":
        """Load the model. Raises EmbeddingError, and what onnxruntime raises."""
        return OnnxEncoder(self, settings.threads)


def graph_of(directory: Path) -> Path | None:
    """Return the path of the exported graph in a folder, None if there is none."""
    return next((directory / name for name in _NAMES if (directory / name).is_file()), None)


def read(directory: Path, dimension: int | None) -> OnnxFolder:
    """Read the description of the exported model in `directory`.

    Args:
        directory: The folder of the model.
        dimension: The configured number of dimensions, None for that of the model.

    Raises:
        CheckpointError: The folder has no exported model, or one whose vectors need more than pooling.
    """
    path = graph_of(directory)
    if path is None:
        raise CheckpointError("it has no model.onnx")
    try:
        config = checkpoint.optional(directory / "config.json", _Config)
        limit = checkpoint.optional(directory / "tokenizer_config.json", _TokenizerConfig).model_max_length
        pooling = checkpoint.pooling_of(directory)
        prompts, length = checkpoint.prompts_of(directory), checkpoint.length_of(directory)
    except (OSError, msgspec.MsgspecError) as error:
        raise CheckpointError(f"its configuration cannot be read: {error}") from error
    if pooling not in _POOLS:
        raise CheckpointError(f"its pooling {pooling} is not supported")
    size = dimension or config.hidden_size
    if size is None:
        raise CheckpointError("its config.json has no hidden_size: set embedding.dimension to that of its vectors")
    lengths = (length, int(limit) if limit and limit < _NO_LIMIT else None, config.max_position_embeddings)
    name = directory.resolve().name
    return OnnxFolder(
        name=name,
        path=path,
        directory=directory,
        dimension=size,
        max_length=min((bound for bound in lengths if bound), default=_DEFAULT_LENGTH),
        pooling=pooling,
        prompts=prompts,
        space=f"local/{name}@{checkpoint.fingerprint(directory)[:16]}/{size}/onnx-1",
    )


class OnnxEncoder:
    """Runs an exported model on one text at a time. Safe to call from several threads at once."""

    def __init__(self, model: OnnxFolder, threads: int) -> None:
        # Imported only if needed: onnxruntime takes a tenth of a second to import.
        from embeddings.encoder import open_session  # noqa: PLC0415
        from embeddings.tokens import TextTokens, TokenizerError, definition  # noqa: PLC0415

        try:
            self._tokens = TextTokens(definition(model.directory), model.max_length)
        except TokenizerError as error:
            raise EmbeddingError(str(error)) from error
        # By its path: the weights of large models are in files beside it.
        self._session = open_session(str(model.path), threads)
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._output = _output_of(self._session.get_outputs())
        self._pool, self._dimension = _POOLS[model.pooling], model.dimension
        self.query_prompt, self.document_prompt = model.prompts.query, model.prompts.document

    def encode(self, text: str) -> Vector:
        """Return the vector of any string: shape (dimension,), unit length. Raises EmbeddingError for another shape."""
        ids = np.array([self._tokens.ids(text)], dtype=np.int64)
        tensors = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.arange(ids.shape[1], dtype=np.int64)[None],
        }
        (result,) = self._session.run([self._output], {name: tensors[name] for name in self._inputs & tensors.keys()})
        vector = self._pool(result[0]) if result.ndim == 3 else result[0]
        if vector.shape != (self._dimension,):
            raise EmbeddingError(f"the model has {vector.shape[-1]} dimensions: set embedding.dimension to that")
        return unit_vector(vector.astype(np.float32))


def _output_of(outputs: list[Any]) -> str:
    """Return the name of the output that has the vector of the text, else the one with the vectors of its tokens.

    The output `pooler_output` of BERT has neither: it is a layer for another task.
    """
    names = [output.name for output in outputs]
    for name in ("sentence_embedding", "last_hidden_state", "token_embeddings"):
        if name in names:
            return name
    return str(next((output.name for output in outputs if len(output.shape) == 3), names[0]))
