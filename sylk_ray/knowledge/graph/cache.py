"""Paths that were asked for before; any change of the graph forgets them all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from sylk_ray.knowledge.graph.paths import Path

ENTRIES = 1024


class PathCache:
    """The paths last asked for, by question. The least recently used goes first."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, list[Path]] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def get(self, question: Hashable) -> list[Path] | None:
        """What was answered; None if it was not asked since the last change."""
        found = self._entries.get(question)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(question)
        return found

    def put(self, question: Hashable, paths: list[Path]) -> None:
        """Remember an answer."""
        self._entries[question] = paths
        if len(self._entries) > ENTRIES:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()
