"""Runs a converted model: its tokenizer and its onnxruntime session."""

import numpy as np

from embeddings import telemetry
from embeddings.base import Vector
from embeddings.tokens import TextTokens

telemetry.switch_off()

import onnxruntime  # noqa: E402 - it reads the switch when it is loaded


class Encoder:
    """Encodes texts as vectors. Safe to call from several threads at once."""

    def __init__(self, model: bytes, threads: int) -> None:
        self._session = open_session(model, threads)
        properties = self._session.get_modelmeta().custom_metadata_map
        self._tokens = TextTokens(properties["tokenizer"], int(properties["max_length"]))
        self.query_prompt: str = properties["query_prompt"]
        self.document_prompt: str = properties["document_prompt"]

    def encode(self, text: str) -> Vector:
        """Return the vector of any string: shape (dimension,), unit length."""
        ids = np.array([self._tokens.ids(text)], dtype=np.int64)
        (vectors,) = self._session.run(["vector"], {"input_ids": ids})
        vector: Vector = vectors[0]
        return vector


def open_session(model: bytes | str, threads: int) -> onnxruntime.InferenceSession:
    """Return a session that encodes one text at a time. The model is its graph, or the path of it."""
    return onnxruntime.InferenceSession(model, _session_options(threads), providers=["CPUExecutionProvider"])


def _session_options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The arena would keep the memory of the longest text for ever, and saves no time.
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    return options
