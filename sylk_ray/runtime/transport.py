"""How bytes get from one cell to another. The real one is Ray's; tests join hosts in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol


class PeerLost(Exception):
    """The cell is dead, or there is none of that name. It does not come back under this name's epoch."""


class PeerUnavailable(Exception):
    """The cell did not answer but may be alive; sending the same batch again is safe."""


class Transport(Protocol):
    """Carries a batch to a cell and brings back its acknowledgement."""

    async def deliver(self, cell: str, payload: bytes) -> bytes:
        """Raises PeerLost or PeerUnavailable."""
        ...


class LocalTransport:
    """Cells of one process, by name."""

    def __init__(self) -> None:
        self._cells: dict[str, Callable[[bytes], Awaitable[bytes]]] = {}

    def join(self, cell: str, receive: Callable[[bytes], Awaitable[bytes]]) -> None:
        """Make a cell reachable."""
        self._cells[cell] = receive

    def leave(self, cell: str) -> None:
        """Make a cell as unreachable as a dead process."""
        self._cells.pop(cell, None)

    async def deliver(self, cell: str, payload: bytes) -> bytes:
        """Hand the batch over on a later turn of the loop, as a network would."""
        await asyncio.sleep(0)
        receive = self._cells.get(cell)
        if receive is None:
            raise PeerLost(f"no cell {cell}")
        return await receive(payload)
