"""The vectors of every domain, and the model that each scope's are of."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from sylk_ray.knowledge.embedding import Embedder
from sylk_ray.knowledge.model import Domain
from sylk_ray.knowledge.vectors import VectorSpace, VectorStore, open_vectors


class Collections:
    """A vector store a domain, opened when it is first asked for."""

    def __init__(self, where: Path | str, embedder: Embedder, former: Iterable[Embedder] = ()) -> None:
        self._where = where
        self._embedder = embedder
        self._known = {each.name: each for each in (*former, embedder)}
        self._stores: dict[Domain, VectorStore] = {}
        self._lock = threading.Lock()

    def of(self, domain: Domain) -> VectorStore:
        """A domain's vectors. Raises what opening them raises: StoreInUse, StoreDamaged, VectorServerUnreachable."""
        with self._lock:
            store = self._stores.get(domain)
            if store is None:
                space = VectorSpace(dimensions=self._embedder.dimensions, model=self._embedder.name)
                where = self._where
                store = open_vectors(where, domain.value, space, serve_changed=True)
                self._stores[domain] = store
            return store

    def embedder_of(self, domain: Domain, scope: str) -> Embedder | None:
        """The model that a scope's vectors are of; None if it is not at hand, and only words can be searched."""
        return self._known.get(self.of(domain).space_of(scope).model)

    @property
    def current(self) -> Embedder:
        """The model that new scopes are of."""
        return self._embedder

    def is_current(self, domain: Domain, scope: str) -> bool:
        """Whether a scope's vectors are of the model that there is now."""
        return self.of(domain).space_of(scope).model == self._embedder.name

    def count(self) -> dict[str, int]:
        """How many vectors each domain has."""
        counts: dict[str, int] = {}
        for domain in Domain:
            store = self.of(domain)
            counts[domain.value] = sum(store.count(scope) for scope in store.scopes())
        return counts

    def optimize(self) -> None:
        """Build the indexes of every store that is open."""
        for store in list(self._stores.values()):
            for scope in store.scopes():
                store.optimize(scope)

    def close(self) -> None:
        """Close every store."""
        with self._lock:
            for store in self._stores.values():
                store.close()
            self._stores.clear()
