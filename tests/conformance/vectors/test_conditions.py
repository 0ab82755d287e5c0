"""Conditions find what they say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylk_ray.knowledge.vectors import (
    All,
    AnyOf,
    Condition,
    Equals,
    KeyIn,
    NoneOf,
    Not,
    Point,
    Some,
    VectorStore,
    Within,
    holds,
)
from tests.conformance.vectors.stores import KINDS, PAYLOADS, QUIETLY, found, unit

pytestmark = QUIETLY

CONDITIONS: list[Condition] = [
    Equals("type", "function"),
    Equals("tests", True),
    Equals("tests", False),
    AnyOf("language", ("go", "rust")),
    AnyOf("language", ()),
    NoneOf("language", ("go", "rust")),
    NoneOf("language", ()),
    KeyIn(frozenset({2, 4, 99})),
    KeyIn(frozenset()),
    Within("src/a"),
    Within("src/a/"),
    Within("src"),
    Within(""),
    Within("sr"),
    All(()),
    Some(()),
    Not(Equals("session", "s1")),
    Not(Within("src/a")),
    All((Equals("language", "python"), Within("src"), Not(Equals("tests", True)))),
    Some((Equals("session", "s1"), Within("docs"))),
    Not(Some((KeyIn(frozenset({1})), All((Equals("type", "file"), AnyOf("language", ("python",))))))),
]


@pytest.fixture(params=list(KINDS), scope="module")
def filled(request, tmp_path_factory) -> Iterator[VectorStore]:
    with KINDS[request.param](tmp_path_factory.mktemp("filled")) as store:
        store.upsert("r", [Point(key=n + 1, dense=unit(0), payload=each) for n, each in enumerate(PAYLOADS)])
        yield store


def expected(condition: Condition) -> list[int]:
    return [n + 1 for n, each in enumerate(PAYLOADS) if holds(condition, n + 1, each)]


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_a_condition_finds_what_it_says(filled, condition):
    assert sorted(found(filled, dense=unit(0), where=condition, k=50)) == expected(condition)
    assert filled.count("r", condition) == len(expected(condition))


leaves = st.one_of(
    st.builds(Equals, st.just("type"), st.sampled_from(["function", "file", "decision", "none"])),
    st.builds(Equals, st.just("tests"), st.booleans()),
    st.builds(AnyOf, st.sampled_from(["language", "session"]), st.lists(st.sampled_from(["go", "s1"])).map(tuple)),
    st.builds(NoneOf, st.sampled_from(["language", "session"]), st.lists(st.sampled_from(["go", "s1"])).map(tuple)),
    st.builds(KeyIn, st.frozensets(st.integers(1, 8))),
    st.builds(Within, st.sampled_from(["", "src", "src/a", "src/a/b.py", "docs/x", "a"])),
)
conditions = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.builds(All, st.lists(parts, max_size=3).map(tuple)),
        st.builds(Some, st.lists(parts, max_size=3).map(tuple)),
        st.builds(Not, parts),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(condition=conditions)
def test_any_condition_finds_what_it_says(filled, condition):
    assert sorted(found(filled, dense=unit(0), where=condition, k=50)) == expected(condition)
