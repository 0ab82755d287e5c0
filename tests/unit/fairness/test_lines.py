"""The queue of one session, and who may reserve."""

from __future__ import annotations

from sylk_ray.fairness import AGE_S, Group, Lane
from sylk_ray.fairness.pool import Pool
from sylk_ray.fairness.reservations import Reservations
from sylk_ray.fairness.session import Session
from sylk_ray.fairness.session_queue import SessionQueue, Waiting, kind_of
from tests.unit.fairness.driven import fair, said, want


def entry(key: str, lane: Lane = Lane.NORMAL, at: float = 0.0, **demand: float) -> Waiting:
    request = want(key, lane, at, **demand)
    return Waiting(request, kind_of(request), "cell", 1_000.0)


def drain(queue: SessionQueue, now: float) -> list[str]:
    order: list[str] = []
    while queue:
        head = queue.heads(now)[0]
        order.append(head.request.key)
        queue.remove(head)
    return order


def test_heads_are_in_the_same_order_as_all_requests_would_be():
    entries = [
        entry(f"a/{n}", Lane(n % 5), at=float(n * 37 % 160), cpu=1 + n % 3, **({"memory": 1} if n % 2 else {}))
        for n in range(60)
    ]
    queue = SessionQueue()
    for each in entries:
        queue.add(each)
    now = 5 * AGE_S + 10
    expected = sorted(entries, key=lambda each: each.rank(now))
    assert [queue.ahead_of(each, now) for each in expected] == list(range(60))
    assert queue.longest_wait(now) == now - min(each.since for each in entries)
    assert drain(queue, now) == [each.request.key for each in expected]
    assert (queue.kinds(), queue.longest_wait(now)) == ([], 0.0)


def test_what_was_withdrawn_is_not_kept():
    queue = SessionQueue()
    entries = [entry(f"a/{n}", at=float(n), cpu=1) for n in range(5_000)]
    for each in entries:
        queue.add(each)
    for each in entries[1:-1]:
        queue.remove(each)
    (line,) = queue._lines.values()
    assert sum(len(lane) for lane in line._lanes) < 200
    assert drain(queue, 0.0) == ["a/0", "a/4999"]


def test_while_one_waits_to_reserve_none_behind_it_reserves_what_it_wants():
    system = Pool({"x": 4, "y": 4})
    system.take((("x", 3.0), ("y", 3.0)))
    session = Session("a", Group(), 0.0, opened=True)
    first, both, behind, other = entry("a/1", x=2), entry("a/2", x=2, y=2), entry("a/3", y=2), entry("a/4", z=1)
    reservations, claimed = Reservations(), set[str]()
    for each in (first, both, behind, other):
        reservations.reserve(each, session, system, claimed)
    assert [each.entry for each in reservations.all()] == [first, other]
    assert reservations.kept == {"x": 2}
    reservations.drop(first)
    claimed = set()
    for each in (both, behind):
        reservations.reserve(each, session, system, claimed)
    assert reservations.holds(both)
    assert not reservations.holds(behind)


def test_a_reservation_ends_when_age_puts_another_in_front():
    share = fair(cpu=2, patience_s=5)
    share.request(want("b/0", cpu=1), "cell", 0.0)
    share.request(want("b/1", cpu=1), "cell", 0.0)
    share.request(want("a/old", Lane.LOW, at=0.0, cpu=2), "cell", 0.0)
    share.request(want("a/large", Lane.NORMAL, at=1.0, cpu=2), "cell", 1.0)
    share.request(want("b/2", at=1.0, cpu=1), "cell", 1.0)
    assert said(share.release("b/0", 10.0)) == []
    assert list(share.snapshot(10.0).reserved) == ["a/large"]
    assert said(share.release("b/1", AGE_S)) == ["a/old"]


def test_a_restored_lease_that_waited_is_not_in_line_any_more():
    share = fair(cpu=2)
    share.request(want("b/0", cpu=2), "cell", 0.0)
    share.request(want("a/1", cpu=1), "new", 0.0)
    share.request(want("b/1", cpu=1), "cell", 0.0)
    share.request(want("b/2", cpu=1), "cell", 0.0)
    assert said(share.heartbeat("old", [want("a/1", cpu=1)], [], 1.0)) == ["a/1", "Returned a/1"]
    assert said(share.release("b/0", 2.0)) == ["b/1"]
    assert said(share.release("a/1", 3.0)) == ["b/2"]
