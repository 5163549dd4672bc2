"""Builds the ONNX graph of a BERT sentence encoder from its weights, without torch.

The input is one text, `input_ids` of shape (1, tokens); the output is `vector` of shape (1, hidden), of unit length.
There is deliberately no padding and no attention mask: on a CPU, one text at a time is as fast as a batch, needs a
third of the memory, and the vector of a text never depends on other texts.

The layers are those of BERT (Devlin et al. 2019, arXiv:1810.04805) with post-layer normalisation and the exact,
erf-based GELU. The operators of the domain com.microsoft are documented in onnxruntime's docs/ContribOperators.md.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embeddings import onnx_messages
from embeddings.adapter import Weights
from embeddings.checkpoint import BertShape

Precision = Literal["int8", "float32"]

_MICROSOFT = "com.microsoft"
_BLOCK = 128
# Seven bits, not eight: processors without VNNI add two products in a saturating 16-bit register, which eight bits
# overflow. This costs 0.0006 of cosine, and all machines make the same vectors.
_TENSOR_LEVELS = 63
_BLOCK_LEVELS = 127


class _Graph:
    """Collects nodes and constants, and names their outputs."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []

    def constant(self, value: NDArray[Any]) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(onnx_messages.tensor(name, value))
        return name

    def add(self, kind: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> list[str]:
        names = [f"{kind}_{len(self.nodes)}_{n}" for n in range(outputs)]
        self.nodes.append(onnx_messages.node(kind, inputs, names, domain, attributes))
        return names

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        return self.add(kind, *inputs, domain=domain, **attributes)[0]


def build(weights: Weights, shape: BertShape, metadata: Mapping[str, str], precision: Precision = "int8") -> bytes:
    """Return the encoder as an ONNX model with metadata properties. Raises what `weights` raises."""
    graph = _Graph()
    encoder = _Encoder(graph, weights, shape, precision)
    tokens = encoder.embeddings()
    for layer in range(shape.num_hidden_layers):
        tokens = encoder.layer(tokens, f"encoder.layer.{layer}.")
    attributes = {"axis": -1, "p": 2}
    graph.nodes.append(onnx_messages.node("LpNormalization", [encoder.pooled(tokens)], ["vector"], "", attributes))
    inputs = [onnx_messages.value("input_ids", onnx_messages.INT64, [1, "tokens"])]
    outputs = [onnx_messages.value("vector", onnx_messages.FLOAT, [1, shape.hidden_size])]
    signed = onnx_messages.graph("bert", graph.nodes, graph.constants, inputs, outputs)
    return onnx_messages.model(signed, {"": 17, _MICROSOFT: 1}, 8, metadata)


class _Encoder:
    """Adds the parts of BERT to a graph."""

    def __init__(self, graph: _Graph, weights: Weights, shape: BertShape, precision: Precision) -> None:
        self._graph = graph
        self._weights = weights
        self._shape = shape
        self._exact = precision == "float32"

    def embeddings(self) -> str:
        g, table = self._graph, self._weights("embeddings.word_embeddings.weight")
        words = g.node("Gather", g.constant(table), "input_ids") if self._exact else self._quantised_rows(table)
        # All tokens have type 0, so its embedding is added to the position embeddings.
        positions = self._weights("embeddings.position_embeddings.weight")
        positions = positions + self._weights("embeddings.token_type_embeddings.weight")[0]
        start, axis = g.constant(np.array([0])), g.constant(np.array([0]))
        length = g.node("Shape", "input_ids", start=1, end=2)
        token_positions = g.node("Slice", g.constant(positions), start, length, axis)
        return self._layer_norm(g.node("Add", words, token_positions), "embeddings.LayerNorm")

    def layer(self, tokens: str, name: str) -> str:
        g = self._graph
        mixed = self._linear(self._attention(tokens, f"{name}attention.self."), f"{name}attention.output.dense")
        tokens = self._layer_norm(g.node("Add", mixed, tokens), f"{name}attention.output.LayerNorm")
        wide = g.node("Gelu", self._linear(tokens, f"{name}intermediate.dense"), domain=_MICROSOFT)
        # With one scale per tensor, the few outliers of GELU would take up most levels.
        narrow = self._linear(wide, f"{name}output.dense", blockwise=True)
        return self._layer_norm(g.node("Add", narrow, tokens), f"{name}output.LayerNorm")

    def pooled(self, tokens: str) -> str:
        g = self._graph
        if self._shape.pooling == "mean":
            return g.node("ReduceMean", tokens, axes=[1], keepdims=0)
        return g.node("Gather", tokens, g.constant(np.array(0)), axis=1)

    def _attention(self, tokens: str, name: str) -> str:
        """Attend with as many heads as the weights have: a pruned layer has fewer than the shape says."""
        g, head = self._graph, self._shape.hidden_size // self._shape.num_attention_heads
        width = len(self._weights(f"{name}query.bias"))
        parts = g.constant(np.array([width] * 3))
        joined = self._linear(tokens, *(f"{name}{part}" for part in ("query", "key", "value")))
        query, key, value = g.add("Split", joined, parts, outputs=3, axis=-1)
        return g.node("MultiHeadAttention", query, key, value, domain=_MICROSOFT, num_heads=width // head)

    def _layer_norm(self, tokens: str, name: str) -> str:
        g = self._graph
        scale, bias = (g.constant(self._weights(f"{name}.{part}")) for part in ("weight", "bias"))
        return g.node("LayerNormalization", tokens, scale, bias, axis=-1, epsilon=self._shape.layer_norm_eps)

    def _linear(self, tokens: str, *names: str, blockwise: bool = False) -> str:
        """Apply the dense layers with these names, concatenated: x @ W.T + b."""
        weight = np.concatenate([self._weights(f"{name}.weight") for name in names])
        bias = np.concatenate([self._weights(f"{name}.bias") for name in names])
        g = self._graph
        if self._exact:
            return g.node("Add", g.node("MatMul", tokens, g.constant(weight.T)), g.constant(bias))
        if blockwise and weight.shape[1] % _BLOCK == 0:
            return self._blockwise_linear(tokens, weight, bias)
        levels, scale = _quantise(weight, _TENSOR_LEVELS)
        zeros = np.zeros(len(scale), np.int8)
        constants = [g.constant(part) for part in (levels.T, scale, zeros, bias)]
        return g.node("DynamicQuantizeMatMul", tokens, *constants, domain=_MICROSOFT)

    def _blockwise_linear(self, tokens: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        """Quantise weights and inputs per block of 128 columns. accuracy_level 4 multiplies in int8."""
        outputs, inputs = weight.shape
        levels, scale = _quantise(weight.reshape(outputs, -1, _BLOCK), _BLOCK_LEVELS)
        shifted = (levels.astype(np.int16) + 128).astype(np.uint8)
        g = self._graph
        sizes = {"K": inputs, "N": outputs, "bits": 8, "block_size": _BLOCK, "accuracy_level": 4}
        names = g.constant(shifted), g.constant(scale), "", "", g.constant(bias)
        return g.node("MatMulNBits", tokens, *names, domain=_MICROSOFT, **sizes)

    def _quantised_rows(self, table: NDArray[Any]) -> str:
        levels, scale = _quantise(table, _BLOCK_LEVELS)
        g = self._graph
        rows = g.node("Cast", g.node("Gather", g.constant(levels), "input_ids"), to=onnx_messages.FLOAT)
        return g.node("Mul", rows, g.node("Gather", g.constant(scale[:, None]), "input_ids"))


def _quantise(values: NDArray[Any], levels: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return integers in -levels..levels and one scale per row of the last axis: values ~ integers * scale."""
    largest = np.abs(values).max(axis=-1)
    scale = np.where(largest > 0, largest / levels, 1).astype(np.float32)
    return np.rint(values / scale[..., None]).astype(np.int8), scale
