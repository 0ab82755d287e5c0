"""A store by where it is."""

from __future__ import annotations

from pathlib import Path

from sylk_ray.knowledge.vectors.model import VectorSpace
from sylk_ray.knowledge.vectors.store import VectorStore


def open_vectors(
    where: Path | str, collection: str, space: VectorSpace, *, serve_changed: bool = False, timeout_s: float = 10.0
) -> VectorStore:
    """The store of one domain, in a directory or at the URL of a server (``http://…``, ``https://…``).

    The server's key is read from the environment's ``QDRANT_API_KEY``. ``timeout_s`` is of each of its answers. With
    ``serve_changed`` scopes of another space are served until they are rebuilt, else they are a VectorSpaceChanged.
    Raises StoreInUse and StoreUnavailable for a directory;
    VectorServerUnreachable and VectorServerRefused for a server.
    """
    if isinstance(where, str) and where.startswith(("http://", "https://")):
        from sylk_ray.knowledge.vectors.server import connect

        return connect(where, collection, space, serve_changed=serve_changed, timeout_s=timeout_s)
    from sylk_ray.knowledge.vectors.edge import EdgeVectors

    return EdgeVectors(Path(where), collection, space, serve_changed=serve_changed)
