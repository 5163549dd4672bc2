"""Folders with `model.onnx` and `tokenizer.json`, as other tools export them, are local models."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from embeddings import Embedder, EmbeddingError, EmbeddingSettings, EmbeddingUnavailable, choose
from embeddings.local import LocalEmbedder

pytest.importorskip("onnxruntime")

DIM = 16
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "query", "passage", ":", "hello", "world", "pdf", "tea"]
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), DIM)).astype(np.float32)


def write_graph(path: Path, inputs: list[str], *, sentence: bool = False, external: bool = False) -> None:
    """Write a model whose token vectors are rows of TABLE; with `sentence`, it also has their mean as an output."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    outputs = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", DIM])]
    if sentence:
        nodes.append(
            helper.make_node("ReduceMean", ["last_hidden_state"], ["sentence_embedding"], axes=[1], keepdims=0)
        )
        outputs.append(helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", DIM]))
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in inputs]
    graph = helper.make_graph(nodes, "exported", values, outputs, [numpy_helper.from_array(TABLE, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(model, path, save_as_external_data=external, location="model.onnx_data", size_threshold=0)


def bert_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding(length=32)  # as many published files have it; a model of one text needs none
    return tokenizer


def unigram_tokenizer() -> Tokenizer:
    """Return a tokenizer as multilingual models have it: pieces of text, and no special tokens around them."""
    pieces = [(word if word.startswith("[") else f"▁{word}", 0.0) for word in WORDS]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=1))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def write_json(folder: Path, **files: object) -> None:
    for name, content in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))


@pytest.fixture
def bge(tmp_path: Path) -> Path:
    """A folder like those of BGE: BERT, and the vector of the first token."""
    folder = tmp_path / "tiny-bge"
    write_graph(folder / "model.onnx", ["input_ids", "attention_mask", "token_type_ids"])
    bert_tokenizer().save(str(folder / "tokenizer.json"))
    write_json(
        folder,
        config={"hidden_size": DIM, "max_position_embeddings": 8, "model_type": "bert"},
        **{"1_Pooling__config": {"pooling_mode_cls_token": True, "word_embedding_dimension": DIM}},
        tokenizer_config={"model_max_length": 1000000000000000019884624838656},
    )
    return folder


@pytest.fixture
def e5(tmp_path: Path) -> Path:
    """A folder like those of multilingual E5: other pieces, prompts, a graph with its weights in a file beside it."""
    folder = tmp_path / "tiny-e5"
    write_graph(folder / "onnx" / "model.onnx", ["input_ids", "attention_mask"], external=True)
    unigram_tokenizer().save(str(folder / "tokenizer.json"))
    write_json(
        folder,
        config={"hidden_size": DIM, "model_type": "xlm-roberta"},
        config_sentence_transformers={"prompts": {"query": "query : ", "passage": "passage : "}},
    )
    return folder


def opened(folder: Path, **settings: Any) -> Embedder:
    embedder = choose(EmbeddingSettings(model=str(folder), cache_dir=folder.parent / "cache", **settings))
    assert isinstance(embedder, LocalEmbedder)
    return embedder


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / np.linalg.norm(vector)


def rows(*words: str) -> NDArray[np.float32]:
    return TABLE[[WORDS.index(word) for word in words]]


def test_a_folder_with_the_first_token_as_its_vector(bge: Path) -> None:
    embedder = opened(bge)
    assert (embedder.provider, embedder.model, embedder.dim) == ("local", "tiny-bge", DIM)
    assert embedder.queries(["Hello world"])[0] == pytest.approx(unit(TABLE[2]), abs=1e-6)


def test_a_folder_with_prompts_and_the_mean_of_its_tokens(e5: Path) -> None:
    embedder = opened(e5)
    query = unit(rows("query", ":", "hello", "pdf").mean(axis=0))
    document = unit(rows("passage", ":", "tea").mean(axis=0))
    assert embedder.queries(["hello pdf"])[0] == pytest.approx(query, abs=1e-6)
    assert embedder.documents(["tea"])[0] == pytest.approx(document, abs=1e-6)


def test_a_graph_with_a_vector_of_the_text_needs_no_pooling(bge: Path) -> None:
    write_graph(bge / "model.onnx", ["input_ids"], sentence=True)
    expected = unit(rows("[CLS]", "hello", "[SEP]").mean(axis=0))
    assert opened(bge).queries(["hello"])[0] == pytest.approx(expected, abs=1e-6)


def test_long_texts_end_at_the_limit_of_the_model(bge: Path) -> None:
    write_graph(bge / "model.onnx", ["input_ids"], sentence=True)
    long, longer = opened(bge).queries(["hello " * 6, "hello " * 60_000])
    assert long == pytest.approx(longer, abs=1e-6)


@pytest.mark.parametrize("text", ["", "\ud800", "\0", "🙂" * 500, "x" * 100_000])
def test_any_text_has_a_vector_of_unit_length(bge: Path, text: str) -> None:
    assert np.linalg.norm(opened(bge).documents([text])[0]) == pytest.approx(1, abs=1e-5)


def test_other_files_are_another_space(bge: Path) -> None:
    before = opened(bge).space
    write_json(bge, **{"1_Pooling__config": {"pooling_mode_mean_tokens": True}})
    pooled = opened(bge).space
    write_graph(bge / "model.onnx", ["input_ids"])
    assert len({before, pooled, opened(bge).space}) == 3


REFUSED: dict[str, Callable[[Path], object]] = {
    "modules behind the pooling": lambda folder: write_json(folder, modules=[{"type": "x.models.Dense"}]),
    "several poolings": lambda folder: write_json(
        folder, **{"1_Pooling__config": {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}}
    ),
    "an unknown pooling": lambda folder: write_json(
        folder, **{"1_Pooling__config": {"pooling_mode_weightedmean_tokens": True}}
    ),
    "a broken configuration": lambda folder: (folder / "config.json").write_text("{"),
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED)
def test_what_needs_more_than_a_graph_is_left_to_sentence_transformers(
    bge: Path, change: Callable[[Path], object]
) -> None:
    change(bge)
    with pytest.raises(EmbeddingUnavailable, match=r"embedding\.dimension|sentence-transformers"):
        choose(EmbeddingSettings(provider="local", model=str(bge), cache_dir=bge.parent))


def test_a_wrong_dimension_is_an_error_that_names_the_right_one(bge: Path) -> None:
    with pytest.raises(EmbeddingError, match=f"has {DIM} dimensions"):
        opened(bge, dimension=7).queries(["hello"])


def test_a_damaged_graph_or_tokenizer_is_an_error(bge: Path) -> None:
    for name in ("tokenizer.json", "model.onnx"):
        (bge / name).write_bytes(b"{}")
        with pytest.raises(EmbeddingError, match="could not be loaded"):
            opened(bge).queries(["hello"])
