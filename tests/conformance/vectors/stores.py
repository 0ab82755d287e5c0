"""The stores that are held to it, and what they are filled with and asked. A new one joins by a line in ``KINDS``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sylk_ray.knowledge.vectors import Query, Sparse, VectorSpace, VectorStore, open_vectors

QUIETLY = pytest.mark.filterwarnings("ignore:Payload indexes have no effect", "ignore:Local mode")
"""A client without a server says what it does without."""
SPACE = VectorSpace(dimensions=8, model="small-1")
LARGER = VectorSpace(dimensions=12, model="small-2")
PAYLOADS = (
    {"type": "function", "language": "python", "path": "src/a/b.py", "session": "s1", "tests": False},
    {"type": "function", "language": "go", "path": "src/ab/c.go", "tests": True},
    {"type": "file", "language": "python", "path": "src/a", "session": "s2", "tests": False},
    {"type": "section", "path": "docs/x.md"},
    {"type": "decision", "session": "s1"},
    {},
)


def edge(home: Path, space: VectorSpace = SPACE, *, serve_changed: bool = False) -> VectorStore:
    return open_vectors(home, "code", space, serve_changed=serve_changed)


def server(home: Path, space: VectorSpace = SPACE, *, serve_changed: bool = False) -> VectorStore:
    from qdrant_client import QdrantClient

    from sylk_ray.knowledge.vectors.server import ServerVectors

    client = QdrantClient(path=str(home / "server"))
    return ServerVectors(client, "code", space, serve_changed=serve_changed)


Opening = Callable[..., VectorStore]
KINDS: dict[str, Opening] = {"edge": edge, "server": server}


def unit(*at: int, dimensions: int = SPACE.dimensions) -> np.ndarray:
    """A vector of length 1 that points evenly along those axes."""
    vector = np.zeros(dimensions, dtype=np.float32)
    vector[list(at)] = 1 / np.sqrt(len(at))
    return vector


def words(**weights: float) -> Sparse:
    return Sparse(
        np.array([int(each[1:]) for each in weights], dtype=np.uint32),
        np.array(list(weights.values()), dtype=np.float32),
    )


def keys_of(hits) -> list[int]:
    return [each.key for each in hits]


def found(store: VectorStore, scope: str = "r", **query) -> list[int]:
    return keys_of(store.search(scope, Query(**query)))
