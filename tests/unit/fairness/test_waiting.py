"""Nobody starves: the bound that FairShare states, and how short waits are when there is nobody to blame."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sylk_ray.fairness import AGE_S, FairShare, Group, Lane
from sylk_ray.fairness.session_queue import Waiting
from tests.unit.fairness.driven import World, fair, groups, want

PATIENCE_S, LONGEST_S, MOST_RESOURCES = 5.0, 3.0, 2


class Watched:
    """Counts K and k of the bound for one request: the grants from when it is Critical to sessions before its own,
    and the requests of its session that are older."""

    def __init__(self, share: FairShare, key: str) -> None:
        self.share, self.key = share, key
        self.passed = 0
        self.older = 0
        dispatch = share._dispatch
        grant = dispatch._grant

        def counted(entry: Waiting, now: float) -> None:
            mine = share._books.waiting.get(key)
            if mine is not None and now >= mine.since + 4 * AGE_S:
                session, other = share._books.session_of(mine.request), share._books.session_of(entry.request)
                self.passed += other is not session and (
                    dispatch._standing(other, now)[:3] < dispatch._standing(session, now)[:3]
                )
            grant(entry, now)

        dispatch._grant = counted  # type: ignore[method-assign]

    def bound_s(self) -> float:
        older, passed = self.older, self.passed
        in_front = (older + 1) * (PATIENCE_S + 2 * LONGEST_S + 1)
        return 4 * AGE_S + 1 + in_front + (passed + older + 1) * (1 + 2 * MOST_RESOURCES) * LONGEST_S


loads = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from(["critical", "high", "normal"]),
        st.sampled_from([{"cpu": 1}, {"cpu": 2}, {"memory": 1}, {"cpu": 1, "memory": 1}, {"cpu": 4}]),
        st.floats(0.05, LONGEST_S),
    ),
    min_size=2,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(
    loads,
    st.sampled_from([{"cpu": 4.0, "memory": 2.0}, {"cpu": 4.0}, {"memory": 2.0}, {"cpu": 1.0}]),
    st.sampled_from([{"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 4}]),
    st.sampled_from([None, 4.0]),
    st.integers(0, 3),
)
def test_a_background_request_among_endless_streams_of_urgent_ones_waits_no_longer_than_the_bound(
    load: list[tuple[str, str, dict[str, float], float]],
    demand: dict[str, float],
    weights: dict[str, float],
    own_limit: float | None,
    older: int,
):
    """Each worker of the load asks again the moment it is done, in its lane: the victim's session is one of them."""
    share = fair(cpu=4, memory=2, patience_s=PATIENCE_S)
    for session, weight in weights.items():
        share.set_group(session, Group(weight=weight, cpu_slots=own_limit), 0.0)
    lengths: dict[str, float] = {}
    world = World(share, lambda key: lengths.get(key, LONGEST_S))
    again: dict[str, Any] = {}
    count = 0

    def ask(worker: tuple[str, str, dict[str, float], float]) -> None:
        nonlocal count
        count += 1
        session, lane, amounts, length = worker
        key = f"{session}/{count}"
        lengths[key], again[key] = length, worker
        world.ask(want(key, Lane[lane.upper()], at=world.now, **amounts))

    world.on_end = lambda key: ask(again[key]) if key in again else None
    for worker in load:
        ask(worker)
    for number in range(older):
        world.ask(want(f"a/older-{number}", Lane.BACKGROUND, at=-1.0, **demand))
    watched = Watched(share, "a/victim")
    watched.older = sum(key.startswith("a/") for key in world.waiting)
    world.ask(want("a/victim", Lane.BACKGROUND, at=0.0, **demand))
    world.run(2_000, while_=lambda: "a/victim" in world.waiting and world.now <= watched.bound_s())
    assert "a/victim" not in world.waiting, f"waits for {world.now} s, bound {watched.bound_s()} s"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.05, LONGEST_S), min_size=4, max_size=12), st.sampled_from([2.0, 3.0, 4.0]))
def test_a_large_request_passes_a_stream_of_small_ones_after_its_patience_and_the_longest_job(
    lengths: list[float], size: float
):
    """With sessions that had as much as its own, the wait is patience_s, what is left of the jobs that run, and the
    turns that were before it."""
    share = groups(fair(cpu=4, patience_s=PATIENCE_S), small=1, large=1)
    world = World(share, lambda key: lengths[int(key.rpartition("-")[2])])
    count = 0

    def ask(worker: str) -> None:
        nonlocal count
        count += 1
        world.ask(want(f"small/{count}-{worker}", at=world.now, cpu=1))

    world.on_end = lambda key: ask(key.rpartition("-")[2])
    for worker in range(len(lengths)):
        ask(str(worker))
    world.run(30)
    asked = world.now
    world.ask(want("large/1-0", at=asked, cpu=size))
    world.run(200, while_=lambda: "large/1-0" in world.waiting)
    assert world.now - asked <= PATIENCE_S + 2 * LONGEST_S


def test_who_had_much_while_others_wanted_little_is_not_made_to_wait_for_that():
    share = groups(fair(cpu=64), much=1, little=1)
    world = World(share, lambda key: 10.0)
    count = 0

    def ask(session: str, **demand: float) -> None:
        nonlocal count
        count += 1
        world.ask(want(f"{session}/{count}", at=world.now, **demand))

    world.on_end = lambda key: ask(key.partition("/")[0], cpu=1)
    for _ in range(62):
        ask("much", cpu=1)
    ask("little", cpu=1)
    world.at(5.0, "call", lambda: ask("little", cpu=1))
    world.run(1_000)
    world.ask(want("much/all", at=world.now, cpu=64))
    asked = world.now
    world.run(2_000, while_=lambda: "much/all" in world.waiting)
    assert world.now - asked <= 20 + 2 * 10 + 5


def run_backlogged(
    weights: dict[str, float], mean_s: dict[str, float], jobs: dict[str, int], seed: int, until: float
) -> dict[str, float]:
    """Service of each session by its weight, while all are backlogged, in parts of the mean."""
    random = Random(seed)
    share = groups(fair(cpu=8), **weights)
    world = World(share, lambda key: random.lognormvariate(-0.5, 1) * mean_s[key[0]])
    for session in weights:
        for number in range(jobs[session]):
            world.ask(want(f"{session}/{number}", cpu=1))
    world.run(until)
    assert all(sum(key[0] == session for key in world.waiting) for session in weights), "still backlogged"
    by_weight = {session: world.had(session) / weights[session] for session in weights}
    mean = sum(by_weight.values()) / len(by_weight)
    return {session: service / mean for session, service in by_weight.items()}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("weights", [{"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 4}, {"a": 4, "b": 2, "c": 1}])
@pytest.mark.parametrize("mean_s", [{"a": 1, "b": 1, "c": 1}, {"a": 5, "b": 1, "c": 0.3}])
def test_shares_of_backlogged_sessions_converge_to_their_weights(
    weights: dict[str, float], mean_s: dict[str, float], seed: int
):
    parts = run_backlogged(weights, mean_s, {"a": 700, "b": 700, "c": 2_500}, seed, until=120)
    assert parts == pytest.approx(dict.fromkeys(weights, 1.0), abs=0.05)


@pytest.mark.parametrize("weights", [{"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 4}])
def test_a_session_that_asks_for_ten_times_as_much_gains_nothing(weights: dict[str, float]):
    even = {"a": 1, "b": 1, "c": 1}
    parts = run_backlogged(weights, even, {"a": 4_000, "b": 400, "c": 600}, seed=3, until=100)
    assert parts["a"] <= 1.02


def test_a_session_whose_workers_ask_again_as_they_end_keeps_its_part():
    """Between a release and the next request it has nothing in line, and is still not idle."""
    random = Random(4)
    share = groups(fair(cpu=4), a=1, b=4)
    world = World(share, lambda key: random.lognormvariate(-0.5, 1))
    count = 0

    def ask(session: str) -> None:
        nonlocal count
        count += 1
        world.ask(want(f"{session}/{count}", at=world.now, cpu=1))

    world.on_end = lambda key: ask(key[0])
    for session in "aaaabbbb":
        ask(session)
    world.run(500)
    assert world.had("b") / (world.had("a") + world.had("b")) == pytest.approx(0.8, abs=0.02)
