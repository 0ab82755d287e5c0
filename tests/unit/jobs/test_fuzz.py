"""Whatever the text, a job is loaded or its problems are told: nothing else is raised."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sylk_ray.jobs import Job, JobProblems, load_job

WORDS = [
    "name", "tasks", "vars", "engineer", "run", "edit", "rewrite", "delete", "kind", "inspector",
    "tools", "ruff", "depends_on", "a", "b", "finally", "tester", "policy", "retries", "path", "old",
    "new", "command", "<<", "on", "1", "1.5", "~", "true", "!!int", "!!binary", "!x", "&a", "*a", "&b",
    "*b", "- ", "? ", ": ", "\n", "\n  ", "\n    ", "{", "}", "[", "]", ",", "\"", "'", "|", ">", "#",
    "---", "...", "%YAML 1.1\n", "\t", "\\x", "\\U99999999",
]  # fmt: skip


def load(text: str) -> None:
    try:
        job = load_job(text, source="f", variables={"a": "1"})
    except JobProblems as error:
        told = [error.message, *(problem.message for problem in error.problems)]
    else:
        told = ["fine"]
        assert Job.model_validate_json(job.model_dump_json()) == job
    assert told[1:] or told == ["fine"]
    assert all(told)


@settings(max_examples=300, deadline=None)
@given(st.text())
@example("%YAML 9999.1\n---\na")
@example('"\\UFFFFFFFF"')
@example("&a [*a]")
@example("a: &a {<<: *a}")
@example("<<: [[]]")
@example("? &a [*a]\n: b")
def test_any_text(text: str):
    load(text)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(WORDS), max_size=40).map("".join))
def test_any_soup_of_yaml(text: str):
    load(text)


def values() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
        max_leaves=15,
    )


def mutated(value: Any, draw: st.DataObject) -> Any:
    """The value with one part of it replaced, removed or added to."""
    if isinstance(value, dict) and value and draw.draw(st.integers(0, 5)):
        key = draw.draw(st.sampled_from(sorted(value)))
        return {**value, key: mutated(value[key], draw)}
    if isinstance(value, list) and value and draw.draw(st.integers(0, 5)):
        index = draw.draw(st.integers(0, len(value) - 1))
        return [*value[:index], mutated(value[index], draw), *value[index + 1 :]]
    return draw.draw(values())


VALID: dict[str, Any] = {
    "name": "a",
    "vars": {"a": "x"},
    "tasks": {
        "one": {
            "engineer": [
                {"run": "make"},
                {"edit": {"path": "a", "old": "b", "new": "c"}},
                {"rewrite": {"language": "python", "files": ["a"], "rule": {"kind": "x"}, "to": "y"}},
            ],
            "inspector": {"tools": ["ruff", {"name": "e", "run": "e"}], "forbid": ["x"]},
            "tester": "pytest",
        },
        "two": {"depends_on": ["one"], "engineer": [{"kind": "run", "command": ["make"]}], "retries": 1},
    },
    "finally": {"tester": {"run": "pytest"}},
    "policy": {"retries": 1, "timeout_s": 3.5},
    "sandbox": {"network": False},
}


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_change_to_a_valid_job(draw: st.DataObject):
    value = VALID
    for _ in range(draw.draw(st.integers(0, 3))):
        value = mutated(value, draw)
    load(json.dumps(value, ensure_ascii=draw.draw(st.booleans())))
