"""Reads a sentence-transformers model folder of BERT type: sizes, pooling, prompts, fingerprint."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from embeddings.wordpiece import TokenizerError, WordPiece

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
_MODULES = {"Transformer", "Pooling", "Normalize"}
_T = TypeVar("_T")
_FINGERPRINTED = {".bin", ".json", ".model", ".safetensors", ".txt"}


class CheckpointError(Exception):
    """The folder is not a BERT-type encoder that can be converted. The message says why."""


@dataclass(frozen=True)
class BertShape:
    """The sizes of a BERT encoder, named as in its config.json, and its pooling of token vectors."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float
    pooling: Literal["mean", "cls"]


@dataclass(frozen=True)
class ModelCheckpoint:
    """A model folder that can be converted. `max_length` is in tokens. The prompts are prefixes of texts."""

    directory: Path
    shape: BertShape
    max_length: int
    query_prompt: str
    document_prompt: str


class _Config(msgspec.Struct):
    model_type: str
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    layer_norm_eps: float = 1e-12
    hidden_act: str = "gelu"
    position_embedding_type: str = "absolute"


class _Module(msgspec.Struct):
    type: str


class _Pooling(msgspec.Struct):
    pooling_mode: str = ""
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_mean_sqrt_len_tokens: bool = False
    pooling_mode_weightedmean_tokens: bool = False
    pooling_mode_lasttoken: bool = False
    include_prompt: bool = True


class _Sentences(msgspec.Struct):
    max_seq_length: int | None = None
    do_lower_case: bool = False


class _Prompts(msgspec.Struct):
    prompts: dict[str, str | None] = {}


def read(directory: Path) -> ModelCheckpoint:
    """Read the description of the model in `directory`. Raises CheckpointError."""
    missing = [name for name in ("config.json", WEIGHTS, TOKENIZER) if not (directory / name).is_file()]
    if missing:
        raise CheckpointError(f"it has no {missing[0]}")
    try:
        return _read(directory)
    except (OSError, msgspec.MsgspecError) as error:
        raise CheckpointError(f"its configuration cannot be read: {error}") from error


def fingerprint(directory: Path) -> str:
    """Return the SHA-256 (hex) of the names and contents of the model's files."""
    digest = hashlib.sha256()
    for path in _model_files(directory):
        with path.open("rb") as file:
            inner = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(directory).as_posix()}\0{inner}\n".encode())
    return digest.hexdigest()


def _model_files(directory: Path) -> Iterator[Path]:
    paths = (*directory.glob("*"), *directory.glob("*/*"))
    return iter(sorted(path for path in paths if path.suffix in _FINGERPRINTED and path.is_file()))


def _read(directory: Path) -> ModelCheckpoint:
    config = _decode(directory / "config.json", _Config)
    sentences = _optional(directory / "sentence_bert_config.json", _Sentences)
    pooling = _optional(directory / "1_Pooling" / "config.json", _Pooling)
    _check_supported(directory, config, sentences, pooling)
    prompts = _optional(directory / "config_sentence_transformers.json", _Prompts).prompts
    return ModelCheckpoint(
        directory=directory,
        shape=BertShape(
            hidden_size=config.hidden_size,
            num_hidden_layers=config.num_hidden_layers,
            num_attention_heads=config.num_attention_heads,
            layer_norm_eps=config.layer_norm_eps,
            pooling=_pooling_mode(pooling),
        ),
        max_length=min(sentences.max_seq_length or config.max_position_embeddings, config.max_position_embeddings),
        query_prompt=prompts.get("query") or "",
        document_prompt=prompts.get("document") or "",
    )


def _check_supported(directory: Path, config: _Config, sentences: _Sentences, pooling: _Pooling) -> None:
    if config.model_type != "bert":
        raise CheckpointError(f"its type is {config.model_type}, not bert")
    if config.hidden_act != "gelu" or config.position_embedding_type != "absolute":
        raise CheckpointError("its activation or its position embeddings are not those of BERT")
    try:
        WordPiece((directory / TOKENIZER).read_bytes(), config.max_position_embeddings)
    except TokenizerError as error:
        raise CheckpointError(str(error)) from error
    if sentences.do_lower_case or not pooling.include_prompt:
        raise CheckpointError("it lowercases texts, or excludes the prompt from pooling")
    modules = directory / "modules.json"
    listed = _decode(modules, list[_Module]) if modules.is_file() else []
    used = {module.type.rpartition(".")[2] for module in listed}
    if others := used - _MODULES:
        raise CheckpointError(f"it has unsupported modules: {', '.join(sorted(others))}")


def _pooling_mode(pooling: _Pooling) -> Literal["mean", "cls"]:
    flags = msgspec.structs.asdict(pooling)
    modes = {name for name, on in flags.items() if name.startswith("pooling_mode_") and on}
    if pooling.pooling_mode == "cls" or modes == {"pooling_mode_cls_token"}:
        return "cls"
    # Without a pooling configuration, sentence-transformers pools by the mean.
    if pooling.pooling_mode in ("", "mean") and modes <= {"pooling_mode_mean_tokens"}:
        return "mean"
    raise CheckpointError("its pooling is neither the mean nor the first token")


def _decode(path: Path, kind: type[_T]) -> _T:
    return msgspec.json.decode(path.read_bytes(), type=kind)


def _optional(path: Path, kind: type[_T]) -> _T:
    return _decode(path, kind) if path.is_file() else kind()
