"""Which roles of a task think, and that a job whose roles do needs a model."""

from __future__ import annotations

import pytest

from sylk_ray.config import Model, Settings
from sylk_ray.jobs import Job, ModelNeeded, check_models, graph_of, load_job


def job_of(task: str, more: str = "") -> Job:
    return load_job(f"name: j\ntasks:\n  t: {task}\n{more}", source="job.yaml")


@pytest.mark.parametrize(
    ("task", "thinks"),
    [
        ("{prompt: do it}", ("engineer", "inspector", "tester")),
        ("{prompt: do it, tester: pytest}", ("engineer", "inspector")),
        ("{prompt: do it, tester: pytest, write_tests: true}", ("engineer", "inspector", "tester")),
        ("{prompt: do it, review: false, write_tests: false}", ("engineer",)),
        ("{prompt: said for people, engineer: [run: make]}", ()),
        ("{engineer: [run: make], review: true}", ("inspector",)),
        ("{engineer: [run: make], write_tests: true}", ("tester",)),
        ("{engineer: [run: make]}", ()),
    ],
)
def test_roles_think_where_nothing_is_declared_for_them(task, thinks):
    assert job_of(task).tasks["t"].thinks == thinks
    assert Job.model_validate_json(job_of(task).model_dump_json()).tasks["t"].thinks == thinks


@pytest.mark.parametrize("task", ["{prompt: do it}", "{engineer: [run: make], review: true}"])
def test_a_job_that_thinks_needs_a_model(task, tmp_path):
    with pytest.raises(ModelNeeded, match=r"t: .* needs a model, and none is configured") as raised:
        check_models(job_of(task), Settings(home=tmp_path))
    assert raised.value.exit_code == 2
    check_models(job_of(task), Settings(home=tmp_path, models={"m": Model(model="x")}))


def test_so_does_a_review_of_the_whole(tmp_path):
    with pytest.raises(ModelNeeded, match="finally"):
        check_models(job_of("{engineer: [run: make]}", "finally: {review: true}\n"), Settings(home=tmp_path))


def test_one_that_does_not_needs_none(tmp_path):
    check_models(job_of("{engineer: [run: make]}"), Settings(home=tmp_path))


def test_a_task_that_thinks_has_more_time():
    graph = graph_of(job_of("{prompt: do it}"))
    assert graph.timeout_of(graph.nodes[0]) == 3600
    graph = graph_of(job_of("{prompt: do it, timeout_s: 5}"))
    assert graph.timeout_of(graph.nodes[0]) == 5
    graph = graph_of(job_of("{prompt: do it}", "policy: {timeout_s: 50}\n"))
    assert graph.timeout_of(graph.nodes[0]) == 50
    graph = graph_of(job_of("{engineer: [run: make]}"))
    assert graph.timeout_of(graph.nodes[0]) == 600


def test_an_empty_prompt_is_none():
    with pytest.raises(Exception, match="prompt"):
        job_of("{prompt: ' '}")
