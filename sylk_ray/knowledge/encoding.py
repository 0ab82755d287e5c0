"""Nodes and questions as vectors: by meaning, by an embedder, and by words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sylk_ray.knowledge.embedding import Embedder
from sylk_ray.knowledge.lexical import document_vector
from sylk_ray.knowledge.model import Node
from sylk_ray.knowledge.store.outbox import VectorRow
from sylk_ray.knowledge.vectors import Point, Sparse
from sylk_ray.knowledge.vectors.conditions import BOOL_FIELDS, KEYWORD_FIELDS
from sylk_ray.knowledge.vectors.model import Payload

FROM_METADATA = ("language", "session", "tests")
"""What of a node's metadata a search can be filtered by; its type and path can always."""


def text_of(node: Node) -> str:
    """What a node is found by: its name, its place and its content."""
    return "\n".join(part for part in (node.name, node.path, node.content) if part)


def payload_of(node: Node) -> Payload:
    """What a search can be filtered by."""
    payload: Payload = {"type": node.type.value, "path": node.path}
    for field in FROM_METADATA:
        value = node.metadata.get(field)
        if (field in KEYWORD_FIELDS and isinstance(value, str)) or (field in BOOL_FIELDS and isinstance(value, bool)):
            payload[field] = value
    return payload


def encode(nodes: Sequence[Node], embedder: Embedder | None) -> list[VectorRow]:
    """A row for each node, with 0 for its key; without an embedder by words alone. Raises EmbedderUnavailable."""
    texts = [text_of(node) for node in nodes]
    dense = [row.tobytes() for row in embedder.embed(texts)] if embedder else [b""] * len(texts)
    sparse = [document_vector(text) for text in texts]
    return [
        VectorRow(0, row, words.indices.tobytes(), words.values.tobytes(), dict(payload_of(node)))
        for node, row, words in zip(nodes, dense, sparse, strict=True)
    ]


def point_of(row: VectorRow) -> Point:
    """What a vector store takes. A dense vector of zeros is left out: it is like nothing."""
    dense = np.frombuffer(row.dense, np.float32)
    indices, values = np.frombuffer(row.indices, np.uint32), np.frombuffer(row.values, np.float32)
    return Point(
        key=row.key,
        dense=dense if dense.any() else None,
        sparse=Sparse(indices, values) if len(indices) else None,
        payload=row.payload,
    )
