"""Exact traces: who is granted, in which order."""

from __future__ import annotations

import pytest

from sylk_ray.fairness import AGE_S, Capacity, FairShare, Group, Lane
from tests.unit.fairness.driven import fair, groups, said, want


def settled(share: FairShare, *requests, at: float = 1.0) -> list[str]:
    """All of them are asked for while the share settles, then it begins to grant."""
    for request in requests:
        assert share.request(request, "cell", 0.0) == []
    return said(share.tick(at))


def test_the_example_of_the_drf_paper():
    share = fair(settle_s=1, cpu=9, memory=18)
    requests = [
        want(f"{s}/{n}", **demand)
        for n in range(9)
        for s, demand in (("a", {"cpu": 1, "memory": 4}), ("b", {"cpu": 3, "memory": 1}))
    ]
    granted = settled(share, *requests)
    assert granted == ["a/0", "b/0", "a/1", "b/1", "a/2"]
    held = {view.session: view.held for view in share.snapshot(1.0).sessions}
    assert held == {"a": {"cpu": 3, "memory": 12}, "b": {"cpu": 6, "memory": 2}}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"a": 1, "b": 1}, "abababab"),
        ({"a": 1, "b": 3}, "abbbabbb"),
        ({"a": 2, "b": 1, "c": 1}, "abcaabca"),
    ],
)
def test_grants_of_one_instant_go_by_weight(weights: dict[str, float], expected: str):
    share = groups(fair(settle_s=1, cpu=8), **weights)
    granted = settled(share, *(want(f"{s}/{n}", cpu=1) for s in weights for n in range(8)))
    assert "".join(key[0] for key in granted) == expected


def test_lanes_go_by_priority_and_by_age_within_a_lane():
    share = fair(settle_s=1, cpu=9)
    lanes = [Lane.BACKGROUND, Lane.NORMAL, Lane.CRITICAL, Lane.LOW, Lane.HIGH, Lane.NORMAL]
    granted = settled(share, *(want(f"a/{n}", lane, at=-n / 10, cpu=1) for n, lane in enumerate(lanes)))
    assert granted == ["a/2", "a/4", "a/5", "a/1", "a/3", "a/0"]


@pytest.mark.parametrize(
    ("lane", "waited", "first"),
    [
        (Lane.HIGH, AGE_S - 0.1, "a/new"),
        (Lane.HIGH, AGE_S, "a/new"),
        (Lane.HIGH, 2 * AGE_S, "a/old"),
        (Lane.NORMAL, AGE_S - 0.1, "a/new"),
        (Lane.NORMAL, AGE_S, "a/old"),
        (Lane.CRITICAL, 3 * AGE_S - 0.1, "a/new"),
        (Lane.CRITICAL, 3 * AGE_S, "a/old"),
    ],
)
def test_each_age_of_waiting_promotes_a_low_request_by_one_lane(lane: Lane, waited: float, first: str):
    share = fair(cpu=1)
    share.request(want("a/running", cpu=1), "cell", 0.0)
    share.request(want("a/old", Lane.LOW, at=0.0, cpu=1), "cell", 0.0)
    share.request(want("a/new", lane, at=waited, cpu=1), "cell", waited)
    assert said(share.release("a/running", waited)) == [first]


def test_background_work_runs_when_nobody_else_wants_the_slot():
    share = fair(cpu=2)
    assert said(share.request(want("a/1", Lane.BACKGROUND, cpu=1), "cell", 0.0)) == ["a/1"]
    assert said(share.request(want("a/2", Lane.BACKGROUND, cpu=1), "cell", 0.0)) == ["a/2"]


def test_an_idle_session_lends_and_gets_its_part_back_as_slots_return():
    share = groups(fair(cpu=4), a=1, b=1)
    for n in range(12):
        share.request(want(f"a/{n}", cpu=1), "cell", 0.0)
    assert share.snapshot(0.0).held == {"cpu": 4}
    for n in range(4):
        share.request(want(f"b/{n}", at=100.0, cpu=1), "cell", 100.0)
    order = [said(share.release(f"a/{n}", 101.0 + n)) for n in range(4)]
    assert order == [["b/0"], ["b/1"], ["b/2"], ["b/3"]]


def test_nobody_saves_up_while_idle():
    share = groups(fair(cpu=2), a=1, b=1)
    for n in range(20):
        share.request(want(f"a/{n}", cpu=1), "cell", 0.0)
    running, now = ["a/0", "a/1"], 0.0
    for _ in range(4):
        now += 1000
        running += said(share.release(running.pop(0), now))
    for n in range(20):
        share.request(want(f"b/{n}", at=now, cpu=1), "cell", now)
    after: list[str] = []
    for _ in range(12):
        now += 1
        granted = said(share.release(running.pop(0), now))
        after += granted
        running += granted
    assert 5 <= sum(key[0] == "b" for key in after) <= 8, "no more than its half and a job or two, after 4,000 s idle"


def test_a_session_held_up_by_its_own_limit_saves_nothing_up():
    share = groups(fair(cpu=4), b=1, c=1)
    share.set_group("a", Group(cpu_slots=1), 0.0)
    for s in "ab":
        for n in range(2000):
            share.request(want(f"{s}/{n}", cpu=1), "cell", 0.0)
    running = ["a/0", "b/0", "b/1", "b/2"]
    for now in range(1, 1000):
        running += said(share.release(running.pop(0), float(now)))
    assert sum(key[0] == "a" for key in running) == 1
    share.set_group("a", Group(), 1000.0)
    granted = []
    for now in range(1000, 1040):
        granted += (new := said(share.release(running.pop(0), float(now))))
        running += new
    assert 15 <= sum(key[0] == "b" for key in granted) <= 30


def test_smaller_requests_pass_a_large_one_until_its_patience_ends_then_it_reserves():
    share = fair(cpu=4, patience_s=20)
    for n in range(4):
        share.request(want(f"a/{n}", cpu=1), "cell", 0.0)
    share.request(want("a/large", at=1.0, cpu=4), "cell", 1.0)
    for n in range(4, 12):
        share.request(want(f"a/{n}", at=2.0, cpu=1), "cell", 2.0)
    assert said(share.release("a/0", 3.0)) == ["a/4"]
    assert said(share.release("a/1", 20.9)) == ["a/5"]
    assert said(share.release("a/2", 21.0)) == []
    assert share.snapshot(21.0).reserved == {"a/large": {"cpu": 4}}
    assert share.place("a/6", 21.0) == "2nd in line in its session; 4 cpu are kept for a/large, which has waited longer"
    assert said(share.release("a/3", 22.0)) == []
    assert said(share.release("a/4", 23.0)) == []
    assert said(share.release("a/5", 24.0)) == ["a/large"]
    assert share.snapshot(24.0).reserved == {}
    assert said(share.release("a/large", 25.0)) == ["a/6", "a/7", "a/8", "a/9"]


def test_a_reservation_keeps_only_what_is_short():
    share = groups(fair(cpu=2, engineers=5), a=1, b=1)
    share.request(want("a/0", cpu=1), "cell", 0.0)
    share.request(want("b/0", cpu=1), "cell", 0.0)
    share.request(want("a/large", cpu=2, engineers=1), "cell", 0.0)
    share.request(want("b/1", cpu=1), "cell", 0.0)
    assert said(share.release("b/0", 30.0)) == []
    assert share.snapshot(30.0).reserved == {"a/large": {"cpu": 2}}
    for n in range(5):
        assert said(share.request(want(f"b/e{n}", at=30.0, engineers=1), "cell", 30.0)) == [f"b/e{n}"]
    assert said(share.release("a/0", 31.0)) == []
    assert share.snapshot(31.0).reserved == {"a/large": {"cpu": 2, "engineers": 1}}, "by now it lacks this as well"
    assert said(share.release("b/e0", 32.0)) == ["a/large"]


def test_a_reservation_goes_when_its_request_does():
    share = fair(cpu=2)
    share.request(want("a/0", cpu=1), "cell", 0.0)
    share.request(want("a/1", cpu=1), "cell", 0.0)
    share.request(want("a/large", cpu=2), "cell", 0.0)
    share.request(want("a/2", cpu=1), "cell", 0.0)
    assert said(share.release("a/0", 25.0)) == []
    assert said(share.withdraw("a/large", 26.0)) == ["a/2"]


def test_a_large_request_within_its_sessions_own_limit_is_not_starved_by_its_own_small_ones():
    share = fair(engineers=100)
    share.set_group("a", Group(max_engineers=2), 0.0)
    share.request(want("a/0", engineers=1), "cell", 0.0)
    share.request(want("a/1", engineers=1), "cell", 0.0)
    share.request(want("a/large", at=0.0, engineers=2), "cell", 0.0)
    for n in range(2, 5):
        share.request(want(f"a/{n}", at=1.0, engineers=1), "cell", 1.0)
    assert said(share.release("a/0", 5.0)) == ["a/2"]
    assert said(share.release("a/1", 21.0)) == []
    assert said(share.request(want("b/0", at=21.0, engineers=98), "cell", 21.0)) == ["b/0"]
    assert said(share.release("a/2", 22.0)) == ["a/large"]


def test_whole_sessions_are_admitted_by_the_same_means():
    share = FairShare(Capacity({"sessions": 2}), now=0.0)
    asked = [
        said(share.request(want(f"team-{n % 2}/s-{n}", at=float(n), sessions=1), "front", float(n))) for n in range(4)
    ]
    assert asked == [["team-0/s-0"], ["team-1/s-1"], [], []]
    assert share.place("team-0/s-2", 5.0).startswith("1st in line in its session; it wants 1 sessions, 0 of 2 are free")
    assert said(share.release("team-1/s-1", 5.0)) == ["team-0/s-2"], "both have had as much; it was asked for first"
    assert said(share.release("team-0/s-0", 6.0)) == ["team-1/s-3"]
