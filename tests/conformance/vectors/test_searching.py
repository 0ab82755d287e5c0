"""Storing points, and searching them by vectors and by words."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from sylk_ray.knowledge.vectors import InvalidVector, KeyIn, Not, Point, Query, Sparse
from tests.conformance.vectors.stores import PAYLOADS, QUIETLY, found, keys_of, unit, words

pytestmark = QUIETLY

RANDOM = np.random.default_rng(20261122)


def test_the_nearest_come_first_with_their_cosine(store):
    store.upsert("r", [Point(key=1, dense=unit(0)), Point(key=2, dense=unit(0, 1) * 5), Point(key=3, dense=unit(2))])
    hits = store.search("r", Query(dense=unit(0) * 3, k=2))
    assert keys_of(hits) == [1, 2]
    assert [each.score for each in hits] == pytest.approx([1.0, 0.7071], abs=1e-4)
    assert hits[0].payload is None


def test_what_scores_too_low_is_no_hit(store):
    store.upsert("r", [Point(key=1, dense=unit(0)), Point(key=2, dense=unit(0, 1)), Point(key=3, dense=unit(2))])
    assert found(store, dense=unit(0), min_score=0.5) == [1, 2]
    assert found(store, dense=unit(0), min_score=0.9) == [1]


def test_a_large_answer_is_that_of_comparing_with_every_vector(store):
    vectors = RANDOM.standard_normal((300, 8)).astype(np.float32)
    store.upsert("r", [Point(key=n + 1, dense=each) for n, each in enumerate(vectors)])
    asked = RANDOM.standard_normal(8).astype(np.float32)
    scores = vectors @ asked / np.linalg.norm(vectors, axis=1)
    assert found(store, dense=asked, k=20) == [int(n) + 1 for n in np.argsort(-scores)[:20]]


def test_a_payload_comes_with_a_hit_when_it_is_asked_for(store):
    store.upsert("r", [Point(key=1, dense=unit(0), payload=PAYLOADS[0])])
    assert store.search("r", Query(dense=unit(0), with_payload=True))[0].payload == PAYLOADS[0]


def test_a_rare_word_weighs_more_than_one_that_many_have(store):
    store.upsert("r", [Point(key=n, sparse=words(w1=1.0)) for n in range(1, 20)])
    store.upsert("r", [Point(key=20, sparse=words(w2=1.0))])
    hits = store.search("r", Query(sparse=words(w1=1.0, w2=1.0), k=50))
    assert hits[0].key == 20
    assert hits[0].score > 3 * hits[1].score
    assert len(hits) == 20


def test_how_rare_a_word_is_is_counted_in_its_scope(store):
    store.upsert("r", [Point(key=1, sparse=words(w1=1.0)), Point(key=2, sparse=words(w2=1.0))])
    before = store.search("r", Query(sparse=words(w1=1.0)))
    store.upsert("other", [Point(key=n, sparse=words(w1=1.0)) for n in range(1, 200)])
    assert store.search("r", Query(sparse=words(w1=1.0))) == before


@pytest.mark.parametrize(("having", "weight"), [(1, 1.0), (3, 0.5), (19, 2.0)])
def test_a_words_score_is_how_rare_it_is_times_its_weight(store, having, weight):
    """``sylk_ray.knowledge.rarity`` rests on it: BM25's inverse document frequency."""
    store.upsert("r", [Point(key=n, sparse=words(**{f"w{1 + (n > having)}": weight})) for n in range(1, 21)])
    [hit] = store.search("r", Query(sparse=words(w1=1.0), k=1))
    assert hit.score / weight == pytest.approx(np.log(1 + (20 - having + 0.5) / (having + 0.5)), rel=1e-5)


def test_a_point_without_any_of_the_words_is_no_hit(store):
    store.upsert("r", [Point(key=1, sparse=words(w1=1.0)), Point(key=2, sparse=words(w7=1.0)), Point(key=3)])
    assert found(store, sparse=words(w7=1.0, w9=2.0)) == [2]
    assert found(store, sparse=words()) == []


def test_many_queries_are_answered_in_their_order(store):
    store.upsert("r", [Point(key=n + 1, dense=unit(n), sparse=Sparse(*arrays({n: 1.0}))) for n in range(8)])
    queries = [
        Query(dense=unit(3), k=1),
        Query(sparse=words(w5=1.0)),
        Query(sparse=words()),
        Query(dense=unit(0), k=1, where=Not(KeyIn(frozenset({1}))), min_score=0.5),
        Query(dense=unit(6), k=1, with_payload=True),
    ]
    answers = store.search_many("r", queries)
    assert [keys_of(each) for each in answers] == [[4], [6], [], [], [7]]
    assert (answers[0][0].payload, answers[4][0].payload) == (None, {})
    assert store.search_many("r", []) == []


def arrays(weights: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(list(weights), dtype=np.uint32), np.array(list(weights.values()), dtype=np.float32)


def test_scopes_do_not_see_each_other(store):
    store.upsert("one", [Point(key=1, dense=unit(0), payload={"type": "file"})])
    store.upsert("two", [Point(key=1, dense=unit(1)), Point(key=2, dense=unit(0))])
    assert found(store, "one", dense=unit(0)) == [1]
    assert store.search("two", Query(dense=unit(0)))[0].key == 2
    store.delete("one", [1, 2])
    assert (store.count("one"), store.count("two")) == (0, 2)
    assert store.scopes() == ["one", "two"]


def test_a_scope_that_there_is_not_is_empty(store):
    assert store.search("none", Query(dense=unit(0))) == []
    assert store.search_many("none", [Query(dense=unit(0))]) == [[]]
    assert (store.get("none", [1]), list(store.keys("none")), store.count("none")) == ([], [], 0)
    assert store.stats("none").points == 0
    store.delete("none", [1])
    store.flush("none")
    store.drop("none")
    assert not store.optimize("none")
    assert store.scopes() == []


def test_a_point_comes_back_whole_and_of_unit_length(store):
    store.upsert(
        "r",
        [
            Point(key=7, dense=unit(0, 1) * 4, sparse=Sparse(*arrays({9: 2.0, 3: 0.5})), payload=PAYLOADS[0]),
            Point(key=2**63 - 1),
            Point(key=3, sparse=words(w1=1.0)),
        ],
    )
    seven, largest, three = store.get("r", [7, 8, 2**63 - 1, 3])
    assert (seven.key, largest.key, three.key) == (7, 2**63 - 1, 3)
    assert seven.dense == pytest.approx(unit(0, 1))
    assert seven.sparse is not None
    assert dict(zip(seven.sparse.indices.tolist(), seven.sparse.values.tolist(), strict=True)) == {9: 2.0, 3: 0.5}
    assert seven.payload == PAYLOADS[0]
    assert (largest.dense, largest.sparse, largest.payload) == (None, None, {})
    assert three.dense is None


def test_a_point_that_is_stored_again_is_replaced_whole(store):
    store.upsert("r", [Point(key=1, dense=unit(0), sparse=words(w1=1.0), payload={"type": "file", "session": "s"})])
    store.upsert("r", [Point(key=1, dense=unit(1), payload={"type": "function"})])
    (point,) = store.get("r", [1])
    assert (point.sparse, point.payload) == (None, {"type": "function"})
    assert store.search("r", Query(dense=unit(1)))[0].score == pytest.approx(1.0, abs=1e-5)
    assert found(store, sparse=words(w1=1.0)) == []
    assert store.count("r") == 1


def test_keys_are_all_and_ascend(store):
    keys = [5, 1, 2**40, 70, 3]
    store.upsert("r", [Point(key=key, dense=unit(0)) for key in keys])
    store.delete("r", [70, 71])
    assert list(store.keys("r")) == sorted({*keys} - {70})


def test_more_points_than_a_batch_are_all_stored_read_and_deleted(store):
    count = 1300
    store.upsert("r", [Point(key=n, dense=unit(n % 8), payload={"type": "file"}) for n in range(1, count + 1)])
    assert list(store.keys("r")) == list(range(1, count + 1))
    assert len(store.get("r", range(1, count + 1))) == count
    store.delete("r", range(2, count + 1))
    assert list(store.keys("r")) == [1]


@pytest.mark.parametrize(
    "bad",
    [
        Point(key=0, dense=unit(0)),
        Point(key=2**63, dense=unit(0)),
        Point(key=1, dense=unit(0, dimensions=9)),
        Point(key=1, dense=np.full(8, np.nan, dtype=np.float32)),
        Point(key=1, sparse=Sparse(np.array([3, 3], dtype=np.uint32), np.ones(2, dtype=np.float32))),
        Point(key=1, sparse=Sparse(np.array([3], dtype=np.uint32), np.ones(2, dtype=np.float32))),
        Point(key=1, sparse=Sparse(np.array([3], dtype=np.uint32), np.array([np.inf], dtype=np.float32))),
    ],
)
def test_a_point_that_does_not_fit_is_refused_and_nothing_is_stored(store, bad):
    with pytest.raises(InvalidVector):
        store.upsert("r", [Point(key=5, dense=unit(0)), bad])
    assert store.count("r") == 0


@pytest.mark.parametrize(
    "bad",
    [
        Query(),
        Query(dense=unit(0), sparse=words(w1=1.0)),
        Query(dense=unit(0), k=0),
        Query(dense=unit(0, dimensions=3)),
        Query(sparse=Sparse(np.array([3, 3], dtype=np.uint32), np.ones(2, dtype=np.float32))),
    ],
)
def test_a_query_that_does_not_fit_is_refused(store, bad):
    store.upsert("r", [Point(key=5, dense=unit(0))])
    with pytest.raises(InvalidVector):
        store.search("r", bad)
    with pytest.raises(InvalidVector):
        store.search_many("r", [Query(dense=unit(0)), bad])


def test_threads_search_and_write_beside_each_other(store):
    store.upsert("r", [Point(key=1, dense=unit(0))])
    errors: list[BaseException] = []

    def run(work: Callable[[int], None]) -> None:
        try:
            for n in range(15):
                work(n)
        except BaseException as error:
            errors.append(error)

    def search(n: int) -> None:
        assert found(store, dense=unit(0), k=1) == [1]

    def write(n: int) -> None:
        store.upsert("r", [Point(key=2 + n, dense=unit(1 + n % 7))])
        assert store.count("r", KeyIn(frozenset({2 + n}))) == 1

    threads = [threading.Thread(target=run, args=(work,)) for work in (search, search, write)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == []
    assert store.count("r") == 16
