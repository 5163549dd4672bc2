"""Low-rank adapters (LoRA, Hu et al. 2021, arXiv:2106.09685): small corrections of the dense layers of a model.

An adapter is a safetensors file. For each dense layer that it corrects, it has two matrices, named like the layer:
`<layer>.down` of shape (rank, inputs) and `<layer>.up` of shape (outputs, rank). Their product is added to the weights
of the layer before the model is converted, so a tuned model is as fast as a plain one.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from embeddings.base import EmbeddingError

Weights = Callable[[str], NDArray[Any]]
"""Returns the tensor with a name of the checkpoint."""

AUTO = "auto"
NONE = "none"
_PACKAGED = Path(__file__).parent / "adapters" / "skills-2.safetensors"
_WEIGHT = ".weight"


class AdapterError(EmbeddingError):
    """The adapter cannot be used. The message is one line and says why."""


@dataclass(frozen=True)
class Adapter:
    """An adapter file. `fingerprint` is its SHA-256 in hex."""

    path: Path
    fingerprint: str

    @property
    def name(self) -> str:
        """The name of the file without its suffix."""
        return self.path.stem

    def corrected(self, weights: Weights) -> Weights:
        """Return a function that returns tensors of the checkpoint with the corrections added.

        Raises AdapterError if the file is damaged. The returned function raises it for a layer of another shape.
        """
        from safetensors.numpy import load  # noqa: PLC0415 (needed only for a conversion)

        try:
            corrections = load(self.path.read_bytes())
        except Exception as error:  # safetensors raises its own exception class
            raise AdapterError(f"the adapter {self.path} cannot be read: {error}") from error

        def corrected(name: str) -> NDArray[Any]:
            tensor, layer = weights(name), name.removesuffix(_WEIGHT)
            down, up = corrections.get(f"{layer}.down"), corrections.get(f"{layer}.up")
            if not name.endswith(_WEIGHT) or down is None or up is None:
                return tensor
            if (up.shape[0], down.shape[1]) != tensor.shape or up.shape[1] != down.shape[0]:
                raise AdapterError(f"the adapter {self.path} was made for another model: {layer} differs in shape")
            total: NDArray[Any] = tensor + up.astype("float32") @ down.astype("float32")
            return total

        return corrected


def find(name: str, *, is_default_model: bool) -> Adapter | None:
    """Return the adapter that a setting names: `auto`, `none` or a path.

    `auto` is the packaged adapter, which was made for the default model; other models have none. Raises AdapterError if
    there is no such file.
    """
    if name == NONE or (name == AUTO and not is_default_model):
        return None
    path = _PACKAGED if name == AUTO else Path(name)
    try:
        return Adapter(path, hashlib.sha256(path.read_bytes()).hexdigest())
    except OSError as error:
        raise AdapterError(f"the adapter {path} cannot be read: {error.strerror}") from error
