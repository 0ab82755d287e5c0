from __future__ import annotations

import asyncio

from sylk_ray.runtime.turns import Turns


async def test_those_who_wait_for_one_name_come_one_after_the_other_and_are_forgotten():
    turns = Turns()
    inside: list[int] = []
    most = 0

    async def enter(number: int) -> None:
        nonlocal most
        async with turns.of("s"):
            inside.append(number)
            most = max(most, len(inside))
            await asyncio.sleep(0)
            inside.remove(number)

    await asyncio.gather(*(enter(number) for number in range(20)))

    assert most == 1
    assert turns.names() == []


async def test_one_who_is_cancelled_while_waiting_leaves_the_turn_to_the_others():
    turns = Turns()
    async with turns.of("s"):
        waiting = asyncio.create_task(turns.of("s").__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert turns.names() == ["s"]
    assert turns.names() == []
