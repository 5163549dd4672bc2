"""Structured pruning of a BERT encoder: whole attention heads and whole neurons go, and what stays makes up for them.

The output of a dense layer is a sum over its inputs, so inputs can be removed and the weights of the others fitted
again by least squares, over the inputs that real texts give. Which input to remove next follows from the same Gram
matrix: Hassibi and Stork 1993, Optimal Brain Surgeon; for whole structures Kurtic et al. 2023, ZipLM
(arXiv:2302.04089). How many stay in each layer is chosen by what their removal does to the vectors of texts.
"""

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from low_rank import pooled

HEAD = 32
"""Inputs of a head."""

SIZES = {"heads": tuple(range(1, 13)), "neurons": tuple(range(128, 1537, 128))}
"""What may stay of a layer. The service quantises blocks of 128 neurons."""

_AT_ONCE = {"heads": 1, "neurons": 32}
_PARAMETERS = {"heads": 4 * 384 * HEAD, "neurons": 2 * 384}
_DAMPING = 1e-4

Batch = Mapping[str, Tensor]
Kind = Literal["heads", "neurons"]


class Place(NamedTuple):
    """The heads or the neurons of one layer."""

    kind: Kind
    layer: int

    @property
    def width(self) -> int:
        """How many inputs of the dense layer one of them is."""
        return HEAD if self.kind == "heads" else 1

    def dense(self, bert: Any) -> nn.Linear:
        """Return the dense layer that reads them."""
        layer = bert.encoder.layer[self.layer]
        found: nn.Linear = layer.attention.output.dense if self.kind == "heads" else layer.output.dense
        return found


class Candidate(NamedTuple):
    """What is known of a place: its Gram matrix, the weights of its dense layer, and its parts, the dearest last."""

    gram: Tensor
    weights: Tensor
    order: list[int]


def vectors(bert: nn.Module, texts: Sequence[Batch]) -> Tensor:
    """Return the unit vectors of tokenized texts, shape (texts, dimension)."""
    with torch.no_grad():
        return torch.cat([pooled(bert(**batch).last_hidden_state, batch["attention_mask"]) for batch in texts])


def distance(bert: nn.Module, texts: Sequence[Batch], wanted: Tensor) -> float:
    """Return the mean of one minus the cosine."""
    return float(1 - (vectors(bert, texts) * wanted).sum(1).mean())


def candidates(teacher: nn.Module, texts: Sequence[Batch]) -> dict[Place, Candidate]:
    """Return what can be pruned, in the order in which it should be."""
    kinds: tuple[Kind, ...] = ("heads", "neurons")
    places = [Place(kind, layer) for layer, kind in itertools.product(range(6), kinds)]
    grams = _grams(teacher, places, texts)
    found = {}
    for place in places:
        dense = place.dense(teacher)
        weights = torch.cat([dense.weight.T, torch.zeros(1, dense.out_features)]).double()
        found[place] = Candidate(grams[place], weights, _order(grams[place], weights, place))
    return found


def _grams(teacher: nn.Module, places: Sequence[Place], texts: Sequence[Batch]) -> dict[Place, Tensor]:
    """Return the Gram matrix of the inputs of each dense layer and of a constant, damped, in double precision."""
    grams = {place: torch.zeros(1, dtype=torch.double) for place in places}
    mask = torch.zeros(1)

    def add(place: Place, inputs: Tensor) -> None:
        rows = inputs[mask].double()
        rows = torch.cat([rows, torch.ones(len(rows), 1, dtype=torch.double)], 1)
        grams[place] = grams[place] + rows.T @ rows

    hooks = [
        place.dense(teacher).register_forward_hook(lambda _, inputs, __, place=place: add(place, inputs[0]))
        for place in places
    ]
    with torch.no_grad():
        for batch in texts:
            mask = batch["attention_mask"].bool()
            teacher(**batch)
    for hook in hooks:
        hook.remove()
    return {place: gram + torch.eye(len(gram)) * gram.diagonal().mean() * _DAMPING for place, gram in grams.items()}


def _order(gram: Tensor, weights: Tensor, place: Place) -> list[int]:
    """Return the parts of a place in the order of removal: next goes always what changes the output least."""
    width, inverse, weights = place.width, torch.linalg.inv(gram), weights.clone()
    alive, removed = torch.ones(len(gram) // width, dtype=torch.bool), []
    while int(alive.sum()) > 1:
        live = alive.nonzero()[:, 0]
        inputs = (live[:, None] * width + torch.arange(width))[..., None]
        blocks = inverse[inputs, inputs.transpose(1, 2)]
        costs = (weights[inputs[..., 0]] * torch.linalg.solve(blocks, weights[inputs[..., 0]])).sum((1, 2))
        gone = live[costs.argsort()[: min(_AT_ONCE[place.kind], len(live) - 1)]]
        rows = (gone[:, None] * width + torch.arange(width)).reshape(-1)
        shares = torch.linalg.solve(inverse[rows][:, rows], torch.cat([weights[rows], inverse[rows]], 1))
        weights -= inverse[:, rows] @ shares[:, : weights.shape[1]]
        inverse -= inverse[:, rows] @ shares[:, weights.shape[1] :]
        weights[rows], inverse[rows], inverse[:, rows] = 0, 0, 0
        inverse[rows, rows] = 1
        alive[gone] = False
        removed += gone.tolist()
    return [*removed, int(alive.nonzero()[0, 0])]


def cut(bert: Any, place: Place, candidate: Candidate, size: int) -> None:
    """Keep `size` parts of a place, and fit the weights that read them."""
    parts = torch.tensor(sorted(candidate.order[-size:]))
    kept = (parts[:, None] * place.width + torch.arange(place.width)).reshape(-1)
    rows = torch.cat([kept, torch.tensor([len(candidate.gram) - 1])])
    fitted = torch.linalg.solve(candidate.gram[rows][:, rows], candidate.gram[rows] @ candidate.weights).float()
    dense, layer = place.dense(bert), bert.encoder.layer[place.layer]
    reader = _linear(fitted[:-1].T, dense.bias + fitted[-1])
    if place.kind == "neurons":
        layer.intermediate.dense, layer.output.dense = _rows(layer.intermediate.dense, kept), reader
        return
    attention = layer.attention.self
    attention.query, attention.key, attention.value = (
        _rows(one, kept) for one in (attention.query, attention.key, attention.value)
    )
    attention.num_attention_heads, attention.all_head_size = size, len(kept)
    layer.attention.output.dense = reader


def _rows(dense: nn.Linear, kept: Tensor) -> nn.Linear:
    return _linear(dense.weight[kept], dense.bias[kept])


def _linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    made = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        made.weight.copy_(weight)
        made.bias.copy_(bias)
    return made


def prune(teacher: nn.Module, texts: Sequence[Batch], held_out: Sequence[Batch], share: float) -> nn.Module:
    """Return a copy of the teacher with at most `share` of the parameters of its layers."""
    found = candidates(teacher, texts)
    pruned = copy.deepcopy(teacher)
    for place, size in _sizes(dict(_losses(teacher, found, held_out)), share).items():
        if size < SIZES[place.kind][-1]:
            cut(pruned, place, found[place], size)
    return pruned


def _losses(
    teacher: nn.Module, found: Mapping[Place, Candidate], texts: Sequence[Batch]
) -> Iterator[tuple[Place, dict[int, float]]]:
    """Yield for each place how far vectors move if it alone is pruned, by what stays of it."""
    wanted = vectors(teacher, texts)
    for place, candidate in found.items():
        moved = {SIZES[place.kind][-1]: 0.0}
        for size in SIZES[place.kind][:-1]:
            tried = copy.deepcopy(teacher)
            cut(tried, place, candidate, size)
            moved[size] = distance(tried, texts, wanted)
        yield place, moved


def _sizes(losses: Mapping[Place, Mapping[int, float]], share: float) -> dict[Place, int]:
    """Return what stays of each place, by steps that move the vectors least for each parameter they save."""
    sizes = {place: SIZES[place.kind][-1] for place in losses}
    full = sum(_PARAMETERS[place.kind] * size for place, size in sizes.items())
    while sum(_PARAMETERS[place.kind] * size for place, size in sizes.items()) > share * full:
        _, place, size = min(
            ((losses[place][less] - losses[place][size]) / (_PARAMETERS[place.kind] * (size - less)), place, less)
            for place, size in sizes.items()
            for less in SIZES[place.kind]
            if less < size
        )
        sizes[place] = size
    return sizes
