from __future__ import annotations

import asyncio
import threading
import time

from sylk_ray.runtime.watchdog import Watchdog


async def hog(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


async def test_the_agent_that_blocks_the_loop_is_named_while_it_does_and_reported_after():
    reports: list[tuple[str, float]] = []
    reported = threading.Event()

    def blocked(name: str, seconds: float) -> None:
        reports.append((name, seconds))
        reported.set()

    watchdog = Watchdog(asyncio.get_running_loop(), report_s=0.05, every_s=0.01, blocked=blocked)
    watchdog.start()
    seen: set[str] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.005):
            seen.add(watchdog.blocking)

    looker = threading.Thread(target=look)
    looker.start()
    await asyncio.create_task(hog(0.4), name="s/engineer/busy")
    await asyncio.to_thread(reported.wait, 5)
    done.set()
    looker.join()
    watchdog.stop()
    assert "s/engineer/busy" in seen
    assert reports[0][0] == "s/engineer/busy"
    assert reports[0][1] >= 0.05
    assert watchdog.blocking == ""


async def test_a_loop_that_is_free_is_not_reported():
    reports: list[str] = []
    watchdog = Watchdog(
        asyncio.get_running_loop(), report_s=0.5, every_s=0.01, blocked=lambda name, seconds: reports.append(name)
    )
    watchdog.start()
    await asyncio.sleep(0.1)
    watchdog.stop()
    assert reports == []
