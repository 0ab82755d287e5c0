"""Nodes and questions as vectors, by meaning and by words, and as keys of the gate."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from sylk_ray.knowledge.embedding import Embedder, EmbedderUnavailable, StaticEmbedder
from sylk_ray.knowledge.gate.keys import keys_of
from sylk_ray.knowledge.lexical import document_vectors
from sylk_ray.knowledge.model import Node
from sylk_ray.knowledge.store.outbox import VectorRow
from sylk_ray.knowledge.tokens import Tokens, batches, tokens_of
from sylk_ray.knowledge.vectors import Point, Sparse
from sylk_ray.knowledge.vectors.conditions import BOOL_FIELDS, KEYWORD_FIELDS
from sylk_ray.knowledge.vectors.model import Payload

ALSO_MEANT = "meant"
"""In a node's metadata: words that count for what it means, and that it is not found by."""
FROM_METADATA = ("language", "session", "tests")
"""What of a node's metadata a search can be filtered by; its type and path can always."""


def text_of(node: Node) -> str:
    """What a node is found by: its name, its place and its content."""
    return "\n".join(part for part in (node.name, node.path, node.content) if part)


def meaning_of(node: Node) -> str:
    """What a node's meaning is made of: what it is found by, and what its metadata says of it for that alone."""
    also = node.metadata.get(ALSO_MEANT)
    return f"{text_of(node)}\n{also}" if isinstance(also, str) and also else text_of(node)


def payload_of(node: Node) -> Payload:
    """What a search can be filtered by."""
    payload: Payload = {"type": node.type.value, "path": node.path}
    for field in FROM_METADATA:
        value = node.metadata.get(field)
        if (field in KEYWORD_FIELDS and isinstance(value, str)) or (field in BOOL_FIELDS and isinstance(value, bool)):
            payload[field] = value
    return payload


class Encoded(msgspec.Struct, frozen=True):
    """Nodes as the vectors and the gate take them."""

    rows: list[VectorRow]
    """One for each node, with 0 for its key."""
    keys: set[int]
    """Of all of their texts, for the gate."""


class Prepared(msgspec.Struct, frozen=True):
    """Nodes that were encoded elsewhere."""

    model: str
    """The embedder's name; a scope whose vectors are of another encodes them itself."""
    rows: dict[str, VectorRow]
    """By the nodes' ids."""
    keys: set[int]


def encode(nodes: Sequence[Node], embedder: Embedder | None) -> Encoded:
    """Without an embedder by words alone. Raises EmbedderUnavailable."""
    texts = [text_of(node) for node in nodes]
    sparse: list[Sparse] = []
    dense: list[bytes] = []
    keys: set[int] = set()
    for some in batches(texts):
        tokens = tokens_of(texts[some])
        sparse += document_vectors(tokens)
        keys |= keys_of(tokens)
        if isinstance(embedder, StaticEmbedder):
            dense += _by_tokens(nodes[some], tokens, embedder)
    if embedder is None:
        dense = [b""] * len(nodes)
    elif not isinstance(embedder, StaticEmbedder):
        dense = _dense([meaning_of(node) for node in nodes], embedder)
    rows = [
        VectorRow(0, row, words.indices.tobytes(), words.values.tobytes(), dict(payload_of(node)))
        for node, row, words in zip(nodes, dense, sparse, strict=True)
    ]
    return Encoded(rows, keys)


def _by_tokens(nodes: Sequence[Node], tokens: Tokens, embedder: StaticEmbedder) -> list[bytes]:
    """The identifiers of what nodes are found by were found already; few mean more than that."""
    rows = embedder.embed_tokens(tokens)
    more = [at for at, node in enumerate(nodes) if ALSO_MEANT in node.metadata]
    if more:
        rows[more] = embedder.embed([meaning_of(nodes[at]) for at in more])
    return [row.tobytes() for row in rows]


def _dense(texts: Sequence[str], embedder: Embedder) -> list[bytes]:
    rows = np.ascontiguousarray(embedder.embed(texts), np.float32)
    if rows.shape != (len(texts), embedder.dimensions) or not np.isfinite(rows).all():
        raise EmbedderUnavailable(
            f"{embedder.name} gave vectors of shape {rows.shape} for {len(texts)} texts of {embedder.dimensions}"
            " dimensions, or numbers that are none",
            hint="Is it still the same model? Name another one, or give its dimensions in the settings.",
        )
    return [row.tobytes() for row in rows]


def point_of(row: VectorRow, key: int = 0) -> Point:
    """What a vector store takes, with this key or with the row's own. A dense vector of zeros is left out: it is like
    nothing."""
    dense = np.frombuffer(row.dense, np.float32)
    indices, values = np.frombuffer(row.indices, np.uint32), np.frombuffer(row.values, np.float32)
    return Point(
        key=key or row.key,
        dense=dense if dense.any() else None,
        sparse=Sparse(indices, values) if len(indices) else None,
        payload=row.payload,
    )
