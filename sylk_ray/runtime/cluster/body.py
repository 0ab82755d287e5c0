"""What a cell runs on its event loop: the host, its chores, the watchdog, and a service beside the agents."""

from __future__ import annotations

import asyncio
import functools
import importlib
from collections.abc import Awaitable, Callable

from sylk_ray.config import Settings
from sylk_ray.home import session_directory
from sylk_ray.runtime.clock import SystemClock
from sylk_ray.runtime.cluster.metrics import RayMetrics
from sylk_ray.runtime.cluster.shelf import RayShelf
from sylk_ray.runtime.cluster.transport import RayTransport
from sylk_ray.runtime.host import Host
from sylk_ray.runtime.journal import SqliteJournals
from sylk_ray.runtime.roles import Roles
from sylk_ray.runtime.watchdog import Watchdog

Service = Callable[[Host], Awaitable[Callable[[], Awaitable[None]]]]
"""Something that runs beside a host's agents (the gateway's HTTP server); returns how to stop it."""


class Body:
    """Apart from ``Cell`` because a Ray actor with threads may have no coroutine methods."""

    def __init__(self, host: Host, shelf: RayShelf, watchdog: Watchdog, show_title: Callable[[], None]) -> None:
        self.host = host
        self.shelf = shelf
        self.watchdog = watchdog
        self._show_title = show_title
        self._chores: list[asyncio.Task[None]] = []
        self._stop_service: Callable[[], Awaitable[None]] | None = None

    @classmethod
    async def start(cls, cell: str, settings: Settings, show_title: Callable[[], None], service: str = "") -> Body:
        """Begin; ``show_title`` shows what the cell holds now, ``service`` is ``module:function`` of a Service."""
        metrics, shelf = RayMetrics(), RayShelf()
        host = Host(
            cell,
            roles=Roles.installed(settings.extra_roles),
            transport=RayTransport(),
            journals=SqliteJournals(
                functools.partial(session_directory, settings.home), durability=settings.journal_durability
            ),
            clock=SystemClock(),
            settings=settings,
            metrics=metrics,
            shelf=shelf,
        )
        watchdog = Watchdog(
            asyncio.get_running_loop(),
            report_s=settings.watchdog_report_s,
            blocked=lambda name, seconds: metrics.blocked(_role_in(name), seconds),
        )
        body = cls(host, shelf, watchdog, show_title)
        watchdog.start()
        body._chores = [
            asyncio.create_task(body._report(settings.metrics_every_s)),
            asyncio.create_task(body._sweep(settings.idle_s)),
        ]
        if service:
            module, _, name = service.partition(":")
            run: Service = getattr(importlib.import_module(module), name)
            body._stop_service = await run(host)
        return body

    async def stop(self, grace_s: float) -> None:
        """End the service, then the agents, in order."""
        if self._stop_service is not None:
            await self._stop_service()
        for chore in self._chores:
            chore.cancel()
        await self.host.stop(grace_s)
        self.watchdog.stop()

    async def _report(self, every_s: float) -> None:
        """Hand over the metrics, and keep the process title in step with what the cell holds."""
        while True:
            await asyncio.sleep(every_s)
            self.host.report()
            self._show_title()

    async def _sweep(self, idle_s: float) -> None:
        while True:
            await asyncio.sleep(idle_s / 4)
            await self.host.deactivate_idle(idle_s)
            await self.host.prune()


def _role_in(task_name: str) -> str:
    parts = task_name.split("/")
    return parts[1] if len(parts) == 3 else "runtime"
