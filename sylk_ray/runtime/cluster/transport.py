"""Batches between cells as calls of Ray actors. Large ones go through Ray's object store by themselves."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
from typing import Any

import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError, RayError

from sylk_ray.runtime.transport import PeerLost, PeerUnavailable

NAMESPACE = "sylk"


class RayTransport:
    """Finds a cell by its name, once, and calls its ``deliver``.

    Ray never repeats a call on its own here (cells have no task retries, for a repeated call would overtake
    others): the link sends the same batch again, and the receiver knows it by its sequence number.
    """

    def __init__(self, namespace: str = NAMESPACE) -> None:
        self._namespace = namespace
        self._handles: dict[str, Any] = {}

    async def deliver(self, cell: str, payload: bytes) -> bytes:
        """Raises PeerLost or PeerUnavailable; an error that the cell itself raised comes as it was."""
        known = self._handles.get(cell)
        if known is not None:
            try:
                return await self._call(cell, known, payload)
            except PeerLost:
                # The system's cells come back under their old names: the name may lead to a new actor by now.
                if (await self._find(cell))._actor_id == known._actor_id:
                    raise
        return await self._call(cell, await self._find(cell), payload)

    async def _find(self, cell: str) -> Any:
        try:
            handle = await asyncio.to_thread(ray.get_actor, cell, self._namespace)
        except ValueError as problem:
            self._handles.pop(cell, None)
            raise PeerLost(f"Ray knows no actor {cell!r}") from problem
        self._handles[cell] = handle
        return handle

    async def _call(self, cell: str, handle: Any, payload: bytes) -> bytes:
        try:
            return await handle.deliver.remote(payload)
        except ActorUnavailableError as problem:
            raise PeerUnavailable(str(problem)) from problem
        except ActorDiedError as problem:
            self._handles.pop(cell, None)
            raise PeerLost(str(problem).splitlines()[0]) from problem
        except GetTimeoutError as problem:
            raise PeerUnavailable(str(problem)) from problem
        except RayError as problem:
            cause = getattr(problem, "cause", None)
            if cause is not None:
                raise cause from problem
            raise PeerLost(str(problem).splitlines()[0]) from problem
