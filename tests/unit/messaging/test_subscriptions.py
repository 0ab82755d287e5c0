"""Subscriptions: filters, shards, and changes beside publishing."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.errors import InputError
from sylk_ray.fairness import Lane
from sylk_ray.messaging import Address
from sylk_ray.messaging.subscriptions import Filter, Publication, Subscription, Subscriptions
from sylk_ray.messaging.topics import InvalidTopic

from .test_topics import patterns, topics

ME = Address("shared", "gateway", "main")


def ids(table: Subscriptions, topic: str, **what: object) -> list[str]:
    return sorted(each.id for each in table.matching(Publication(topic, "Told", **what)))  # type: ignore[arg-type]


def test_each_subscription_gets_what_it_wants_once():
    table = Subscriptions()
    for id_, pattern in (("one", "session.a.#"), ("all", "session.*.status"), ("top", "shared"), ("any", "#")):
        table.add(Subscription(id_, pattern, ME))
    assert ids(table, "session.a.status") == ["all", "any", "one"]
    assert ids(table, "session.b.status") == ["all", "any"]
    assert ids(table, "shared") == ["any", "top"]


@pytest.mark.parametrize(
    ("wanted", "admitted"),
    [
        (Filter(), True),
        (Filter(sessions=frozenset({"a"})), True),
        (Filter(sessions=frozenset({"b"})), False),
        (Filter(kinds=frozenset({"TaskFailed", "TaskDone"})), True),
        (Filter(kinds=frozenset({"TaskDone"})), False),
        (Filter(at_least=Lane.HIGH), True),
        (Filter(at_least=Lane.CRITICAL), False),
        (Filter(frozenset({"a"}), frozenset({"TaskFailed"}), Lane.HIGH), True),
    ],
)
def test_filters(wanted, admitted):
    assert wanted.admits(Publication("session.a.x.y", "TaskFailed", "a", Lane.HIGH)) is admitted


def test_one_of_the_same_id_replaces_the_one_before():
    table = Subscriptions()
    table.add(Subscription("w", "a.b", ME))
    table.add(Subscription("w", "a.c", ME))
    table.add(Subscription("w", "a.c", ME))
    assert (ids(table, "a.b"), ids(table, "a.c"), len(table)) == ([], ["w"], 1)
    assert (table.remove("w"), table.remove("w"), ids(table, "a.c")) == (Subscription("w", "a.c", ME), None, [])


def test_bad_ones_are_refused():
    with pytest.raises(InvalidTopic):
        Subscription("w", "a..b", ME)
    with pytest.raises(InputError, match="a bound of 0"):
        Subscription("w", "a", ME, bound=0)
    with pytest.raises(InputError, match="power of two"):
        Subscriptions(12)


@given(st.lists(patterns, max_size=12), topics)
def test_the_number_of_shards_changes_nothing(wanted, topic):
    tables = [Subscriptions(1), Subscriptions(32)]
    for table in tables:
        for number, pattern in enumerate(wanted):
            table.add(Subscription(str(number), pattern, ME))
    assert ids(tables[0], topic) == ids(tables[1], topic)


def test_threads_that_subscribe_disturb_nobody_who_publishes():
    table = Subscriptions(4)
    table.add(Subscription("stays", "session.s0.*", ME))
    problems: list[object] = []
    stop = threading.Event()

    def come_and_go(number: int) -> None:
        for turn in range(300):
            table.add(Subscription(f"{number}", f"session.s{turn % 3}.*", ME))
            table.add(Subscription(f"{number}-all", "session.*.#", ME))
            table.remove(f"{number}")
            table.remove(f"{number}-all")

    def publish() -> None:
        while not stop.is_set():
            if "stays" not in ids(table, "session.s0.status"):
                problems.append("lost")

    publishers = [threading.Thread(target=publish) for _ in range(2)]
    changers = [threading.Thread(target=come_and_go, args=(number,)) for number in range(4)]
    for thread in (*publishers, *changers):
        thread.start()
    for thread in changers:
        thread.join()
    stop.set()
    for thread in publishers:
        thread.join()
    assert (problems, len(table), ids(table, "session.s1.x")) == ([], 1, [])


def test_an_id_that_is_added_and_removed_at_once_leaves_nothing_behind():
    table = Subscriptions(4)

    def change(turns: int) -> None:
        for turn in range(turns):
            table.add(Subscription("w", f"session.s{turn % 2}.*", ME))
            table.remove("w")

    threads = [threading.Thread(target=change, args=(500,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(table), ids(table, "session.s0.x"), ids(table, "session.s1.x")) == (0, [], [])


def test_an_add_between_the_halves_of_a_remove_is_not_undone_by_it():
    table = Subscriptions(1)
    table.add(Subscription("w", "session.a.*", ME))
    (trie,) = table._shards
    discard, held, done = trie.discard, threading.Event(), threading.Event()

    def slowly(pattern, value):
        held.set()
        done.wait(0.2)
        return discard(pattern, value)

    trie.discard = slowly  # type: ignore[method-assign]
    removing = threading.Thread(target=table.remove, args=("w",))
    removing.start()
    held.wait()
    table.add(Subscription("w", "session.a.*", ME))
    done.set()
    removing.join()
    assert (len(table), ids(table, "session.a.x")) == (1, ["w"])
