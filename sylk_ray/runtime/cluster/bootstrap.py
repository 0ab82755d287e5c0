"""Start the system's cells on a running Ray, or end them: ``python -m sylk_ray.runtime.cluster.bootstrap``.

A program of its own, so that the CLI need not import Ray. It reads a JSON order from standard input and prints a
JSON answer as its last line.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

import ray
from ray.exceptions import RayError

from sylk_ray.config import Settings
from sylk_ray.errors import SylkError
from sylk_ray.runtime.cluster.factory import CellFactory, CellHandle
from sylk_ray.runtime.cluster.shared_state import mark_state
from sylk_ray.runtime.cluster.transport import NAMESPACE
from sylk_ray.runtime.directory import SYSTEM_CELL

GATEWAY_CELL = "gateway"
SYSTEM_SERVICE = "actors.coordinator:serve"
GATEWAY_SERVICE = "sylk_ray.gateway.app:serve"


def connect(address: str) -> None:
    """Join a running Ray as a driver of the namespace ``sylk``."""
    ray.init(address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)


async def bring_up(settings: Settings) -> None:
    """Create the system and the gateway cells, unless they are there. They are on this node and nowhere else: it
    sees the state directory, and the gateway listens on this machine's loopback. Raises PlacementFailed."""
    await asyncio.to_thread(mark_state, settings)
    node = ray.get_runtime_context().get_node_id()
    factory = CellFactory(settings)
    wanted: dict[str, dict[str, Any]] = {
        SYSTEM_CELL: {"class_name": "System", "title": "System(guide, fleet)", "service": SYSTEM_SERVICE},
        GATEWAY_CELL: {"class_name": "Gateway", "title": "Gateway(http)", "service": GATEWAY_SERVICE},
    }
    missing = [name for name in wanted if not _exists(name)]
    await asyncio.gather(*(factory.create(cell=name, restarts=-1, node=node, **wanted[name]) for name in missing))


async def take_down() -> None:
    """End the gateway's and the system's own cells; the fleet has ended the others."""
    for name in (GATEWAY_CELL, SYSTEM_CELL):
        try:
            handle = CellHandle(name, ray.get_actor(name, NAMESPACE))
        except ValueError:
            continue
        try:
            await handle.call("stop", 1.0, timeout=10)
        except (TimeoutError, RayError) as problem:
            print(f"{name} did not stop in order: {problem}", file=sys.stderr)
        await handle.kill()


def _exists(name: str) -> bool:
    try:
        ray.get_actor(name, NAMESPACE)
    except ValueError:
        return False
    return True


def main() -> int:
    """Carry out the order; exits with the error's code."""
    order: dict[str, Any] = json.load(sys.stdin)
    try:
        connect(order["address"])
        if order["do"] == "up":
            asyncio.run(bring_up(Settings.model_validate(order["settings"])))
        else:
            asyncio.run(take_down())
    except SylkError as error:
        print(json.dumps({"error": error.code, "message": error.message, "hint": error.hint}))
        return error.exit_code
    print(json.dumps({"ok": True}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
