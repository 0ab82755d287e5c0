"""What holds whatever the use of the window is and whatever fails."""

from __future__ import annotations

import asyncio

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.context_window import ContextState, policy_of
from sylk_ray.context_window.memory import MAX_PENDING
from tests.unit.context_window.world import WINDOW, World, indexes

POLICY = policy_of("guide")
steps = st.lists(
    st.tuples(
        st.integers(0, WINDOW),
        st.sets(st.sampled_from(["submit", "compact", "summarise"])),
        st.sampled_from([None, 100, 300, 310, 940, 999]),
        st.booleans(),
    ),
    max_size=40,
)


@given(steps)
def test_no_summary_is_lost_or_made_twice_and_the_state_is_all_there_is(steps):
    async def run() -> None:
        world = World()
        memory = world.memory(POLICY)
        made: list[int] = []
        for used, fails, shrinks_to, crash in steps:
            world.fails, world.shrinks_to = fails, shrinks_to
            report = await memory.observe(used)
            made += [report.checkpoint.moment.index] if report.checkpoint else []
            if crash:
                written = msgspec.json.encode(memory.state)
                memory = world.memory(POLICY, state=msgspec.json.decode(written, type=ContextState))
        assert made == list(range(len(made)))
        delivered, pending = indexes(world.kept), indexes(memory.state.pending)
        assert delivered == sorted(set(delivered))
        assert len(delivered) + len(pending) + memory.state.dropped == len(made)
        assert pending == made[len(made) - len(pending) :]
        assert len(pending) <= MAX_PENDING

    asyncio.run(run())


@given(st.lists(st.integers(0, WINDOW), max_size=60))
def test_a_threshold_fires_once_until_the_use_has_fallen_below_it(uses):
    async def run() -> None:
        world = World()
        memory = world.memory(POLICY)
        armed = set(POLICY.checkpoints)
        for used in uses:
            armed |= {each for each in POLICY.checkpoints if used / WINDOW < each}
            due = {each for each in armed if used / WINDOW >= each}
            report = await memory.observe(used)
            at_limit = used / WINDOW >= POLICY.limit
            assert (report.checkpoint is not None) == (bool(due) or at_limit)
            assert (report.compaction is not None) == at_limit
            armed -= due
            if at_limit:
                await memory.observe(int(POLICY.target * WINDOW))
                armed |= {each for each in POLICY.checkpoints if POLICY.target < each}

    asyncio.run(run())


@given(st.integers(0, WINDOW), st.lists(st.integers(950, WINDOW), max_size=60), st.booleans())
def test_a_bad_compactor_is_called_a_few_times_at_most_while_the_window_fills(claims, uses, raises):
    async def run() -> None:
        world = World()
        world.fails = {"compact"} if raises else set()
        memory = world.memory(POLICY)
        world.shrinks_to = claims
        for used in sorted(uses):
            await memory.observe(used)
        assert len(world.compacted) <= 4

    asyncio.run(run())


@given(st.integers(950, WINDOW), st.integers(0, WINDOW))
def test_a_compaction_is_reported_as_it_was(used, leaves):
    async def run() -> None:
        world = World()
        world.shrinks_to = leaves
        memory = world.memory(POLICY)
        report = await memory.observe(used)
        assert report.compaction is not None
        assert report.compaction.fell_short == (leaves > 300) == bool(report.problems)
        assert memory.state.used_tokens == leaves

    asyncio.run(run())
