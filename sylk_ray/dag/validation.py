"""Whether nodes make a sound graph: every problem at once, each with the name that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from sylk_ray.dag.cycles import cycles
from sylk_ray.dag.model import Graph, Node
from sylk_ray.dag.nearest import did_you_mean
from sylk_ray.errors import InputError

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_HINTED = 50
"""How many problems get a nearest name: finding one compares with every known name."""


class ProblemKind(StrEnum):
    BAD_NAME = "bad_name"
    DUPLICATE_NAME = "duplicate_name"
    UNKNOWN_ROLE = "unknown_role"
    MISSING_DEPENDENCY = "missing_dependency"
    REPEATED_DEPENDENCY = "repeated_dependency"
    SELF_DEPENDENCY = "self_dependency"
    CYCLE = "cycle"


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with one node; ``dependency`` is the entry of depends_on it is about."""

    kind: ProblemKind
    node: str
    message: str
    hint: str = ""
    dependency: str = ""


class InvalidGraph(InputError):
    """The nodes do not make a graph that can be run."""

    code = "invalid_graph"


def validate(nodes: Sequence[Node], known_roles: Collection[str] | None = None) -> list[Problem]:
    """Every problem, in declaration order and the cycles last; ``known_roles=None`` accepts any role."""
    names = [node.name for node in nodes]
    hints = _Hints()
    problems = list(_name_problems(names))
    known = set(names)
    for node in nodes:
        if known_roles is not None and node.role not in known_roles:
            problems.append(
                Problem(
                    ProblemKind.UNKNOWN_ROLE,
                    node.name,
                    f'"{node.name}" is for the role "{node.role}", which is not known',
                    hints.near(node.role, known_roles),
                ),
            )
        problems.extend(_dependency_problems(node, known, names, hints))
    problems.extend(_cycle_problems(nodes))
    return problems


def check(graph: Graph, known_roles: Collection[str] | None = None) -> None:
    """Raise InvalidGraph, with every problem in its message, unless the graph is sound."""
    problems = validate(graph.nodes, known_roles)
    if problems:
        raise InvalidGraph(
            "the graph cannot be run: " + "; ".join(problem.message for problem in problems),
            hint=next((problem.hint for problem in problems if problem.hint), ""),
        )


class _Hints:
    """Hands out nearest names until the budget is spent."""

    def __init__(self) -> None:
        self._left = _HINTED

    def near(self, name: str, known: Iterable[str]) -> str:
        self._left -= 1
        return did_you_mean(name, known) if self._left >= 0 else ""


def _name_problems(names: Sequence[str]) -> Iterator[Problem]:
    seen: set[str] = set()
    for name in names:
        if not _NAME.fullmatch(name):
            yield Problem(
                ProblemKind.BAD_NAME,
                name,
                f'"{name}" is not a snake_case name',
                "use lower-case letters, digits and _, starting with a letter",
            )
        if name in seen:
            yield Problem(ProblemKind.DUPLICATE_NAME, name, f'two nodes are named "{name}"', "rename one of them")
        seen.add(name)


def _dependency_problems(
    node: Node,
    known: Collection[str],
    names: Sequence[str],
    hints: _Hints,
) -> Iterator[Problem]:
    seen: set[str] = set()
    for dependency in node.depends_on:
        if dependency in seen:
            kind, message, hint = (
                ProblemKind.REPEATED_DEPENDENCY,
                f'"{node.name}" depends on "{dependency}" twice',
                "name it once",
            )
        elif dependency == node.name:
            kind, message, hint = (
                ProblemKind.SELF_DEPENDENCY,
                f'"{node.name}" depends on itself',
                "take its own name out of depends_on",
            )
        elif dependency not in known:
            kind, message = (
                ProblemKind.MISSING_DEPENDENCY,
                f'"{node.name}" depends on "{dependency}", which does not exist',
            )
            hint = hints.near(dependency, [name for name in names if name != node.name])
        else:
            seen.add(dependency)
            continue
        seen.add(dependency)
        yield Problem(kind, node.name, message, hint, dependency)


def _cycle_problems(nodes: Sequence[Node]) -> Iterator[Problem]:
    for path in cycles({node.name: node.depends_on for node in nodes}):
        yield Problem(
            ProblemKind.CYCLE,
            path[0],
            f"these wait for each other in a circle: {' -> '.join(path)}",
            f'take one of them out, e.g. "{path[1]}" out of the depends_on of "{path[0]}"',
            path[1],
        )
