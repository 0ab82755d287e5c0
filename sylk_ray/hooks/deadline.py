"""Waiting for what may never end, and may not even let itself be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from sylk_ray.runtime.clock import Clock


class DeadlinePassed(Exception):
    """It did not end in time, and was cancelled."""


class WasCancelled(Exception):
    """It cancelled itself, which must not look as if its caller had been cancelled."""


async def within(seconds: float, call: Awaitable[Any], clock: Clock, given_up: set[asyncio.Future[Any]]) -> Any:
    """The result of ``call``, run as a task of its own. Raises what it raises, DeadlinePassed or WasCancelled.

    Unlike ``asyncio.timeout`` it does not wait for the cancelled task to end: that stays in ``given_up`` until it does.
    """
    task = asyncio.ensure_future(_contained(call))
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(_: object = None) -> None:
        if not over.done():
            over.set_result(None)

    task.add_done_callback(wake)
    timer = clock.call_later(seconds, wake)
    try:
        await over
    finally:
        timer.cancel()
        if not task.done():
            given_up.add(task)
            task.add_done_callback(given_up.discard)
            task.add_done_callback(_retrieve)
            task.cancel()
    if not task.done():
        raise DeadlinePassed
    if task.cancelled():
        raise WasCancelled
    return task.result()


class EndedTheProcess(Exception):
    """It tried to end the process, which a task cannot be let do: the event loop would stop."""


async def _contained(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except SystemExit as problem:
        raise EndedTheProcess(f"it called sys.exit({problem.code!r})") from None


def _retrieve(task: asyncio.Future[Any]) -> None:
    """Or asyncio complains that nobody looked at its exception."""
    if not task.cancelled():
        task.exception()
