"""Following a job over HTTP, as a person does."""

from __future__ import annotations

import threading

from sylk_ray.gateway.client import GatewayClient
from sylk_ray.messaging import Event
from tests.cluster import Runtime


class Following:
    """The events so far; ``end`` waits for the last."""

    def __init__(self, runtime: Runtime, job_id: str) -> None:
        self.events: list[Event] = []
        self._runtime = runtime
        # A daemon: a test that fails must not wait for the end of its job.
        self._thread = threading.Thread(target=self._follow, args=(job_id,), daemon=True)
        self._thread.start()

    def _follow(self, job_id: str) -> None:
        for event in GatewayClient(self._runtime.settings.home).events(job_id):
            self.events.append(event)

    async def until_seen(self, kind: str) -> Event:
        """Wait for an event."""

        async def look() -> list[Event]:
            return [event for event in self.events if event.kind == kind]

        try:
            return (await self._runtime.until(look, bool, seconds=30))[0]
        except AssertionError as problem:
            raise AssertionError(f"no {kind}: {problem}; seen were {[event.kind for event in self.events]}") from None

    async def end(self) -> list[Event]:
        async def going_on() -> bool:
            return self._thread.is_alive()

        await self._runtime.until(going_on, lambda alive: not alive, seconds=30)
        return self.events
