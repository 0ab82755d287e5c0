"""Large bytes that one cell publishes and many read where they are, without a copy for each. The real ones are in Ray's
object store; tests join hosts in one process."""

from __future__ import annotations

from typing import Protocol


class Shelf(Protocol):
    """What the cells of a cluster have put where others can read it, by cell and name."""

    async def put(self, name: str, content: bytes | None) -> None:
        """Under this name of this cell from now on; None takes it away. Who reads what was there before keeps it."""
        ...

    async def get(self, cell: str, name: str) -> memoryview | None:
        """Read-only, of any cell; None when it is not there, or cannot be had now."""
        ...


class LocalShelf:
    """One cell's, among those of one process that share ``content``: by cell and name."""

    def __init__(self, cell: str = "", content: dict[tuple[str, str], bytes] | None = None) -> None:
        self._cell = cell
        self._content = {} if content is None else content

    async def put(self, name: str, content: bytes | None) -> None:
        """For all that share."""
        if content is None:
            self._content.pop((self._cell, name), None)
        else:
            self._content[self._cell, name] = content

    async def get(self, cell: str, name: str) -> memoryview | None:
        """The same bytes."""
        content = self._content.get((cell, name))
        return None if content is None else memoryview(content)
