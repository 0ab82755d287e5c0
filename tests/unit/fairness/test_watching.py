"""What people see: the snapshot and a key's place."""

from __future__ import annotations

import msgspec
import pytest

from sylk_ray.fairness import HISTOGRAM_BOUNDS_S, Capacity, FairShare, Group, Lane, WaitStatistics
from sylk_ray.fairness.records import Waits
from sylk_ray.fairness.words import ordinal
from tests.unit.fairness.driven import fair, groups, want


def busy() -> FairShare:
    share = groups(fair(cpu=4), a=3, b=1, idle=4)
    for n in range(6):
        share.request(want(f"a/{n}", Lane.NORMAL if n < 5 else Lane.LOW, cpu=1), "cell-1", 0.0)
    share.request(want("b/0", at=10.0, cpu=1), "cell-2", 10.0)
    share.release("a/0", 20.0)
    return share


def test_a_snapshot_says_who_holds_what_and_who_waits():
    snapshot = busy().snapshot(30.0)
    a, b, idle = snapshot.sessions
    assert (a.held, a.leases, a.waiting, a.longest_wait) == ({"cpu": 3}, 3, {"normal": 1, "low": 1}, 30.0)
    assert (b.held, b.waiting) == ({"cpu": 1}, {})
    assert (a.entitled, b.entitled, idle.entitled) == (0.75, 0.25, 0.0)
    assert a.share == pytest.approx(110 / 120)
    assert b.share == pytest.approx(10 / 120)
    assert snapshot.queue_depth == {"critical": 0, "high": 0, "normal": 1, "low": 1, "background": 0}
    assert [(lease.key, lease.holder, lease.age) for lease in snapshot.leases] == [
        ("a/1", "cell-1", 30.0),
        ("a/2", "cell-1", 30.0),
        ("a/3", "cell-1", 30.0),
        ("b/0", "cell-2", 10.0),
    ]
    assert (snapshot.totals.granted, snapshot.totals.released) == (5, 1)
    assert b.waits == {"normal": WaitStatistics(1, 10.0, 10.0, 10.0)}
    assert snapshot.processing[HISTOGRAM_BOUNDS_S.index(30.0)] == sum(snapshot.processing) == 1


def test_a_snapshot_crosses_a_wire():
    snapshot = busy().snapshot(30.0)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(snapshot), type=type(snapshot)) == snapshot


def test_looking_changes_nothing():
    one, other = busy(), busy()
    for at in (21.0, 25.0, 29.0):
        one.snapshot(at)
        one.place("a/4", at)
    assert one.snapshot(30.0) == other.snapshot(30.0)
    assert one.release("a/1", 31.0) == other.release("a/1", 31.0)


def test_a_place_is_in_words():
    share = busy()
    share.set_group("c", Group(max_pipelines=1), 30.0)
    share.request(want("c/0", pipelines=1), "cell", 30.0)
    share.request(want("c/1", pipelines=1), "cell", 30.0)
    assert share.place("c/0", 42.0) == "held by cell for 12 s"
    assert share.place("c/1", 42.0) == "1st in line in its session; its session holds 1 of 1 pipelines"
    assert share.place("a/5", 42.0) == "2nd in line in its session; it wants 1 cpu, 0 of 4 are free"
    share.request(want("b/1", at=42.0, cpu=1), "cell", 42.0)
    behind = "1 session that had less than its own comes before"
    assert share.place("a/4", 42.0) == f"1st in line in its session; it wants 1 cpu, 0 of 4 are free; {behind}"
    assert share.place("b/9", 42.0) == "neither held nor waiting"


def test_wait_statistics_are_of_a_bounded_window():
    waits = Waits()
    for seconds in range(1, 1_001):
        waits.add(float(seconds))
    assert waits.statistics() == WaitStatistics(1_000, 500.5, 873.0, 998.0)
    assert len(waits._last) == 256


@pytest.mark.parametrize(
    ("number", "word"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (21, "21st")]
)
def test_ordinals(number: int, word: str):
    assert ordinal(number) == word


def test_nothing_is_left_of_what_came_and_went():
    share = FairShare(Capacity({"cpu": 4, "tokens:fast": 1e9}), now=0.0)
    for n in range(3_000):
        now = float(n)
        share.request(want(f"s-{n}/1", at=now, cpu=1, tokens={"fast": 10}), f"cell-{n}", now)
        share.release(f"s-{n}/1", now + 0.5)
        share.tick(now + 0.5)
    books = share._books
    assert len(books.sessions) <= 61
    assert (books.leases, books.waiting, books.kinds, books.system.held) == ({}, {}, {}, {})
    assert len(books.holders._seen) <= 6
    assert books.holders._keys == {}
    assert list(share._dispatch._contending) == []
