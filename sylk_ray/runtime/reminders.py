"""What an agent tells itself from outside its handlers: that a time has come, or that something has answered."""

from __future__ import annotations

import asyncio

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Message, SessionClosed
from sylk_ray.runtime.context import Context

_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 10.0


class Reminders:
    """Each is sent until the agent's mailbox has it, or the session is closed. They live as long as the agent does: one
    that has to survive it is set again when the agent is activated."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._tasks: set[asyncio.Task[None]] = set()
        self._alarm: asyncio.Task[None] | None = None

    def send(self, message: Message) -> None:
        """Have the agent handle the message soon."""
        self._start(message, self._ctx.clock.now())

    def set_alarm(self, at: float | None, message: Message) -> None:
        """Have the agent handle the message at that time (seconds, of its clock), and forget the alarm that was set
        before; None sets no other."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if at is None else self._start(message, at)

    def close(self) -> None:
        """Send no more."""
        for task in self._tasks:
            task.cancel()

    def _start(self, message: Message, at: float) -> asyncio.Task[None]:
        task = asyncio.create_task(self._send(message, at))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _send(self, message: Message, at: float) -> None:
        ctx = self._ctx
        if at > ctx.clock.now():
            await ctx.clock.sleep(at - ctx.clock.now())
        pause = _FIRST_PAUSE_S
        while True:
            try:
                await ctx.tell(ctx.address, message)
            except SessionClosed:
                return
            except SylkError as problem:
                ctx.log.warning("it cannot be reminded of %s yet: %s", message.kind, problem)
                await ctx.clock.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            else:
                return
