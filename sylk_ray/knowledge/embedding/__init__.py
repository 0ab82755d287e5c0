"""Texts to vectors: an embedder is a plug, and one that needs no network is built in.

::

    embedder = StaticEmbedder()
    embedder.embed(["def parse(text): …"])            # float32 [n, dimensions], unit rows
    embedder.embed_query("where is the text parsed")  # float32 [dimensions]

The built-in model takes note of how rare a question's words are in what is searched, where that is known (``Rarity``).
``RemoteEmbedder`` asks any OpenAI-compatible ``/embeddings`` endpoint. ``name`` tells one model from another: vectors
of different ones are never compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sylk_ray.knowledge.embedding.embedder import Embedder, EmbedderUnavailable, Rarity
from sylk_ray.knowledge.embedding.static import StaticEmbedder

if TYPE_CHECKING:
    from sylk_ray.knowledge.embedding.remote import RemoteEmbedder


def __getattr__(name: str) -> object:
    # Its HTTP client takes a tenth of a second to import, and hardly anyone needs it.
    if name == "RemoteEmbedder":
        from sylk_ray.knowledge.embedding.remote import RemoteEmbedder

        return RemoteEmbedder
    raise AttributeError(name)


__all__ = ["Embedder", "EmbedderUnavailable", "Rarity", "RemoteEmbedder", "StaticEmbedder"]
