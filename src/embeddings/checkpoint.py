"""Reads a model folder as sentence-transformers saves it: sizes of a BERT, pooling, prompts, fingerprint."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
_MODULES = {"Transformer", "Pooling", "Normalize"}
_T = TypeVar("_T")
_FINGERPRINTED = {".bin", ".json", ".model", ".onnx", ".onnx_data", ".safetensors", ".txt"}


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
class Prompts:
    """What goes before the texts of queries and of documents."""

    query: str
    document: str


@dataclass(frozen=True)
class ModelCheckpoint:
    """A model folder that can be converted. `max_length` is in tokens."""

    directory: Path
    shape: BertShape
    max_length: int
    prompts: Prompts


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


class _PromptFile(msgspec.Struct):
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
    _check_supported(config)
    pooling: Any = pooling_of(directory)
    if pooling not in ("mean", "cls"):
        raise CheckpointError("its pooling is neither the mean nor the first token")
    return ModelCheckpoint(
        directory=directory,
        shape=BertShape(
            hidden_size=config.hidden_size,
            num_hidden_layers=config.num_hidden_layers,
            num_attention_heads=config.num_attention_heads,
            layer_norm_eps=config.layer_norm_eps,
            pooling=pooling,
        ),
        max_length=min(length_of(directory) or config.max_position_embeddings, config.max_position_embeddings),
        prompts=prompts_of(directory),
    )


def _check_supported(config: _Config) -> None:
    if config.model_type != "bert":
        raise CheckpointError(f"its type is {config.model_type}, not bert")
    if config.hidden_act != "gelu" or config.position_embedding_type != "absolute":
        raise CheckpointError("its activation or its position embeddings are not those of BERT")


def prompts_of(directory: Path) -> Prompts:
    """Return the prompts of a model; `passage` is another name of that of documents. Raises as `optional` does."""
    prompts = optional(directory / "config_sentence_transformers.json", _PromptFile).prompts
    document = prompts.get("document") or prompts.get("passage") or prompts.get("corpus")
    return Prompts(query=prompts.get("query") or "", document=document or "")


def length_of(directory: Path) -> int | None:
    """Return the length limit of a model in tokens, None if its folder names none.

    Raises CheckpointError if the model lowercases texts, and what `optional` raises.
    """
    sentences = optional(directory / "sentence_bert_config.json", _Sentences)
    if sentences.do_lower_case:
        raise CheckpointError("it lowercases texts")
    return sentences.max_seq_length


def pooling_of(directory: Path) -> str:
    """Return how the vectors of tokens become one: `mean`, `cls`, `max`, `lasttoken` or another mode's name.

    Without a pooling configuration, it is the mean, as in sentence-transformers. Raises CheckpointError for a model
    that pools in several ways, leaves its prompt out, or has modules behind the pooling; and what `optional` raises.
    """
    modules = optional(directory / "modules.json", list[_Module])
    used = {module.type.rpartition(".")[2] for module in modules}
    if others := used - _MODULES:
        raise CheckpointError(f"it has unsupported modules: {', '.join(sorted(others))}")
    pooling = optional(directory / "1_Pooling" / "config.json", _Pooling)
    if not pooling.include_prompt:
        raise CheckpointError("it excludes the prompt from pooling")
    flags = msgspec.structs.asdict(pooling)
    modes = {name for name, on in flags.items() if name.startswith("pooling_mode_") and on}
    names = {name.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token") for name in modes}
    names |= {pooling.pooling_mode} - {""}
    if len(names) > 1:
        raise CheckpointError(f"its pooling joins several: {', '.join(sorted(names))}")
    return names.pop() if names else "mean"


def _decode(path: Path, kind: type[_T]) -> _T:
    return msgspec.json.decode(path.read_bytes(), type=kind)


def optional(path: Path, kind: type[_T]) -> _T:
    """Return the contents of a JSON file, or an empty `kind` without one. Raises OSError and msgspec.MsgspecError."""
    return _decode(path, kind) if path.is_file() else kind()
