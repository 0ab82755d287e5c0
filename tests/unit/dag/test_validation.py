from __future__ import annotations

import pickle

import pytest

from sylk_ray.dag import Graph, InvalidGraph, Node, Policy, ProblemKind, Retry, check, layers, validate
from sylk_ray.errors import InputError


def node(name: str, *depends_on: str, role: str = "pipeline") -> Node:
    return Node(name, role, depends_on)


def found(*nodes: Node, roles: set[str] | None = None) -> list[tuple[str, str, str]]:
    return [(problem.kind.value, problem.node, problem.dependency) for problem in validate(nodes, roles)]


def test_a_sound_graph_has_no_problems():
    assert validate([node("a"), node("b", "a"), node("c", "a", "b")], {"pipeline"}) == []


@pytest.mark.parametrize("name", ["", "A", "a-b", "1a", "_a", "a b", "é", "a\n"])
def test_a_name_that_is_not_snake_case_is_a_problem(name: str):
    assert found(node(name)) == [("bad_name", name, "")]


def test_every_problem_is_reported_at_once():
    problems = found(
        node("a", "a"),
        node("b", "bee", "c", "c"),
        node("c", "b", role="pipelin"),
        node("c"),
        node("Bad"),
        roles={"pipeline"},
    )
    assert problems == [
        ("duplicate_name", "c", ""),
        ("bad_name", "Bad", ""),
        ("self_dependency", "a", "a"),
        ("missing_dependency", "b", "bee"),
        ("repeated_dependency", "b", "c"),
        ("unknown_role", "c", ""),
    ]


def test_a_missing_dependency_and_an_unknown_role_name_the_nearest():
    nodes = [node("create_dashboard"), node("b", "create_dashbord", role="pipline")]
    problems = validate(nodes, ["engineer", "pipeline"])
    assert [problem.hint for problem in problems if problem.node == "b"] == [
        'did you mean "pipeline"?',
        'did you mean "create_dashboard"?',
    ]


def test_each_cycle_is_shown_with_its_path():
    problems = validate(
        [node("a", "b"), node("b", "a"), node("x"), node("p", "r"), node("q", "p"), node("r", "q", "x")],
    )
    assert [problem.kind for problem in problems] == [ProblemKind.CYCLE, ProblemKind.CYCLE]
    assert problems[0].message.endswith("a -> b -> a")
    assert problems[1].message.endswith("p -> r -> q -> p")
    assert 'depends_on of "a"' in problems[0].hint


def test_a_cycle_is_the_shortest_of_its_component():
    problems = validate([node("a", "b", "c"), node("b", "c"), node("c", "d"), node("d", "a")])
    assert [problem.message.rpartition(": ")[2] for problem in problems] == ["a -> c -> d -> a"]


def test_a_chain_of_ten_thousand_and_its_cycle_are_handled():
    chain = [node("n0"), *(node(f"n{i}", f"n{i - 1}") for i in range(1, 10_000))]
    assert len(layers(Graph(tuple(chain)))) == 10_000
    assert [problem.kind for problem in validate([node("n0", "n9999"), *chain[1:]])] == [ProblemKind.CYCLE]


def test_layers_follow_the_dependencies_in_declaration_order():
    graph = Graph((node("d", "b", "c"), node("c", "a"), node("a"), node("b", "a"), node("e")))
    assert layers(graph) == (("a", "e"), ("c", "b"), ("d",))
    assert layers(Graph(())) == ()


def test_check_raises_every_problem_in_one_error_that_pickles():
    with pytest.raises(InvalidGraph, match=r"does not exist; .* circle") as raised:
        check(Graph((node("a", "b"), node("b", "a", "z"))))
    assert isinstance(pickle.loads(pickle.dumps(raised.value)), InvalidGraph)


@pytest.mark.parametrize(
    "settings",
    [{"attempts": -1}, {"base_s": -1}, {"factor": 0.5}, {"jitter": 2}, {"max_s": float("nan")}],
)
def test_a_retry_without_sense_is_refused(settings: dict[str, float]):
    with pytest.raises(InputError):
        Retry(**settings)


def test_a_policy_needs_a_slot():
    with pytest.raises(InputError, match="max_concurrency"):
        Policy(max_concurrency=0)
