"""Which pairs are learned from in one step: those that are hard to tell apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from training.embedder.preparing import KINDS, Training
from training.embedder.recipe import Recipe

Halves = npt.NDArray[np.float16]
Numbers = npt.NDArray[np.int64]
AT_ONCE = 4_096
"""Groups whose meanings are looked at together."""


def batches(training: Training, recipe: Recipe, meant: Halves | None) -> Iterator[Numbers]:
    """The pairs of each step: of one language, and of several where what is left of each is too little; some of them
    about the same, where it is known what they mean."""
    order = np.random.default_rng(recipe.seed)
    shares = np.asarray([recipe.shares.get(kind, 0.0) for kind in KINDS])
    file_of = np.repeat(np.arange(len(training.files) - 1), np.diff(training.files))
    remaining = recipe.epochs
    while remaining > 0:
        drawn = np.flatnonzero(order.random(len(training.kinds)) < shares[training.kinds] * min(1.0, remaining))
        drawn = drawn[np.lexsort((order.random(len(drawn)), file_of[drawn]))]
        # A file's pairs in groups of at most so many, and the groups in any order, or beside others like them.
        first = np.concatenate([[0], np.flatnonzero(np.diff(file_of[drawn])) + 1])
        place = np.arange(len(drawn)) - np.repeat(first, np.diff([*first, len(drawn)]))
        cut = np.flatnonzero(place % recipe.together == 0)
        groups = np.split(drawn, cut[1:])
        ordered = order.permutation(len(groups))
        if meant is not None and recipe.of_a_topic:
            ordered = _beside_others(ordered, groups, training.languages, meant, recipe.of_a_topic, order)
        mixed = np.concatenate([groups[each] for each in ordered])
        spoken = training.languages[mixed]
        whole: list[Numbers] = []
        rest: list[Numbers] = []
        for own in [mixed[spoken == language] for language in np.unique(spoken)] if recipe.apart else [mixed]:
            *full, last = np.split(own, range(recipe.batch, len(own) + 1, recipe.batch))
            whole += full
            rest.append(last)
        left = order.permutation(np.concatenate(rest))
        whole += np.split(left, range(recipe.batch, len(left) + 1, recipe.batch))[:-1]
        for each in order.permutation(len(whole)):
            yield whole[each]
        remaining -= 1


def _beside_others(
    ordered: Numbers,
    groups: Sequence[Numbers],
    languages: npt.NDArray[np.uint8],
    meant: Halves,
    alike: int,
    order: np.random.Generator,
) -> Numbers:
    """Groups of each language, each with those that are nearest to the same one of some that are drawn, which come in
    any order; so many that there are ``alike`` pairs to each."""
    heads = np.asarray([group[order.integers(len(group))] for group in groups])
    every: list[Numbers] = []
    for language in np.unique(languages[heads]):
        own = ordered[languages[heads[ordered]] == language]
        topics = max(1, sum(len(groups[each]) for each in own) // alike)
        drawn = meant[heads[order.choice(own, min(topics, len(own)), replace=False)]].astype(np.float32)
        drawn -= drawn.mean(axis=0)
        parts = np.split(own, range(AT_ONCE, len(own), AT_ONCE))
        nearest = np.concatenate([(meant[heads[some]].astype(np.float32) @ drawn.T).argmax(axis=1) for some in parts])
        every.append(own[np.argsort(order.permutation(len(drawn))[nearest], kind="stable")])
    return np.concatenate(every)
