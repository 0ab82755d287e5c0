"""A cell's shelf in Ray's object store: written once, read where it is by every process of a node, and brought to other
nodes once."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import ray
from ray.exceptions import RayError

from sylk_ray.runtime.cluster.transport import NAMESPACE

PATIENCE_S = 10.0
"""With a cell that hangs."""


class RayShelf:
    """References go from actor to actor as results of a call, which is how Ray knows who still reads an object."""

    def __init__(self, namespace: str = NAMESPACE) -> None:
        self._namespace = namespace
        self._references: dict[str, Any] = {}

    def references(self, name: str) -> list[Any]:
        """One, or none; safe on any thread. In a list, for Ray would fetch a bare one."""
        reference = self._references.get(name)
        return [] if reference is None else [reference]

    async def put(self, name: str, content: bytes | None) -> None:
        """An array of numpy, as it is read without a copy. Raises what Ray does when there is no room for it."""
        if content is None:
            self._references.pop(name, None)
            return
        self._references[name] = await asyncio.to_thread(ray.put, np.frombuffer(content, np.uint8))

    async def get(self, cell: str, name: str) -> memoryview | None:
        """Valid as long as it is held, also when the cell has died meanwhile."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                handle: Any = await asyncio.to_thread(ray.get_actor, cell, self._namespace)
                found: Any = await handle.shelved.remote(name)
                return memoryview(await found[0]) if found else None
        except (RayError, ValueError, TimeoutError):
            return None
