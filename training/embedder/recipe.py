"""Every number of a training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

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
    of_a_topic: int = 64
    """Pairs of a batch that are about the same, by where their words start; 0 for none that are chosen so."""
    query_share: float = 0.75
    """The part of the loss that is for finding a question's document; the rest is for finding a document's question."""
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
WAY = 0.75
"""How far the vectors are in the end from the start to what was learned."""
SOFTENED = (0.85, 0.7)
"""The power to which the length of each word's part of a sum is taken, in questions and in documents: as it was
learned, telling words count for too much in code of other packages."""
