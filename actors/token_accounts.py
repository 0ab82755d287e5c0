"""The tokens that sessions have used, kept in their directories."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from sylk_ray.fairness import TokenLedger
from sylk_ray.runtime import Context
from sylk_ray.runtime.leases import Usage
from sylk_ray.sessions.directories import NotWritten, SessionDirectory, session_directory, write_atomically


class TokenAccounts:
    """``<session>/tokens.json``, by the lives of cells (see TokenLedger), is written for what has changed since it was
    written last; what cells have told since then they tell again to a FairShare that was started anew."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._ledger = TokenLedger()
        self._keeping = asyncio.Lock()

    async def used(self, session: str) -> float:
        """What a session has used in all."""
        if session not in self._ledger:
            self._ledger.take_up(session, await asyncio.to_thread(self._read, self._path(session)))
        return self._ledger.total(session)

    async def report(self, usage: Usage) -> dict[str, float]:
        """What a cell tells; answers what the sessions that it names have used in all."""
        totals: dict[str, float] = {}
        for session, tokens in usage.sessions.items():
            await self.used(session)
            self._ledger.report(session, usage.source, tokens)
            totals[session] = self._ledger.total(session)
        return totals

    async def keep(self) -> None:
        """Write what has changed; sessions that have no directory any more are over."""
        async with self._keeping:
            for session in self._ledger.take_changed():
                path, counts = self._path(session), msgspec.json.encode(self._ledger.counts(session))
                try:
                    if await asyncio.to_thread(path.parent.is_dir):
                        await asyncio.to_thread(write_atomically, path, counts)
                except NotWritten as error:
                    self._ctx.log.warning("the tokens of session %s are not on disk: %s", session, error)
                    self._ledger.change(session)

    async def close(self, session: str) -> None:
        """A session is over, or rests."""
        await self.keep()
        self._ledger.forget(session)

    def _path(self, session: str) -> Path:
        return SessionDirectory(session_directory(self._ctx.settings.home, session)).tokens

    def _read(self, path: Path) -> dict[str, float]:
        try:
            return msgspec.json.decode(path.read_bytes(), type=dict[str, float])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            self._ctx.log.warning("%s cannot be read, and is counted as 0: %s", path, error)
            return {}
