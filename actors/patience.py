"""Asking somebody whose cell may be being replaced, or who cannot say yet."""

from __future__ import annotations

import math
from typing import TypeVar

from sylk_ray.messaging import Address, CellLost, DeadlinePassed, DeliveryError, Request, UnknownAddress
from sylk_ray.runtime import Context

ReplyT = TypeVar("ReplyT")
AGAIN_S = 0.25
LOOKS_EVERY_S = 0.5
"""For what a person says."""
REPLACED: tuple[type[DeliveryError], ...] = (CellLost, UnknownAddress)


async def ask_patiently(
    ctx: Context,
    target: Address,
    message: Request[ReplyT],
    *,
    patience_s: float = math.inf,
    bearing: tuple[type[DeliveryError], ...] = (*REPLACED, DeadlinePassed),
) -> ReplyT:
    """Ask, and for so many seconds ask again while it fails of what is borne. Raises a DeliveryError, and what the
    answer raises. To be asked twice must be no other than to be asked once."""
    until = ctx.clock.now() + patience_s
    while True:
        try:
            return await ctx.ask(target, message)
        except bearing:
            if ctx.clock.now() >= until:
                raise
        await ctx.clock.sleep(AGAIN_S)


async def until_told(ctx: Context, target: Address, message: Request[ReplyT | None]) -> ReplyT:
    """Ask until the answer is something. Raises as ``ask_patiently`` does."""
    while (said := await ask_patiently(ctx, target, message)) is None:
        await ctx.clock.sleep(LOOKS_EVERY_S)
    return said
