"""What is kept, what is dropped, and scopes that are built anew."""

from __future__ import annotations

import pytest

from sylk_ray.knowledge.vectors import (
    InvalidVector,
    Point,
    Query,
    RebuildOver,
    RebuildUnderWay,
    StoreClosed,
    VectorSpace,
    VectorSpaceChanged,
    Within,
)
from tests.conformance.vectors.stores import LARGER, PAYLOADS, QUIETLY, SPACE, found, unit

pytestmark = QUIETLY


def test_what_was_flushed_is_there_when_it_is_opened_again(opening, tmp_path):
    with opening(tmp_path) as store:
        store.upsert("r", [Point(key=1, dense=unit(0), payload=PAYLOADS[0]), Point(key=2, dense=unit(1))])
        store.delete("r", [2])
        store.flush("r")
    with opening(tmp_path) as store:
        assert store.scopes() == ["r"]
        assert found(store, dense=unit(0), where=Within("src")) == [1]


def test_a_store_that_was_read_in_every_way_can_be_opened_again(opening, tmp_path):
    with opening(tmp_path) as store:
        store.upsert("r", [Point(key=1, dense=unit(0))])
        store.search_many("r", [])
        store.get("r", [])
        store.delete("r", [])
        next(store.keys("r"))
        store.stats("r")
        with pytest.raises(InvalidVector):
            store.search("r", Query())
    with opening(tmp_path) as store:
        assert store.count("r") == 1


def test_a_closed_store_says_so(opening, tmp_path):
    store = opening(tmp_path)
    store.upsert("r", [Point(key=1, dense=unit(0))])
    store.close()
    store.close()
    for use in (
        lambda: store.upsert("r", [Point(key=1, dense=unit(0))]),
        lambda: store.search("r", Query(dense=unit(0))),
        lambda: store.drop("r"),
        lambda: store.scopes(),
    ):
        with pytest.raises(StoreClosed):
            use()


def test_a_dropped_scope_is_gone_and_may_begin_again(opening, tmp_path):
    with opening(tmp_path) as store:
        store.upsert("r", [Point(key=1, dense=unit(0))])
        store.upsert("kept", [Point(key=1, dense=unit(0))])
        store.drop("r")
        assert store.scopes() == ["kept"]
        assert found(store, dense=unit(0)) == []
        store.upsert("r", [Point(key=2, dense=unit(0))])
        assert list(store.keys("r")) == [2]
        store.drop("r")
    with opening(tmp_path) as store:
        assert store.scopes() == ["kept"]


def test_stats_say_how_many_points_there_are(store):
    store.upsert("r", [Point(key=n, dense=unit(0)) for n in range(1, 8)])
    assert store.stats("r").points == 7
    assert store.stats("r").indexed <= 14


@pytest.mark.parametrize("other", [LARGER, VectorSpace(dimensions=8, model="small-2")], ids=["dimensions", "model"])
def test_vectors_of_another_space_are_an_error_unless_they_are_to_be_served(opening, tmp_path, other):
    with opening(tmp_path) as store:
        store.upsert("r", [Point(key=1, dense=unit(0))])
    with pytest.raises(VectorSpaceChanged) as raised:
        opening(tmp_path, other)
    assert "'r'" in raised.value.message
    assert "small-2" in raised.value.message
    with opening(tmp_path, other, serve_changed=True) as store:
        assert found(store, dense=unit(0)) == [1]
        assert (store.space_of("r"), store.space_of("new")) == (SPACE, other)


def test_a_rebuild_serves_the_old_vectors_until_it_is_finished(opening, tmp_path):
    with opening(tmp_path) as store:
        store.upsert("r", [Point(key=1, dense=unit(0)), Point(key=2, dense=unit(1))])
    with opening(tmp_path, LARGER, serve_changed=True) as store:
        with store.begin_rebuild("r") as rebuild:
            rebuild.upsert([Point(key=n, dense=unit(11, dimensions=12)) for n in (1, 3, 4)])
            rebuild.delete([4])
            assert found(store, dense=unit(0), k=1) == [1]
            store.delete("r", [2])
            assert list(store.keys("r")) == [1]
            rebuild.finish()
        assert list(store.keys("r")) == [1, 3]
        assert store.space_of("r") == LARGER
        assert sorted(found(store, dense=unit(11, dimensions=12))) == [1, 3]
    with opening(tmp_path, LARGER) as store:
        assert list(store.keys("r")) == [1, 3]


def test_an_abandoned_rebuild_leaves_everything_as_it_was(opening, tmp_path):
    with opening(tmp_path) as store:
        store.upsert("r", [Point(key=1, dense=unit(0))])
        with store.begin_rebuild("r") as rebuild:
            rebuild.upsert([Point(key=9, dense=unit(1))])
        assert list(store.keys("r")) == [1]
        with store.begin_rebuild("r", LARGER) as rebuild:
            rebuild.upsert([Point(key=9, dense=unit(1, dimensions=12))])
    with opening(tmp_path) as store:
        assert list(store.keys("r")) == [1]
        with store.begin_rebuild("r") as rebuild:
            rebuild.finish()
        assert list(store.keys("r")) == []


def test_a_scope_may_begin_by_a_rebuild_and_be_written_to_meanwhile(store):
    with store.begin_rebuild("r") as rebuild:
        rebuild.upsert([Point(key=1, dense=unit(0))])
        assert store.scopes() == []
        store.upsert("r", [Point(key=2, dense=unit(0))])
        assert list(store.keys("r")) == [2]
        rebuild.finish()
    assert list(store.keys("r")) == [1]


def test_one_rebuild_of_a_scope_at_a_time(store):
    store.upsert("r", [Point(key=1, dense=unit(0))])
    first = store.begin_rebuild("r")
    with pytest.raises(RebuildUnderWay):
        store.begin_rebuild("r")
    store.begin_rebuild("other").abandon()
    first.abandon()
    with pytest.raises(RebuildOver):
        first.upsert([Point(key=2, dense=unit(0))])
    with store.begin_rebuild("r") as second:
        second.finish()
        with pytest.raises(RebuildOver):
            second.finish()


def test_a_rebuild_of_a_scope_that_was_dropped_is_over(store):
    store.upsert("r", [Point(key=1, dense=unit(0))])
    with store.begin_rebuild("r") as rebuild:
        rebuild.upsert([Point(key=2, dense=unit(0))])
        store.drop("r")
        with pytest.raises(RebuildOver):
            rebuild.finish()
    assert store.scopes() == []


def test_a_rebuild_refuses_vectors_of_the_old_space(store):
    with store.begin_rebuild("r", LARGER) as rebuild, pytest.raises(InvalidVector):
        rebuild.upsert([Point(key=1, dense=unit(0))])
