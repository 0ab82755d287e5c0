"""What can go wrong with a vector store, and what to do then."""

from __future__ import annotations

from sylk_ray.errors import InputError, SylkError


class InvalidVector(InputError):
    """A vector or a query does not fit: other dimensions, not finite, or an index twice."""

    code = "invalid_vector"


class VectorSpaceChanged(InputError):
    """The stored vectors are of other dimensions, or of another model, than the store was opened for."""

    code = "vector_space_changed"


class StoreInUse(SylkError):
    """Another process has opened this store."""

    code = "vector_store_in_use"


class StoreUnavailable(SylkError):
    """The store's folder cannot be made, read or written to."""

    code = "vector_store_unavailable"


class StoreDamaged(SylkError):
    """What is on disk cannot be read: files are missing, cut off, or of another format."""

    code = "vector_store_damaged"


class StoreClosed(SylkError):
    """The store was closed."""

    code = "vector_store_closed"


class VectorStoreFailed(SylkError):
    """The engine or the server could not do what it was asked; the message is its own."""

    code = "vector_store_failed"

    done: frozenset[int] = frozenset()
    """The keys of the same call that were written before; a repetition may leave them out."""


class VectorServerUnreachable(VectorStoreFailed):
    """The vector server does not answer, or says that it cannot now, and trying again did not help."""

    code = "vector_server_unreachable"
    exit_code = 3


class VectorServerRefused(VectorStoreFailed):
    """The vector server does not let us in."""

    code = "vector_server_refused"
    exit_code = 3


class RebuildUnderWay(InputError):
    """The vectors of this scope are being rebuilt or optimized already."""

    code = "vector_rebuild_under_way"


class RebuildOver(InputError):
    """This rebuild was finished or abandoned, or its scope was dropped meanwhile."""

    code = "vector_rebuild_over"
