"""semble's ranking of the same files, with this project's vectors: its own model is on a hub.

Of the extra ``compare`` (MIT; https://github.com/MinishLab/semble). Its chunks, its BM25, its fusion of ranks and its
rules about names, paths and tests are as they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.search_quality.asked import Place
from sylk_ray.knowledge.embedding import StaticEmbedder


class Semble:
    """One repository, by a folder of its own with nothing but what is searched."""

    def __init__(self, folder: Path) -> None:
        from semble.index.create import create_index_from_path
        from semble.index.index import SembleIndex
        from semble.types import ContentType

        model: Any = _Vectors()
        kinds = (ContentType.CODE,)
        words, vectors, chunks, manifest = create_index_from_path(
            folder, model=model, content=kinds, display_root=folder, previous=None, show_progress_bar=False
        )
        self._index = SembleIndex(model, words, vectors, chunks, "sylk", root=folder, content=kinds, manifest=manifest)

    def search(self, text: str, k: int) -> list[Place]:
        found = self._index.search(text, top_k=k)
        return [Place(each.chunk.file_path, each.chunk.start_line, each.chunk.end_line) for each in found]


class _Vectors:
    """The model as semble asks one: a question alone, documents with options."""

    dim = StaticEmbedder.dimensions

    def __init__(self) -> None:
        self._embedder = StaticEmbedder()

    def encode(self, texts: Sequence[str], **options: object) -> np.ndarray[Any, np.dtype[np.float32]]:
        if options:
            return self._embedder.embed(texts)
        return np.stack([self._embedder.embed_query(text) for text in texts])
