"""What helps: models of one seed where nothing else is said, each made in another way, beside each other.

They are measured on the packages of which nothing is learned. A vocabulary of another size reads all pairs anew, and
takes its words' start from the whole one.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.embedding import StaticEmbedder
from sylk_ray.knowledge.embedding.vocabulary import Vocabulary
from training.embedder import preparing, vocabulary
from training.embedder.comparing import by_meaning
from training.embedder.distilling import Taught, taught_by_minilm
from training.embedder.measuring import Asked, development, score
from training.embedder.packages import packages
from training.embedder.preparing import LANGUAGES, Training
from training.embedder.quantise import as_file, softened
from training.embedder.recipe import OF_EVERYTHING, RECIPES, SOFTENED, WAY, Recipe
from training.embedder.starting import OF_CODE, reduced, start_of_words
from training.embedder.tokens import only
from training.embedder.train import Floats, trained


class Parts(NamedTuple):
    """What training begins with."""

    training: Training
    words: list[str]
    start: Floats


def helps(cache: Path) -> str:
    """A table: MRR@10 by language, and in the mean, of each way to make the model."""
    words = vocabulary.of_packages(packages(), cache)
    whole = Parts(preparing.of_packages(packages(), words, cache), words, start_of_words(words, cache))
    sets = development(packages(), cache)
    lines = [f"| | {' | '.join(asked.language for asked in sets)} | mean |", f"|---|{'---:|' * (len(sets) + 1)}"]
    for name, make in _ways(whole, cache):
        began = time.monotonic()
        found = make(sets)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        scores = [found[asked.language] for asked in sets]
        lines.append(f"| {name} | {' | '.join(f'{each:.3f}' for each in [*scores, float(np.mean(scores))])} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


Make = Callable[[Sequence[Asked]], Mapping[str, float]]


def _ways(whole: Parts, cache: Path) -> Iterator[tuple[str, Make]]:
    recipe = Recipe(models=1, epochs=1.0)
    without_glosses = {kind: share for kind, share in recipe.shares.items() if kind != "gloss"}
    random = np.random.default_rng(recipe.seed).standard_normal(whole.start.shape, np.float32)
    yield "of one seed and one epoch, without what is written inside of code", _of(whole, recipe)
    yield "another seed", _of(whole, recipe._replace(seed=recipe.seed + 1))
    yield "with what is written inside of code", _of(whole, recipe._replace(shares=OF_EVERYTHING))
    yield "three epochs", _of(whole, recipe._replace(epochs=3.0))
    yield "the mean of three and two such: as shipped", _of(whole, *RECIPES)
    yield "all of the way from the start", _of(whole, recipe, way=1.0)
    yield "what words count as it was learned", _of(whole, recipe, soft=(1.0, 1.0))
    yield "temperature 0.05", _of(whole, recipe._replace(temperature=0.05))
    yield "batches of several languages", _of(whole, recipe._replace(apart=False))
    yield "without pairs of one topic in a batch", _of(whole, recipe._replace(of_a_topic=0))
    yield "as much of the loss for a document's question", _of(whole, recipe._replace(query_share=0.5))
    yield "batches of 1,024", _of(whole, recipe._replace(batch=1_024, rate=0.004))
    yield "vectors start at random", _of(whole._replace(start=random), recipe)
    of_sentences, of_code = whole.start[:, :-OF_CODE], whole.start[:, -OF_CODE:]
    yield "vectors start at what MiniLM knows alone", _of(whole._replace(start=of_sentences), recipe)
    yield "vectors start at what Qwen2.5-Coder knows alone", _of(whole._replace(start=of_code), recipe)
    yield "without the layer", _of(whole, recipe._replace(rate_of_layer=0.0))
    yield "a layer of 128 units", _of(whole, recipe._replace(units=128))
    for dimensions in (128, 384):
        yield f"{dimensions} dimensions", _of(whole, recipe._replace(dimensions=dimensions))
    for size in (10_000, 20_000):
        yield f"{size:,} words", lambda sets, size=size: _of(_with_words(whole, size, cache), recipe)(sets)
    wide = recipe._replace(dimensions=384)
    yield "25,000 words, 384 dimensions", lambda sets: _of(_with_words(whole, 25_000, cache), wide)(sets)
    for counts in (0.3, 1.0):
        yield f"MiniLM as a teacher, counts {counts}", partial(_taught, whole, recipe._replace(teacher=counts), cache)
    yield "a model for each language", lambda sets: _apart(whole, recipe, sets)
    yield "without WordNet's glosses", _of(whole, recipe._replace(shares=without_glosses))
    yield "without the pull towards the start", _of(whole, recipe._replace(pull=0.0))
    yield "without several pairs of one file in a batch (hard negatives)", _of(whole, recipe._replace(together=1))


def _of(
    parts: Parts, *recipes: Recipe, way: float = WAY, soft: tuple[float, float] = SOFTENED, taught: Taught | None = None
) -> Make:
    def measured(sets: Sequence[Asked]) -> Mapping[str, float]:
        learned = trained(parts.training, reduced(parts.start, recipes[0].dimensions), recipes, way, taught)
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
            file.write(as_file(softened(learned, *soft), parts.words, {}))
            file.flush()
            similar = by_meaning(StaticEmbedder(Path(file.name)))
            return {asked.language: score(similar(asked)).mrr for asked in sets}

    return measured


def _taught(parts: Parts, recipe: Recipe, cache: Path, sets: Sequence[Asked]) -> Mapping[str, float]:
    """Distilled: a part of the loss is how far it is from what MiniLM finds alike."""
    return _of(parts, recipe, taught=taught_by_minilm(packages(), cache))(sets)


def _with_words(whole: Parts, size: int, cache: Path) -> Parts:
    """The most frequent words of all, and each letter and digit."""
    kept = [number for number, word in enumerate(whole.words) if number < size or len(word) == 1]
    words = [whole.words[number] for number in kept]
    pairs = preparing.training_pairs(packages(), cache)
    return Parts(preparing.as_training(pairs, Vocabulary(words)), words, whole.start[kept])


def _apart(whole: Parts, recipe: Recipe, sets: Sequence[Asked]) -> Mapping[str, float]:
    """Each with the pairs of its language, and with the glosses; as long as it would have been among the others."""
    found: dict[str, float] = {}
    for asked in sets:
        spoken = {LANGUAGES.index(asked.language), LANGUAGES.index("english")}
        own = whole._replace(training=_only(whole.training, np.isin(whole.training.languages, list(spoken))))
        found |= _of(own, recipe)([asked])
    return found


def _only(training: Training, kept: npt.NDArray[np.bool_]) -> Training:
    file_of = np.repeat(np.arange(len(training.files) - 1), np.diff(training.files))[kept]
    begins = np.concatenate([[0], np.flatnonzero(np.diff(file_of)) + 1, [len(file_of)]])
    return Training(
        only(training.queries, kept),
        only(training.documents, kept),
        training.kinds[kept],
        training.languages[kept],
        begins.astype(np.int64),
    )
