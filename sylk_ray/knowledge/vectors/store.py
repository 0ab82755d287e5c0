"""What every vector store does. ``tests/conformance/vectors`` holds each implementation to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType

from sylk_ray.knowledge.vectors.conditions import Condition
from sylk_ray.knowledge.vectors.model import Hit, Point, Query, Stats, VectorSpace


class Rebuild(ABC):
    """All vectors of a scope made anew, often by another model, while the old ones are still searched.

    What is written to the store meanwhile reaches the old ones only: say it here too. Used as a context manager it is
    abandoned unless it was finished. A crash abandons it.
    """

    scope: str
    space: VectorSpace

    @abstractmethod
    def upsert(self, points: Sequence[Point]) -> None:
        """Into the new vectors. Raises InvalidVector, and RebuildOver after the end or when the scope was dropped."""

    @abstractmethod
    def delete(self, keys: Iterable[int]) -> None:
        """From the new vectors."""

    @abstractmethod
    def finish(self) -> None:
        """From here on the new ones are searched, also after a power cut; the old ones are removed."""

    @abstractmethod
    def abandon(self) -> None:
        """Leave everything as it was; nothing when it has ended already."""

    def __enter__(self) -> Rebuild:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.abandon()


class VectorStore(ABC):
    """The vectors of one domain, apart by scope: a search in one scope never sees another.

    All methods may be called from any thread, and searches run beside each other and beside writes. Writes are seen
    by every search that begins after they returned. A scope comes to be by its first point.
    """

    collection: str
    space: VectorSpace
    """Of new scopes; see ``space_of``."""

    def prepare(self, scope: str) -> None:  # noqa: B027
        """A scope will soon get its first points: do what takes a while and can be done before, if there is such."""

    @abstractmethod
    def upsert(self, scope: str, points: Sequence[Point]) -> None:
        """Store or replace whole points. When it returns they survive a kill of this process; ``flush`` for more.

        Raises InvalidVector before anything is written; VectorStoreFailed with ``done`` when only some were.
        """

    @abstractmethod
    def delete(self, scope: str, keys: Iterable[int]) -> None:
        """Keys that there are not are no error."""

    @abstractmethod
    def search(self, scope: str, query: Query) -> list[Hit]:
        """The best first; nothing for a scope that there is not. Raises InvalidVector."""

    @abstractmethod
    def search_many(self, scope: str, queries: Sequence[Query]) -> list[list[Hit]]:
        """As many answers as queries, in their order; quicker than one by one."""

    @abstractmethod
    def get(self, scope: str, keys: Iterable[int]) -> list[Point]:
        """Whole points, in the order of the keys, without those that there are not."""

    @abstractmethod
    def keys(self, scope: str) -> Iterator[int]:
        """All, in ascending order, without reading a vector."""

    @abstractmethod
    def count(self, scope: str, where: Condition | None = None) -> int:
        """Exactly."""

    @abstractmethod
    def flush(self, scope: str) -> None:
        """When it returns, what was written before survives a power cut."""

    @abstractmethod
    def optimize(self, scope: str) -> bool:
        """Build the index for what is not in it, and give back the room of what was deleted; whether there was enough
        of it to do. Takes seconds to minutes, in which searches and writes go on: call it in a thread."""

    @abstractmethod
    def scopes(self) -> list[str]:
        """Sorted."""

    @abstractmethod
    def space_of(self, scope: str) -> VectorSpace:
        """In which its vectors are now; ``space`` for a scope that there is not."""

    @abstractmethod
    def drop(self, scope: str) -> None:
        """Forget all of a scope."""

    @abstractmethod
    def stats(self, scope: str) -> Stats: ...

    @abstractmethod
    def begin_rebuild(self, scope: str, space: VectorSpace | None = None) -> Rebuild:
        """Start with no vectors, in that space or the store's. Raises RebuildUnderWay."""

    @abstractmethod
    def close(self) -> None:
        """Flush all; nothing works afterwards. Closing twice is closing once."""

    def __enter__(self) -> VectorStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
