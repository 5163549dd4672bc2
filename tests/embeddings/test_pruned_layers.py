"""The graph of a pruned encoder: layers with fewer heads and neurons than the shape says."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from embeddings import checkpoint, onnx_bert
from support.bert_folder import HEADS, HIDDEN, LAYERS, WIDE, write_bert_folder

onnxruntime = pytest.importorskip("onnxruntime")

Weights = Mapping[str, NDArray[np.float32]]
KEPT_HEADS, KEPT_NEURONS = 1, WIDE // 2
TOKENS = np.array([[2, 7, 8, 9, 5, 6, 3]])


def pruned(weights: Weights) -> dict[str, NDArray[np.float32]]:
    """Return the layers with one head and half of the neurons."""
    width = KEPT_HEADS * HIDDEN // HEADS
    made = {}
    for name, tensor in weights.items():
        if ".attention.self." in name:
            made[name] = tensor[:width]
        elif name.endswith("attention.output.dense.weight"):
            made[name] = tensor[:, :width]
        elif ".intermediate." in name:
            made[name] = tensor[:KEPT_NEURONS]
        elif name.endswith(".output.dense.weight"):
            made[name] = tensor[:, :KEPT_NEURONS]
    assert len(made) == LAYERS * 10
    return made


def silenced(weights: Weights) -> dict[str, NDArray[np.float32]]:
    """Return the layers in full size, where what `pruned` leaves out adds nothing."""
    made = {}
    for name, tensor in pruned(weights).items():
        if name.endswith(".output.dense.weight"):
            made[name] = np.zeros_like(weights[name])
            made[name][:, : tensor.shape[1]] = tensor
    return made


@pytest.mark.parametrize(("precision", "least"), [("float32", 0.99999), ("int8", 0.999)])
def test_a_pruned_layer_is_one_whose_other_heads_and_neurons_add_nothing(
    tmp_path: Path, precision: onnx_bert.Precision, least: float
) -> None:
    folder = write_bert_folder(tmp_path)
    weights, shape = load_file(folder / checkpoint.WEIGHTS), checkpoint.read(folder).shape

    def vector(layers: Weights) -> NDArray[np.float32]:
        model = onnx_bert.build({**weights, **layers}.__getitem__, shape, {}, precision)
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        made: NDArray[np.float32] = session.run(None, {"input_ids": TOKENS})[0][0]
        return made

    assert vector(pruned(weights)) @ vector(silenced(weights)) > least
    assert vector(pruned(weights)) @ vector({}) < 0.99
