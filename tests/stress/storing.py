"""A process that stores nodes until it is killed, and says on stdout which batches it was told are stored."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

from sylk_ray.knowledge import Domain, Edge, EdgeType, KnowledgeBase, Node, NodeType
from sylk_ray.knowledge.embedding.embedder import Vectors, to_units

DIMENSIONS = 64
BATCHES, SIZE = 100, 100
"""10,000 nodes in all."""


class Numbered:
    """A vector of its own for each text: the same numbers in every process."""

    name = "numbered"
    dimensions = DIMENSIONS

    def embed(self, texts: list[str]) -> Vectors:
        return to_units(np.stack([self._of(text) for text in texts]))

    def embed_query(self, text: str) -> Vectors:
        return to_units(self._of(text)[None])[0]

    @staticmethod
    def _of(text: str) -> Vectors:
        number = next(part for part in text.split() if part.startswith("number"))
        return np.random.default_rng(int(number.removeprefix("number"))).standard_normal(DIMENSIONS, np.float32)


def names(batch: int) -> list[str]:
    """The ids of a batch's nodes."""
    return [f"n{batch * SIZE + each}" for each in range(SIZE)]


def content(name: str) -> str:
    """What the node with an id says."""
    return f"number{name.removeprefix('n')}"


def open_base(directory: Path) -> KnowledgeBase:
    """As the process that is killed opens it."""
    return KnowledgeBase(directory, embedder=Numbered())


def store(directory: Path, seed: int) -> None:
    """Batches of nodes, each joined to the one before; now and then an old batch is deleted, or stored anew."""
    chance = random.Random(seed)
    with open_base(directory) as base:
        kept: list[int] = []
        for batch in range(BATCHES):
            with base.batch():
                base.insert(
                    [
                        Node(id=name, domain=Domain.CODE, type=NodeType.FUNCTION, scope="/repo", content=content(name))
                        for name in names(batch)
                    ]
                )
                if kept:
                    pairs = zip(names(batch), names(kept[-1]), strict=True)
                    base.connect([Edge(source=one, target=other, type=EdgeType.CALLS) for one, other in pairs])
            print("stored", batch, *kept[-1:], flush=True)
            kept.append(batch)
            if len(kept) > 3 and chance.random() < 0.2:
                gone = kept.pop(chance.randrange(len(kept) - 1))
                print("deleting", gone, flush=True)
                base.delete(names(gone))
                print("deleted", gone, flush=True)
            if chance.random() < 0.1:
                base.flush()


if __name__ == "__main__":
    store(Path(sys.argv[1]), int(sys.argv[2]))
