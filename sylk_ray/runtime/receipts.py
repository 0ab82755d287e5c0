"""What a sender holds while its packets are under way."""

from __future__ import annotations

import asyncio

from sylk_ray.errors import SylkError


class CountedReceipt:
    """Done when ``count`` packets were accepted; the first refusal is raised once all are settled."""

    __slots__ = ("_done", "_error", "_left")

    def __init__(self, count: int) -> None:
        self._left = count
        self._error: SylkError | None = None
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def accepted(self) -> None:
        """One more is in its mailbox."""
        self._settle()

    def refused(self, error: SylkError) -> None:
        """One will not be delivered."""
        self._error = self._error or error
        self._settle()

    def _settle(self) -> None:
        self._left -= 1
        if self._left == 0 and not self._done.done():
            self._done.set_result(None)

    def give_up(self, error: SylkError) -> None:
        """Wait no longer; what is still under way may yet arrive."""
        if not self._done.done():
            self._error = self._error or error
            self._done.set_result(None)

    async def wait(self) -> None:
        """Return when all are settled; raises the first refusal."""
        await self._done
        if self._error is not None:
            raise self._error
