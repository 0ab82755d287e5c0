"""Training: words, weights, positions and a layer by a contrastive loss.

A text's vector is the normalised sum over its words of ``exp(w) * sqrt(times) * p(place) * E``: ``E`` is shared, ``w``
apart for questions and documents, and ``p`` tells how much a word counts by the place at which it first stands in a
document. Over it is one residual layer, which questions and documents share. The loss is the symmetric InfoNCE (van den
Oord et al., 2018) over a batch; a batch is of one language, which makes its negatives hard. What is kept is the mean of
models of several seeds and of two choices of pairs (Wortsman et al., 2022a), which have all begun at the same words and
the same layer, and of the words a point on the way there from the beginning (2022b): what documentation teaches of code
costs some of what the words mean elsewhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from sylk_ray.knowledge.embedding.places import PLACES, place_of
from training.embedder.distilling import Taught, disagreement
from training.embedder.preparing import KINDS, Training
from training.embedder.quantise import Learned
from training.embedder.tokens import Bags

Floats = npt.NDArray[np.float32]


OF_DOCUMENTATION = {
    "doc": 1.0,
    "more": 0.5,
    "name": 0.03,
    "comment": 0.0,
    "file": 1.0,
    "test": 0.5,
    "section": 1.0,
    "gloss": 0.6,
}
OF_EVERYTHING = OF_DOCUMENTATION | {"name": 0.25, "comment": 0.6}
"""What is written inside of code says less of what it is for, and says it in the words that people ask with."""


class Recipe(NamedTuple):
    """Every number of a training."""

    dimensions: int = 256
    epochs: float = 3.0
    batch: int = 2_048
    together: int = 8
    """Pairs of one file in a batch."""
    apart: bool = True
    """A batch is of one language."""
    temperature: float = 0.07
    rate: float = 0.0045
    units: int = 512
    """Of the layer."""
    rate_of_layer: float = 0.3
    """In units of the rate."""
    pull: float = 0.2
    """Towards the start: which part of the way back a word's vector goes in a step, in units of the rate."""
    shares: Mapping[str, float] = OF_DOCUMENTATION
    """Which part of each kind's pairs an epoch draws."""
    seed: int = 20
    teacher: float = 0.0
    """How much it counts that a teacher finds questions and documents as alike, where there is one."""
    models: int = 3
    """Seeds from the first one on."""
    threads: int = 2


RECIPES = (Recipe(), Recipe(epochs=1.0, shares=OF_EVERYTHING, seed=23, models=2))
"""What the mean is of that is kept."""
WAY = 0.85
"""How far the vectors are in the end from the start to what was learned."""
LESSON = 512
"""Pairs of a step that a teacher tells of."""


class Model(torch.nn.Module):
    """The tables, and the layer."""

    def __init__(self, start: Floats, frequency: Floats, units: int) -> None:
        super().__init__()
        self.start = torch.from_numpy(start)
        self.vectors = torch.nn.Parameter(self.start.clone())
        # Rare words say more: where a weight starts (Arora et al., 2017).
        weights = torch.from_numpy(np.log(1e-3 / (1e-3 + frequency))).float()
        self.of_questions = torch.nn.Parameter(weights.clone())
        self.of_documents = torch.nn.Parameter(weights.clone())
        self.places = torch.nn.Parameter(torch.zeros(PLACES))
        self.length = math.sqrt(start.shape[1])
        self.inner = torch.nn.Linear(start.shape[1], units)
        self.outer = torch.nn.Linear(units, start.shape[1], bias=False)
        torch.nn.init.zeros_(self.outer.weight)

    def forward(self, side: str, rows: torch.Tensor, times: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        weights = torch.exp((self.of_questions if side == "queries" else self.of_documents)[rows]) * times.sqrt()
        if side == "documents":
            inside = torch.arange(len(rows)) - torch.repeat_interleave(starts, _lengths(starts, len(rows)))
            weights = weights * torch.exp(self.places[_PLACE[inside.clamp(max=len(_PLACE) - 1)]])
        summed = functional.embedding_bag(rows, self.vectors, starts, mode="sum", per_sample_weights=weights)
        whole = self.length * functional.normalize(summed, dim=1)
        return functional.normalize(whole + self.outer(functional.relu(self.inner(whole))), dim=1)

    def learned(self) -> Learned:
        """All of it as arrays."""
        weights = (torch.exp(each) for each in (self.of_questions, self.of_documents, self.places))
        layer = (self.inner.weight, self.inner.bias, self.outer.weight)
        return Learned(*(each.detach().numpy().copy() for each in (self.vectors, *weights, *layer)))


_PLACE = torch.tensor([place_of(each) for each in range(4_096)])


def trained(
    training: Training,
    start: Floats,
    recipes: Sequence[Recipe] = RECIPES,
    way: float = WAY,
    taught: Taught | None = None,
) -> Learned:
    """The mean of all models of all recipes, trained from where the words start."""
    first = recipes[0]
    torch.set_num_threads(first.threads)
    frequency = _frequency(training.documents, len(start))
    models: list[Model] = []
    for recipe in recipes:
        for number in range(recipe.models):
            # All begin at the same layer: only what comes from one place has a mean that means anything.
            torch.manual_seed(first.seed)
            model = Model(start, frequency, first.units)
            models.append(_trained(training, model, recipe._replace(seed=recipe.seed + number), taught))
    parameters = zip(*(model.parameters() for model in models), strict=True)
    with torch.no_grad():
        for kept, *others in parameters:
            kept.copy_(torch.stack([kept, *others]).mean(dim=0))
        models[0].vectors.copy_(torch.lerp(models[0].start, models[0].vectors, way))
    return models[0].learned()


def _trained(training: Training, model: Model, recipe: Recipe, taught: Taught | None) -> Model:
    table = torch.optim.Adam([model.vectors], betas=(0.9, 0.98), fused=True)
    others = torch.optim.Adam([model.of_questions, model.of_documents, model.places], fused=True)
    layer = torch.optim.Adam([*model.inner.parameters(), *model.outer.parameters()], fused=True)
    optimizers = ((table, 1.0), (others, 2.0), (layer, recipe.rate_of_layer))
    batches = list(_batches(training, recipe))
    lessons = np.random.default_rng(recipe.seed)
    began = time.monotonic()
    for number, chosen in enumerate(batches):
        rate = recipe.rate * min(1.0, (number + 1) / 50) * (0.5 + 0.5 * math.cos(math.pi * number / len(batches)))
        for optimizer, times in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * times
        similar = _similar(training, model, chosen) / recipe.temperature
        own = torch.arange(len(chosen))
        loss = (functional.cross_entropy(similar, own) + functional.cross_entropy(similar.T, own)) / 2
        if taught is not None:
            some = lessons.integers(len(taught.pairs), size=LESSON)
            likenesses = _similar(training, model, np.asarray(taught.pairs)[some]) / recipe.temperature
            theirs = (torch.from_numpy(rows[some]) for rows in (taught.questions, taught.documents))
            loss = loss + recipe.teacher * disagreement(likenesses, *theirs)
        for optimizer, _ in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer, _ in optimizers:
            optimizer.step()
        with torch.no_grad():
            model.vectors.lerp_(model.start, rate * recipe.pull)
        if number % 50 == 0 or number + 1 == len(batches):
            took = time.monotonic() - began
            told = f"seed {recipe.seed}, step {number + 1} of {len(batches)}: loss {loss.item():.3f}, {took:.0f} s"
            print(told, flush=True)
    return model


def _similar(training: Training, model: Model, chosen: npt.NDArray[np.int64]) -> torch.Tensor:
    """The cosines, [questions, documents], of pairs."""
    questions = model("queries", *_picked(training.queries, chosen))
    return questions @ model("documents", *_picked(training.documents, chosen)).T


def _batches(training: Training, recipe: Recipe) -> Iterator[npt.NDArray[np.int64]]:
    """The pairs of each step: of one language, and of several where what is left of each is too little."""
    order = np.random.default_rng(recipe.seed)
    shares = np.asarray([recipe.shares.get(kind, 0.0) for kind in KINDS])
    file_of = np.repeat(np.arange(len(training.files) - 1), np.diff(training.files))
    remaining = recipe.epochs
    while remaining > 0:
        drawn = np.flatnonzero(order.random(len(training.kinds)) < shares[training.kinds] * min(1.0, remaining))
        drawn = drawn[np.lexsort((order.random(len(drawn)), file_of[drawn]))]
        # A file's pairs in groups of at most so many, and the groups in any order.
        first = np.concatenate([[0], np.flatnonzero(np.diff(file_of[drawn])) + 1])
        place = np.arange(len(drawn)) - np.repeat(first, np.diff([*first, len(drawn)]))
        cut = np.flatnonzero(place % recipe.together == 0)
        groups = np.split(drawn, cut[1:])
        mixed = np.concatenate([groups[each] for each in order.permutation(len(groups))])
        spoken = training.languages[mixed]
        whole: list[npt.NDArray[np.int64]] = []
        rest: list[npt.NDArray[np.int64]] = []
        for own in [mixed[spoken == language] for language in np.unique(spoken)] if recipe.apart else [mixed]:
            *full, last = np.split(own, range(recipe.batch, len(own) + 1, recipe.batch))
            whole += full
            rest.append(last)
        left = order.permutation(np.concatenate(rest))
        whole += np.split(left, range(recipe.batch, len(left) + 1, recipe.batch))[:-1]
        for each in order.permutation(len(whole)):
            yield whole[each]
        remaining -= 1


def _picked(bags: Bags, chosen: npt.NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    lengths = bags.starts[chosen + 1] - bags.starts[chosen]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    at = np.repeat(bags.starts[chosen] - starts, lengths) + np.arange(lengths.sum())
    rows, times = bags.rows[at].astype(np.int64), bags.times[at].astype(np.float32)
    return torch.from_numpy(rows), torch.from_numpy(times), torch.from_numpy(starts)


def _lengths(starts: torch.Tensor, total: int) -> torch.Tensor:
    return torch.diff(starts, append=torch.tensor([total]))


def _frequency(bags: Bags, words: int) -> Floats:
    counts = np.bincount(bags.rows, minlength=words).astype(np.float32)
    return (counts + 1) / (counts.sum() + words)
