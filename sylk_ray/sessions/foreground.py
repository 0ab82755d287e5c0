"""Each person's foreground session: the one that they speak to."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import msgspec

from sylk_ray.sessions.directories import write_atomically


class Foreground:
    """By the person's name, in memory and in ``foreground.json``; a person without one has the empty session."""

    def __init__(self, home: Path) -> None:
        self._path = home / "foreground.json"
        self._of: dict[str, str] = {}
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            self._of = msgspec.json.decode(self._path.read_bytes(), type=dict[str, str])

    def of(self, user: str) -> str:
        """The id of the session."""
        return self._of.get(user, "")

    async def switch(self, user: str, session: str) -> None:
        """Another session from now on. Raises NotWritten, when it holds until the runtime ends."""
        self._of[user] = session
        await self._keep()

    async def forget(self, session: str) -> None:
        """The session is over."""
        users = [user for user, known in self._of.items() if known == session]
        for user in users:
            del self._of[user]
        if users:
            await self._keep()

    async def _keep(self) -> None:
        await asyncio.to_thread(write_atomically, self._path, msgspec.json.encode(self._of))
