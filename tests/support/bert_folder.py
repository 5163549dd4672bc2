"""A tiny BERT-type model with random weights, as sentence-transformers would save it."""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

HIDDEN, WIDE, LAYERS, HEADS, POSITIONS = 128, 256, 2, 4, 64
_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklm")]


def write_bert_folder(folder: Path, seed: int = 0, pooling: str = "mean", query_prompt: str = "") -> Path:
    """Write config, weights and tokenizer to `folder` and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(_weights(np.random.default_rng(seed)), folder / "model.safetensors", metadata={"format": "pt"})
    _tokenizer().save(str(folder / "tokenizer.json"))
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    for name, content in {
        "config.json": _config(),
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "model_max_length": POSITIONS},
        "sentence_bert_config.json": {"max_seq_length": POSITIONS, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {"query": query_prompt}},
        "1_Pooling/config.json": _pooling(pooling),
        "modules.json": [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for n, (kind, path) in enumerate(modules)
        ],
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return folder


def _config() -> dict[str, object]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": HIDDEN,
        "intermediate_size": WIDE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "vocab_size": len(_WORDS),
    }


def _pooling(mode: str) -> dict[str, object]:
    return {
        "word_embedding_dimension": HIDDEN,
        "pooling_mode_cls_token": mode == "cls",
        "pooling_mode_mean_tokens": mode == "mean",
        "pooling_mode_max_tokens": mode == "max",
    }


def _weights(rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(_WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{n}" for n in range(LAYERS)):
        parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
        dense = dict.fromkeys((*parts, "attention.output.dense"), (HIDDEN, HIDDEN))
        dense |= {"intermediate.dense": (WIDE, HIDDEN), "output.dense": (HIDDEN, WIDE)}
        for part, shape in dense.items():
            shapes |= {f"{layer}.{part}.weight": shape, f"{layer}.{part}.bias": shape[:1]}
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    made = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}
    for name in norms:
        made[f"{name}.weight"] = np.ones(HIDDEN, np.float32)
        made[f"{name}.bias"] = np.zeros(HIDDEN, np.float32)
    return made


def _tokenizer() -> Tokenizer:
    vocabulary = {word: number for number, word in enumerate(_WORDS)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer
