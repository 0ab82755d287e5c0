"""What the bitmaps allow is never less than what meets a condition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.knowledge.gate import Facets, SnapshotDamaged, facets_of
from sylk_ray.knowledge.gate.facets import bounds
from sylk_ray.knowledge.vectors import All, AnyOf, Equals, KeyIn, NoneOf, Not, Some, Within, holds

types, languages = st.sampled_from(["function", "file"]), st.sampled_from(["python", "go"])
paths = st.sampled_from(["a", "a/b.py", "a/c/d.go", "ab/e.py"])
payloads = st.fixed_dictionaries(
    {}, optional={"type": types, "language": languages, "path": paths, "tests": st.booleans(), "odd": st.just("x")}
)
leaves = st.one_of(
    st.builds(Equals, st.just("type"), types),
    st.builds(Equals, st.just("tests"), st.booleans()),
    st.builds(Equals, st.just("odd"), st.just("x")),
    st.builds(AnyOf, st.just("language"), st.lists(languages).map(tuple)),
    st.builds(NoneOf, st.just("language"), st.lists(languages).map(tuple)),
    st.builds(KeyIn, st.frozensets(st.integers(1, 9))),
    st.builds(Within, st.sampled_from(["", "a", "a/c/", "b"])),
)
conditions = st.recursive(
    leaves,
    lambda of: st.one_of(
        st.builds(All, st.lists(of, max_size=3).map(tuple)),
        st.builds(Some, st.lists(of, max_size=3).map(tuple)),
        st.builds(Not, of),
    ),
    max_leaves=6,
)
nodes = st.dictionaries(st.integers(1, 8), payloads, max_size=6)


def facets(of: dict[int, dict]) -> Facets:
    made = Facets()
    made.add((node, facets_of("r", payload)) for node, payload in of.items())
    return made


def shown(of: Facets) -> dict:
    read = Facets.decode(memoryview(of.encode()))
    return {facet: set(read.of(facet)) for facet in read.facets()}


def knows(condition) -> bool:
    return "odd" not in str(condition) and "Within(path='')" not in str(condition)


@given(nodes, conditions)
def test_nodes_that_did_not_change_are_allowed_exactly(before, condition):
    found = bounds(condition, Facets.decode(memoryview(facets(before).encode())), Facets())
    meeting = {node for node, payload in before.items() if holds(condition, node, payload)}
    assert set(found.surely) <= meeting <= set(found.possibly)
    if knows(condition):
        assert set(found.surely) == set(found.possibly) == meeting


@given(nodes, nodes, conditions)
def test_nodes_that_changed_are_never_excluded_for_what_they_were_or_are(before, changed, condition):
    found = bounds(condition, facets(before), facets(changed))
    for node, payload in [*before.items(), *changed.items()]:
        assert not holds(condition, node, payload) or node in found.possibly


@given(nodes, nodes)
def test_merging_forgets_what_nodes_were(before, changed):
    merged = facets(before).merged([(node, facets_of("r", payload)) for node, payload in changed.items()])
    assert shown(merged) == shown(facets({**before, **changed}))


@given(nodes, st.sets(st.integers(1, 8)))
def test_removed_nodes_are_nowhere(before, gone):
    made = Facets.decode(memoryview(facets(before).encode()))
    made.remove(gone)
    assert shown(made) == shown(facets({node: each for node, each in before.items() if node not in gone}))


def test_a_truth_value_is_told_from_its_name():
    made = facets({1: {"tests": True}, 2: {"tests": "True"}})
    assert set(bounds(Equals("tests", True), made, Facets()).possibly) == {1}


def test_a_scope_can_be_asked_for():
    made = facets({1: {}, 2: {}})
    assert set(bounds(Equals("scope", "r"), made, Facets()).possibly) == {1, 2}
    assert not bounds(Equals("scope", "other"), made, Facets()).possibly


@pytest.mark.parametrize("cut", [1, 5, -1])
def test_bytes_that_are_cut_off_are_refused(cut):
    with pytest.raises(SnapshotDamaged):
        Facets.decode(memoryview(facets({1: {"type": "file"}}).encode()[:cut]))
