"""Training: words, weights, positions and a layer by a contrastive loss.

A text's vector is the normalised sum over its words of ``exp(w) * times ** 0.25 * p(place) * E``: ``E`` is shared;
``w``, and ``p``, which tells how much a word counts by the place at which it first stands, are apart for questions and
documents. Over it is one residual layer, which both share. The loss is InfoNCE (van den Oord et al., 2018) over a
batch, more of it for a question's document than for a document's question; a batch is of one language and of few
topics, which makes its negatives hard. What is kept is the mean of models of several seeds and of two choices of pairs
(Wortsman et al., 2022a), which have all begun at the same words and the same layer, and of the words a point on the way
there from the beginning (2022b): what documentation teaches of code costs some of what the words mean elsewhere.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from sylk_ray.knowledge.embedding.places import PLACES, place_of
from training.embedder.batching import Halves, Numbers, batches
from training.embedder.distilling import Taught, disagreement
from training.embedder.preparing import KINDS, Training
from training.embedder.quantise import Learned
from training.embedder.recipe import RECIPES, WAY, Recipe
from training.embedder.tokens import Bags, carried_on, only, usual
from training.embedder.whole_files import named_by, whole

Floats = npt.NDArray[np.float32]
AT_ONCE = 4_096
"""Pairs that are embedded together."""
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
        self.places_asked = torch.nn.Parameter(torch.zeros(PLACES))
        self.places = torch.nn.Parameter(torch.zeros(PLACES))
        self.length = math.sqrt(start.shape[1])
        self.inner = torch.nn.Linear(start.shape[1], units)
        self.outer = torch.nn.Linear(units, start.shape[1], bias=False)
        torch.nn.init.zeros_(self.outer.weight)

    def forward(self, side: str, rows: torch.Tensor, times: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
        asked = side == "queries"
        says, places = (self.of_questions, self.places_asked) if asked else (self.of_documents, self.places)
        inside = torch.arange(len(rows)) - torch.repeat_interleave(starts, _lengths(starts, len(rows)))
        place = _PLACE[inside.clamp(max=len(_PLACE) - 1)]
        weights = torch.exp(says[rows] + places[place]) * times.sqrt().sqrt()
        summed = functional.embedding_bag(rows, self.vectors, starts, mode="sum", per_sample_weights=weights)
        whole = self.length * functional.normalize(summed, dim=1)
        return functional.normalize(whole + self.outer(functional.relu(self.inner(whole))), dim=1)

    def learned(self, training: Training) -> Learned:
        """All of it as arrays, with how rare words are in what was learned from."""
        definitions = only(training.documents, np.isin(training.kinds, [KINDS.index("doc"), KINDS.index("name")]))
        with torch.no_grad():
            questions, documents, asked, places = (
                torch.exp(each).numpy().copy()
                for each in (self.of_questions, self.of_documents, self.places_asked, self.places)
            )
        layer = (each.detach().numpy().copy() for each in (self.inner.weight, self.inner.bias, self.outer.weight))
        return Learned(
            usual(definitions, len(questions)),
            self.vectors.detach().numpy().copy(),
            questions,
            documents,
            carried_on(asked, training.queries),
            carried_on(places, training.documents),
            *layer,
        )


_MADE_BY = [Path(__file__).with_name(name).read_bytes() for name in ("train.py", "batching.py")]
_PLACE = torch.tensor([place_of(each) for each in range(4_096)])


def trained(
    training: Training,
    start: Floats,
    recipes: Sequence[Recipe] = RECIPES,
    way: float = WAY,
    taught: Taught | None = None,
    kept: Path | None = None,
) -> Learned:
    """The mean of all models of all recipes, trained from where the words start.

    ``kept`` is the path, by which pairs it is of, that each model is kept beside: what ends the training costs one."""
    first = recipes[0]
    torch.set_num_threads(first.threads)
    frequency = _frequency(training.documents, len(start))
    meant = _meant(training, Model(start, frequency, units=1)) if any(recipe.of_a_topic for recipe in recipes) else None
    began = hashlib.sha256(start.tobytes()).hexdigest()
    models: list[Model] = []
    for recipe in recipes:
        for seed in range(recipe.seed, recipe.seed + recipe.models):
            own = recipe._replace(seed=seed, models=1)
            # All begin at the same layer: only what comes from one place has a mean that means anything.
            torch.manual_seed(first.seed)
            model = Model(start, frequency, first.units)
            path = kept and named_by(kept, *_MADE_BY, began, first.seed, own)
            if path and path.exists():
                model.load_state_dict(torch.load(path, weights_only=True))
            else:
                _train(training, model, own, meant, taught)
                if path:
                    with whole(path) as file:
                        torch.save(model.state_dict(), file)
            models.append(model)
    with torch.no_grad():
        for mean, *others in zip(*(model.parameters() for model in models), strict=True):
            mean.copy_(torch.stack([mean, *others]).mean(dim=0))
        models[0].vectors.copy_(torch.lerp(models[0].start, models[0].vectors, way))
    return models[0].learned(training)


def _meant(training: Training, model: Model) -> Halves:
    """What each pair is about, as far as a model knows, [pairs, dimensions]."""
    found = np.empty((len(training.kinds), model.start.shape[1]), np.float16)
    with torch.no_grad():
        for some in np.split(np.arange(len(found)), range(AT_ONCE, len(found), AT_ONCE)):
            both = (model(side, *_picked(getattr(training, side), some)) for side in ("queries", "documents"))
            found[some] = sum(each.numpy() for each in both)
    return found


def _train(training: Training, model: Model, recipe: Recipe, meant: Halves | None, taught: Taught | None) -> None:
    table = torch.optim.Adam([model.vectors], betas=(0.9, 0.98), fused=True)
    others = torch.optim.Adam([model.of_questions, model.of_documents, model.places_asked, model.places], fused=True)
    layer = torch.optim.Adam([*model.inner.parameters(), *model.outer.parameters()], fused=True)
    optimizers = ((table, 1.0), (others, 2.0), (layer, recipe.rate_of_layer))
    steps = list(batches(training, recipe, meant))
    lessons = np.random.default_rng(recipe.seed)
    began = time.monotonic()
    for number, chosen in enumerate(steps):
        rate = recipe.rate * min(1.0, (number + 1) / 50) * (0.5 + 0.5 * math.cos(math.pi * number / len(steps)))
        for optimizer, times in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * times
        loss = contrast(_similar(training, model, chosen), recipe)
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
        if number % 50 == 0 or number + 1 == len(steps):
            took = time.monotonic() - began
            told = f"seed {recipe.seed}, step {number + 1} of {len(steps)}: loss {loss.item():.3f}, {took:.0f} s"
            print(told, flush=True)


def contrast(similar: torch.Tensor, recipe: Recipe) -> torch.Tensor:
    """InfoNCE of the cosines of pairs, [questions, documents]: those on the diagonal belong together."""
    told, own = similar / recipe.temperature, torch.arange(len(similar))
    of_questions, of_documents = functional.cross_entropy(told, own), functional.cross_entropy(told.T, own)
    return recipe.query_share * of_questions + (1 - recipe.query_share) * of_documents


def _similar(training: Training, model: Model, chosen: Numbers) -> torch.Tensor:
    """The cosines, [questions, documents], of pairs."""
    questions = model("queries", *_picked(training.queries, chosen))
    return questions @ model("documents", *_picked(training.documents, chosen)).T


def _picked(bags: Bags, chosen: Numbers) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
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
