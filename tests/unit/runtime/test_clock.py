from __future__ import annotations

import asyncio

from sylk_ray.runtime import ManualClock


async def test_sleepers_wake_in_the_order_of_their_times():
    clock = ManualClock(start=100.0)
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now()))

    tasks = [asyncio.create_task(sleeper(*each)) for each in (("late", 5.0), ("early", 1.0), ("never", 50.0))]
    await asyncio.sleep(0)
    await clock.advance(10)
    assert woken == [("early", 101.0), ("late", 105.0)]
    assert clock.now() == 110.0
    tasks[2].cancel()
