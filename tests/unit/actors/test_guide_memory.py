"""What the Guide keeps of a conversation, and brings back."""

from __future__ import annotations

import asyncio

import pytest

from actors.guide_memory import CHECKPOINT, GuideMemory
from sylk_ray.config import Settings
from sylk_ray.context_window import Routing
from sylk_ray.hooks import Abort, HookContext, Hooks, SessionCompaction, hook
from sylk_ray.messaging import Address, Event
from sylk_ray.runtime import Context, MemoryJournals
from tests.unit.runtime.world import World

ROUTER = Address("s", "router", "main")
WINDOW = 1_000


@pytest.fixture
async def ctx(tmp_path):
    journals = MemoryJournals()
    world = World(lambda: journals, Settings(home=tmp_path))
    yield Context(await world.cell("a"), ROUTER)
    await world.end()


async def noted(memory: GuideMemory, times: int) -> None:
    for number in range(times):
        memory.note(Routing(f"where is thing {number % 7}?", "tester", kind="general thing", at=1.0 * number))
        # Each summary is made in the background.
        for _ in range(20):
            await asyncio.sleep(0)


async def checkpoints(ctx: Context) -> list[Event]:
    return [event for event in await ctx.journal.events(0, 1_000) if event.kind == CHECKPOINT]


async def test_summaries_go_to_the_history_as_the_window_fills_and_what_is_left_fits(ctx):
    memory = GuideMemory(ctx, Hooks(), window_tokens=WINDOW)
    await noted(memory, 60)
    made = await checkpoints(ctx)
    assert [event.data["moment"]["reason"] for event in made[:4]] == ["checkpoint"] * 3 + ["limit"]
    assert [event.data["moment"]["index"] for event in made] == list(range(len(made)))
    assert made[0].data["category"] == "guide_checkpoint"
    assert made[0].data["summary"]["known_routings"]["where is thing 0?"] == "tester"
    assert memory.used_tokens < WINDOW


async def test_who_takes_over_knows_what_was_learnt_and_goes_on_counting(ctx):
    await noted(GuideMemory(ctx, Hooks(), window_tokens=WINDOW), 60)
    before = await checkpoints(ctx)
    again = GuideMemory(ctx, Hooks(), window_tokens=WINDOW)
    await again.recall()
    await noted(again, 60)
    after = await checkpoints(ctx)
    assert after[len(before)].data["moment"]["index"] == len(before)
    routed = after[-1].data["summary"]["session_routing_stats"]["routed"]
    assert routed > 60, "those of the router before it are counted as well"


async def test_a_hook_that_will_have_nothing_compacted_does_not_let_it_grow_without_end(ctx):
    @hook(SessionCompaction)
    def refuse(payload: SessionCompaction, ctx: HookContext) -> None:
        raise Abort("keep it all")

    hooks = Hooks()
    hooks.add(refuse)
    memory = GuideMemory(ctx, hooks, window_tokens=WINDOW)
    await noted(memory, 200)
    assert memory.used_tokens <= WINDOW
