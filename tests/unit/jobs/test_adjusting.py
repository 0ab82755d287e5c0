from __future__ import annotations

import pytest

from sylk_ray.dag import layers
from sylk_ray.jobs import Adjustment, CannotAdjust, adjusted, graph_of, load_job, merged

JOB = load_job(
    """
name: j
tasks:
  a: {engineer: [{run: "true"}]}
  b: {engineer: [{run: "true"}], depends_on: [a], priority: low}
  c: {prompt: do it, depends_on: [a, b]}
""",
    source="job.yaml",
)
TRUE = {"engineer": [{"run": "true"}]}


def change(type_: str, name: str, **details: object) -> Adjustment:
    return Adjustment(type_, name, details)  # type: ignore[arg-type]


def test_tasks_are_added_removed_changed_rewired_and_put_first():
    job = adjusted(
        JOB,
        [
            change("add_node", "d", **TRUE, depends_on=["a"]),
            change("remove_node", "b"),
            change("modify_node", "c", prompt="do it well"),
            change("change_deps", "c", depends_on=["d"]),
            change("reprioritize", "c", priority="critical"),
        ],
    )
    assert list(job.tasks) == ["a", "c", "d"]
    assert layers(graph_of(job)) == (("a",), ("d",), ("c",))
    assert (job.tasks["c"].prompt, job.tasks["c"].priority) == ("do it well", "critical")
    assert job.tasks["a"] == JOB.tasks["a"]


def test_only_the_end_has_to_be_sound():
    """Two that change places would be a circle in between."""
    job = adjusted(JOB, [change("change_deps", "a", depends_on=["b"]), change("change_deps", "b", depends_on=[])])
    assert layers(graph_of(job)) == (("b",), ("a",), ("c",))


def test_a_removed_task_is_waited_for_by_nobody():
    assert adjusted(JOB, [change("remove_node", "a")]).tasks["c"].depends_on == ("b",)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([change("add_node", "a", **TRUE)], "there is a task"),
        ([change("add_node", "e")], "action"),
        ([change("add_node", "e", **TRUE, depends_on=["nobody"])], "does not exist"),
        ([change("change_deps", "a", depends_on=["c"])], "circle"),
        ([change("modify_node", "bb", prompt="x")], "there is no task"),
        ([change("modify_node", "b")], "says nothing"),
        ([change("modify_node", "b", promt="x")], "does not take"),
        ([change("reprioritize", "b", priority="soon")], "priority"),
        ([change("explode", "b")], "there is no change"),
        ([change("remove_node", name) for name in "cba"], "needs a task"),
        ([change("add_node", "Bad Name", **TRUE)], "snake_case"),
    ],
)
def test_what_would_not_be_sound_is_refused_with_the_reason(changes, told):
    with pytest.raises(CannotAdjust, match=told):
        adjusted(JOB, changes)


def test_another_plan_leaves_what_has_begun_as_it_was():
    plan = adjusted(JOB, [change("modify_node", "a", description="new"), change("modify_node", "b", description="new")])
    job = merged(JOB, adjusted(plan, [change("remove_node", "c")]), begun={"a", "c"})
    assert {name: task.description for name, task in job.tasks.items()} == {"a": "", "c": "", "b": "new"}


def test_a_changed_job_survives_its_json():
    job = adjusted(JOB, [change("add_node", "d", **TRUE)])
    assert type(job).model_validate_json(job.model_dump_json()) == job
