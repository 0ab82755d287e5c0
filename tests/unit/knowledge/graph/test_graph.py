"""The graph in memory, beside the file that it follows."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylk_ray.knowledge.graph import Graph, PathConstraints
from sylk_ray.knowledge.model import Domain, Edge, EdgeType, Node, NodeType
from sylk_ray.knowledge.store import Database, edges, nodes

CALLS, IMPORTS, MODIFIED = EdgeType.CALLS, EdgeType.IMPORTS, EdgeType.MODIFIED


class World:
    """A database and a graph that follows it; nodes are one letter each."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path / "knowledge.db")
        self.graph = Graph(self.database)
        self.keys: dict[str, int] = {}

    def node(self, *names: str, scope: str = "repo", domain: Domain = Domain.CODE) -> None:
        kind = NodeType.FUNCTION if domain is Domain.CODE else NodeType.SESSION
        made = nodes.insert(
            self.database, [Node(id=n, domain=domain, type=kind, scope=scope) for n in names], embedded=(), now=0
        )
        self.keys |= dict(zip(names, made, strict=True))
        self.graph.add((domain.value, scope), made)

    def edge(self, *pairs: str, kind: EdgeType = CALLS, weight: float = 1.0) -> list[int]:
        made = edges.insert(
            self.database, [Edge(source=s, target=t, type=kind, weight=weight) for s, t in pairs], now=0
        )
        self.graph.connect(made)
        return [each.id for each in made]

    def names(self, keys: object) -> str:
        by_key = {key: name for name, key in self.keys.items()}
        return "".join(by_key[key] for key in keys)  # type: ignore[attr-defined]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_neighbours_come_by_distance_and_depth(world: World) -> None:
    world.node(*"abcde")
    world.edge("ab", "bc", "cd", "ea")
    key = world.keys["a"]
    assert world.names(world.graph.neighbours(key)) == "be"
    assert world.names(world.graph.neighbours(key, depth=2)) == "bec"
    assert world.names(world.graph.neighbours(key, depth=9, direction="out")) == "bcd"
    assert world.names(world.graph.neighbours(key, depth=9, limit=2)) == "be"
    assert list(world.graph.neighbours(key, depth=3).values()) == [1, 1, 2, 3]


def test_only_edges_of_the_wanted_types_are_walked(world: World) -> None:
    world.node(*"abc")
    world.edge("ab")
    world.edge("ac", kind=IMPORTS)
    assert world.names(world.graph.neighbours(world.keys["a"], types=[IMPORTS])) == "c"


def test_a_cycle_ends_every_walk(world: World) -> None:
    world.node(*"abc")
    world.edge("ab", "bc", "ca", "aa")
    key = world.keys["a"]
    assert world.names(k for k, _ in world.graph.breadth_first(key)) == "abc"
    assert world.names(k for k, _ in world.graph.depth_first(key)) == "abc"
    assert world.names(world.graph.component(key)) == "abc"
    assert [world.names(group) for group in world.graph.cycles()] == ["abc"]


def test_a_node_that_leads_to_itself_is_a_cycle(world: World) -> None:
    world.node(*"ab")
    world.edge("ab", "bb")
    assert [world.names(group) for group in world.graph.cycles()] == ["b"]
    assert world.graph.cycles(types=[IMPORTS]) == []


def test_depth_first_goes_down_before_it_goes_on(world: World) -> None:
    world.node(*"abcd")
    world.edge("ab", "ac", "bd")
    assert world.names(k for k, _ in world.graph.depth_first(world.keys["a"])) == "abdc"
    assert world.names(k for k, _ in world.graph.breadth_first(world.keys["a"])) == "abcd"


def test_the_shortest_path_takes_the_heavier_of_two(world: World) -> None:
    world.node(*"abcd")
    world.edge("ab", "bd", weight=0.5)
    world.edge("ac", "cd", weight=0.9)
    found = world.graph.shortest_path(world.keys["a"], world.keys["d"])
    assert found is not None
    assert world.names(found.keys) == "acd"
    assert found.weight == pytest.approx(0.81)
    assert len(found.edges) == 2
    assert world.graph.shortest_path(world.keys["d"], world.keys["a"]) is None
    assert world.graph.shortest_path(world.keys["d"], world.keys["a"], direction="in") is not None


def test_paths_obey_their_constraints(world: World) -> None:
    world.node(*"abcde")
    world.edge("ab", "be", weight=0.5)
    world.edge("ac", "ce", "cd", "de", weight=0.8)
    start, end = world.keys["a"], world.keys["e"]

    def found(**constraints: object) -> list[str]:
        paths = world.graph.find_paths(start, end, PathConstraints(**constraints))  # type: ignore[arg-type]
        return [world.names(path.keys) for path in paths]

    assert found() == ["ace", "acde", "abe"]
    assert found(max_length=2) == ["ace", "abe"]
    assert found(min_weight=0.5) == ["ace", "acde"]
    assert found(avoid=frozenset({world.keys["c"]})) == ["abe"]
    assert found(through=frozenset({world.keys["d"]})) == ["acde"]
    assert found(limit=1) == ["ace"]
    assert found(types=frozenset({IMPORTS})) == []


def test_a_path_that_was_found_is_found_anew_after_a_change(world: World) -> None:
    world.node(*"abc")
    world.edge("ab", "bc")
    start, end = world.keys["a"], world.keys["c"]
    assert world.names(world.graph.shortest_path(start, end).keys) == "abc"  # type: ignore[union-attr]
    [direct] = world.edge("ac")
    assert world.names(world.graph.shortest_path(start, end).keys) == "ac"  # type: ignore[union-attr]
    edges.delete(world.database, [direct])
    world.graph.disconnect([direct])
    assert world.names(world.graph.shortest_path(start, end).keys) == "abc"  # type: ignore[union-attr]


def test_only_the_scopes_that_are_joined_are_loaded(world: World) -> None:
    world.node("a", scope="one")
    world.node("b", scope="two")
    world.node("s", scope="session", domain=Domain.HISTORY)
    world.edge("sa", kind=MODIFIED)
    fresh = Graph(world.database)
    assert world.names(fresh.neighbours(world.keys["a"])) == "s"
    assert fresh.size == (2, 1)
    fresh.load_all()
    assert fresh.size == (3, 1)


def test_an_edge_into_a_scope_that_is_not_loaded_loads_it(world: World) -> None:
    world.node("a", scope="one")
    world.node("b", scope="two")
    world.graph.within(world.keys["a"])
    world.edge("ab")
    assert world.names(world.graph.neighbours(world.keys["a"])) == "b"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("+-x"), st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=40))
def test_kept_in_step_is_the_same_as_loaded_anew(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, str, str]]
) -> None:
    world = World(tmp_path_factory.mktemp("graph"))
    world.node(*"abcdef")
    world.graph.load_all()
    for what, one, other in changes:
        if what == "+" and one in world.keys and other in world.keys:
            world.edge(one + other)
        elif what == "-" and (gone := edges.between(world.database, one, other)):
            edges.delete(world.database, [gone[0].id])
            world.graph.disconnect([gone[0].id])
        elif what == "x" and len(world.keys) > 2 and one in world.keys:
            key = world.keys.pop(one)
            nodes.delete(world.database, [key])
            world.graph.remove([key])
    fresh = Graph(world.database)
    fresh.load_all()
    assert world.graph.size == fresh.size
    for one, other in itertools.permutations(world.keys.values(), 2):
        ours, theirs = world.graph.shortest_path(one, other), fresh.shortest_path(one, other)
        assert (ours and len(ours.keys)) == (theirs and len(theirs.keys))
    for key in world.keys.values():
        assert world.graph.neighbours(key, depth=3) == fresh.neighbours(key, depth=3)
    world.database.close()


def test_depth_first_finds_all_within_the_depth(world: World) -> None:
    world.node(*"abcd")
    world.edge("ab", "bc", "cd", "ac")
    found = world.graph.depth_first(world.keys["a"], max_depth=2)
    assert sorted(world.names(k for k, _ in found)) == ["a", "b", "c", "d"]
