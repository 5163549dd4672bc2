"""The writer of ONNX models, against the onnx package."""

from pathlib import Path

import numpy as np
import pytest

from embeddings import EmbeddingSettings, choose, onnx_messages
from support.bert_folder import write_bert_folder

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("kind", ["float32", "uint8", "int8", "int64"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_a_tensor_is_that_of_the_package(kind: str, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape, dtype=int), dtype=kind).reshape(shape)
    assert onnx_messages.tensor("t", values) == onnx.numpy_helper.from_array(values, "t").SerializeToString()


def test_numbers_of_a_tensor_are_little_endian_and_in_rows() -> None:
    columns = np.arange(6, dtype=np.float32).reshape(2, 3).T
    for values in (columns, columns.astype(">f4")):
        written = onnx.TensorProto.FromString(onnx_messages.tensor("t", values.astype(np.float32)))
        assert np.array_equal(onnx.numpy_helper.to_array(written), columns)


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, -1, 2**40, -(2**63), 2**63 - 1])
def test_a_node_is_that_of_the_package(number: int) -> None:
    attributes: dict[str, float | list[int]] = {"whole": number, "list": [number, 1], "part": 1e-12}
    expected = onnx.helper.make_node("Op", ["a", ""], ["b"], domain="d", **attributes)
    assert onnx_messages.node("Op", ["a", ""], ["b"], "d", attributes) == expected.SerializeToString()


def test_a_converted_model_passes_the_checker_of_the_package(tmp_path: Path) -> None:
    embedder = choose(EmbeddingSettings(model=str(write_bert_folder(tmp_path / "tiny")), cache_dir=tmp_path))
    assert embedder is not None
    embedder.documents(["hello"])
    model = onnx.load(next(tmp_path.glob("*.onnx")))
    onnx.checker.check_model(model)
    assert {one.key for one in model.metadata_props} == {"tokenizer", "max_length", "query_prompt", "document_prompt"}
