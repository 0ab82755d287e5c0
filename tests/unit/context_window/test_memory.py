"""Checkpoints, compaction and handoff, by example; what always holds is in test_memory_properties."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from sylk_ray.context_window import Compaction, ContextPolicy, ContextState, InvalidPolicy, policy_of
from sylk_ray.context_window.memory import MAX_PENDING
from tests.unit.context_window.world import Summary, World, indexes

GUIDE, ENGINEER = policy_of("guide"), policy_of("engineer")


@pytest.fixture
def world() -> World:
    return World()


async def test_the_guide_makes_checkpoints_at_its_thresholds_and_is_compacted(world):
    memory = world.memory(GUIDE)
    reports = [await memory.observe(used) for used in (490, 500, 600, 760, 900, 940, 950)]
    assert [bool(report.checkpoint) for report in reports] == [False, True, False, True, True, False, True]
    assert [each.moment.reason for each in world.kept] == ["checkpoint", "checkpoint", "checkpoint", "limit"]
    assert [each.moment.usage for each in world.kept] == [0.5, 0.76, 0.9, 0.95]
    assert reports[-1].compaction == Compaction(950, 300, 300)
    assert reports[-1].usage == memory.usage == 0.3
    assert world.compacted == [(300, world.kept[-1])]


async def test_a_checkpoint_carries_the_summary_and_where_it_belongs(world):
    report = await world.memory(GUIDE).observe(500)
    assert report.checkpoint is not None
    assert (report.checkpoint.category, report.delivered) == ("guide_checkpoint", (0,))
    assert msgspec.convert(report.checkpoint.summary, Summary) == Summary("everything", 0.5)
    moment = report.checkpoint.moment
    assert (moment.session, moment.role, moment.index, moment.at) == ("s-1", "guide", 0, world.clock.now())


async def test_one_summary_is_enough_for_thresholds_passed_together(world):
    memory = world.memory(GUIDE)
    await memory.observe(920)
    await memory.observe(930)
    assert indexes(world.kept) == [0]


async def test_a_threshold_fires_again_when_the_use_has_fallen_below_it(world):
    memory = world.memory(GUIDE)
    for used in (500, 499, 500, 760, 700, 760):
        await memory.observe(used)
    assert [each.moment.usage for each in world.kept] == [0.5, 0.5, 0.76, 0.76]


async def test_checkpoints_start_over_after_a_compaction(world):
    memory = world.memory(GUIDE)
    for used in (960, 310, 500, 960):
        await memory.observe(used)
    assert [each.moment.reason for each in world.kept] == ["limit", "checkpoint", "limit"]
    assert memory.state.compactions == 2


async def test_a_summary_that_the_sink_does_not_take_comes_with_the_next_one(world):
    memory = world.memory(GUIDE)
    world.fails = {"submit"}
    report = await memory.observe(500)
    assert report.delivered == ()
    assert report.problems == ("1 checkpoints of s-1/guide wait to be delivered: ConnectionError: submit is down",)
    world.fails = set()
    assert (await memory.observe(760)).delivered == (0, 1)
    assert memory.state.pending == ()


async def test_a_sink_that_is_back_can_be_given_what_waits_at_once(world):
    memory = world.memory(GUIDE)
    world.fails = {"submit"}
    await memory.observe(500)
    world.fails = set()
    assert (await memory.deliver()).delivered == (0,)
    assert (await memory.deliver()).delivered == ()


async def test_a_sink_that_stays_away_costs_the_oldest_and_says_so(world):
    memory = world.memory(GUIDE)
    world.fails = {"submit"}
    for _ in range(MAX_PENDING):
        await memory.checkpoint()
    report = await memory.checkpoint()
    assert "checkpoint 0 of s-1/guide was given up undelivered" in report.problems
    assert indexes(memory.state.pending) == list(range(1, MAX_PENDING + 1))
    assert memory.state.dropped == 1


async def test_a_failing_sink_does_not_hold_up_a_compaction(world):
    memory = world.memory(GUIDE)
    world.fails = {"submit"}
    report = await memory.observe(950)
    assert report.compaction == Compaction(950, 300, 300)
    assert indexes(memory.state.pending) == [0]


async def test_without_a_summary_nothing_is_compacted_and_the_next_observation_tries_again(world):
    memory = world.memory(GUIDE)
    world.fails = {"summarise"}
    for used in (500, 950):
        report = await memory.observe(used)
        assert report.checkpoint is None
        assert report.problems == ("the summary of s-1/guide could not be made: ConnectionError: summarise is down",)
    assert world.compacted == []
    world.fails = set()
    assert (await memory.observe(951)).compaction is not None


async def test_a_compaction_that_falls_short_is_reported_and_not_repeated(world):
    memory = world.memory(GUIDE)
    world.shrinks_to = 960
    report = await memory.observe(950)
    assert report.problems == ("compacting the context of s-1/guide left 960 tokens and should have left 300",)
    for _ in range(10):
        await memory.observe(960)
    assert len(world.compacted) == 1


async def test_it_is_tried_again_when_half_of_the_room_it_left_is_used(world):
    memory = world.memory(GUIDE)
    world.shrinks_to = 940
    for used in (950, 940, 969, 970):
        await memory.observe(used)
    assert len(world.compacted) == 2
    world.shrinks_to = None
    for used in (940, 970, 300, 950):
        await memory.observe(used)
    assert len(world.compacted) == 4
    assert memory.state.short_at is None


async def test_a_compactor_that_is_wrong_about_what_it_left_is_reported_and_not_called_again_and_again(world):
    memory = world.memory(GUIDE)
    reports = [await memory.observe(950) for _ in range(10)]
    assert reports[1].problems == ("the context of s-1/guide was compacted and has 950 tokens all the same",)
    assert len(world.compacted) == 1


async def test_a_compactor_that_raises_is_reported_and_tried_again_after_some_growth(world):
    memory = world.memory(GUIDE)
    world.fails = {"compact"}
    for used in (950, 950, 974, 976, 976):
        report = await memory.observe(used)
    assert len(world.compacted) == 2
    assert report.problems == ()
    assert memory.state.compactions == 0


async def test_an_engineer_hands_its_work_off_and_is_not_compacted(world):
    memory = world.memory(ENGINEER)
    report = await memory.observe(950)
    assert report.handed_off
    assert world.handed == world.kept
    assert (await memory.observe(980)).handed_off is False
    assert (world.attempts, world.compacted) == (1, [])


async def test_a_handoff_is_tried_three_times_and_then_the_context_is_compacted(world):
    memory = world.memory(ENGINEER)
    world.fails = {"hand_off"}
    observing = asyncio.create_task(memory.observe(950))
    for seconds, attempts in ((0, 1), (0.9, 1), (0.1, 2), (1.9, 2), (0.1, 3)):
        await world.clock.advance(seconds)
        for _ in range(10):
            await asyncio.sleep(0)
        assert world.attempts == attempts
    report = await observing
    assert (report.handed_off, report.compaction) == (False, Compaction(950, 300, 300))
    assert len(report.problems) == 3


async def test_what_was_cut_off_in_a_compaction_is_done_again_from_its_state(world):
    async def never(target_tokens, checkpoint):
        await asyncio.Event().wait()

    memory = world.memory(GUIDE, compact=never)
    observing = asyncio.create_task(memory.observe(950))
    for _ in range(10):
        await asyncio.sleep(0)
    observing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await observing
    state = msgspec.json.decode(msgspec.json.encode(memory.state), type=ContextState)
    report = await world.memory(GUIDE, state=state).observe(950)
    assert report.compaction == Compaction(950, 300, 300)
    assert indexes(world.kept) == [0, 1]


async def test_the_state_survives_being_written_down(world):
    memory = world.memory(GUIDE)
    world.fails = {"submit"}
    await memory.observe(760)
    state = msgspec.msgpack.decode(msgspec.msgpack.encode(memory.state), type=ContextState)
    assert state == memory.state
    world.fails = set()
    again = world.memory(GUIDE, state=state)
    assert (await again.observe(770)).checkpoint is None
    assert (await again.observe(900)).delivered == (0, 1)


async def test_observations_are_dealt_with_one_at_a_time(world):
    memory = world.memory(GUIDE)
    reports = await asyncio.gather(*(memory.observe(used) for used in (500, 500, 760, 760)))
    assert [bool(report.checkpoint) for report in reports] == [True, False, True, False]


@pytest.mark.parametrize(("policy", "options"), [(GUIDE, {"window_tokens": 0}), (ENGINEER, {"hand_off": None})])
def test_a_memory_that_could_not_work_is_refused(world, policy: ContextPolicy, options):
    with pytest.raises(InvalidPolicy):
        world.memory(policy, **options)
