from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from sylk_ray.dag import Policy, Retry, layers
from sylk_ray.jobs import Job, graph_of, job_schema, load_job, load_job_file
from sylk_ray.jobs.document import read_document
from sylk_ray.tools import specs
from sylk_ray.tools.specs import Check, Delete, Edit, Patch, Rewrite, Run, Write

FULL = """
name: modernise-it
description: everything
repo: project
vars: {version: 1.10, on: off, name: "x"}
tasks:
  use_pathlib:
    description: no os.path
    engineer:
      - rewrite:
          {language: python, files: "src/**/*.py", pattern: "os.path.join($A, $B)", to: "Path($A) / $B"}
      - rewrite: {language: python, files: [a, b], rule: {kind: call, has: {pattern: f}}, to: ""}
      - run: ruff check --fix src
      - run: [ruff, check]
      - run: {command: [ruff, check], timeout_s: 30}
      - edit: {path: a, old: b, new: c}
      - delete: path/to/file
      - write: {path: CHANGES.md, content: "..."}
      - patch: {diff: "--- a"}
      - {kind: run, command: make}
    on_feedback: [run: ruff check --fix src]
    inspector:
      tools: [ruff, {name: mypy, arguments: [--strict]}, {name: eslint, run: "npx eslint {files}"}]
      forbid: ["*.lock"]
      max_changed_lines: 500
    tester: pytest -q
    max_loops: 1
    timeout_s: 60
    retries: 2
  changelog:
    depends_on: [use_pathlib]
    prompt: kept for later
    engineer: [run: make]
    tester: {run: [pytest, -q], timeout_s: 5}
finally:
  inspector: {tools: [ruff]}
  tester: [pytest]
policy: {max_concurrency: 2, on_failure: continue_on_failure, retries: 1, retry_delay_s: 90, timeout_s: 120}
limits: {memory_mb: 512}
sandbox: {network: true, env: [HOME]}
"""

SMALL = "name: a\nvars: {v: one}\ntasks: {t: {engineer: [run: make]}}\n"


def load(text: str, **variables: str) -> Job:
    return load_job(text, source="job.yaml", variables=variables)


def test_the_short_forms_stand_for_the_long_ones():
    task = load(FULL).tasks["use_pathlib"]
    assert [type(action) for action in task.engineer] == [
        Rewrite, Rewrite, Run, Run, Run, Edit, Delete, Write, Patch, Run,
    ]  # fmt: skip
    assert task.engineer[2:5] == (
        Run(command="ruff check --fix src"),
        Run(command=("ruff", "check")),
        Run(command=("ruff", "check"), timeout_s=30),
    )
    assert task.engineer[6] == Delete(path="path/to/file")
    assert task.on_feedback == (Run(command="ruff check --fix src"),)
    assert task.inspector is not None
    assert task.inspector.tools[0] == Check(name="ruff")
    assert task.tester == specs.Testing(run="pytest -q")


def test_the_rest_of_a_full_job():
    job = load(FULL)
    assert job.finally_ is not None
    assert job.finally_.tester == specs.Testing(run=("pytest",))
    assert (job.policy.max_loops, job.limits.memory_mb, job.sandbox.network) == (3, 512, True)


def test_a_job_survives_json():
    job = load(FULL)
    encoded = job.model_dump_json()
    assert '"finally":' in encoded
    assert Job.model_validate_json(encoded) == job
    assert load_job(encoded, source="job.json") == job


def test_a_job_given_as_data_is_checked_as_a_graph_too():
    data = {"name": "a", "tasks": {"t": {"depends_on": ["u"], "engineer": [{"run": "make"}]}}}
    with pytest.raises(ValidationError, match="does not exist"):
        Job.model_validate(data)


def test_the_schema_accepts_what_people_write_and_what_is_stored():
    schema = job_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    written = read_document(FULL.replace("1.10", '"1.10"'), "f").data
    stored = load(FULL).model_dump(mode="json")
    assert list(validator.iter_errors(written)) == []
    assert list(validator.iter_errors(stored)) == []
    assert list(validator.iter_errors({**written, "colour": "red"})) != []


def test_variables_are_the_text_that_was_written_and_can_be_set():
    assert load(FULL).vars == {"version": "1.10", "on": "off", "name": "x"}
    assert load(FULL, version="2").vars["version"] == "2"


def test_words_mean_what_they_look_like():
    data = read_document(
        ("a: on\nb: 12:30\nc: 0777\nd: 2020-01-02\ne: true\nf: 1e3\ng: ~\nh: '1'\ni: -5\nj: 1e999\nk: !!str 5\n1: x\n"),
        "f",
    ).data
    assert data == {
        "a": "on", "b": "12:30", "c": "0777", "d": "2020-01-02", "e": True, "f": 1000.0, "g": None, "h": "1",
        "i": -5, "j": "1e999", "k": "5", "1": "x",
    }  # fmt: skip


def test_anchors_and_merges_work():
    text = """
name: a
tasks:
  one: &one
    engineer: &actions
      - run: make
    retries: 1
    max_loops: 1
  two:
    retries: 2
    <<: *one
    max_loops: 2
  three: {engineer: *actions}
"""
    tasks = load(text).tasks
    assert (tasks["two"].retries, tasks["two"].max_loops) == (2, 2)
    assert tasks["one"].engineer == tasks["two"].engineer == tasks["three"].engineer


def test_the_graph_of_a_job():
    graph = graph_of(load(FULL))
    assert layers(graph) == (("use_pathlib",), ("changelog",))
    first, second = graph.nodes
    assert (first.role, first.timeout_s, first.metadata) == ("pipeline", 60, {"description": "no os.path"})
    assert first.retry == Retry(attempts=2, base_s=90, max_s=90)
    assert second.retry is None
    assert graph.policy == Policy(
        max_concurrency=2,
        on_failure="continue_on_failure",
        retry=Retry(attempts=1, base_s=90, max_s=90),
        timeout_s=120,
    )


def test_the_repo_is_relative_to_the_job_file(tmp_path: Path):
    path = tmp_path / "jobs" / "job.yaml"
    path.parent.mkdir()
    path.write_text("\ufeff" + SMALL + "repo: ../project\n", encoding="utf-8")
    assert load_job_file(path).repo == str(tmp_path / "project")
    assert load_job_file(path, repo=tmp_path / "other").repo == str(tmp_path / "other")
    assert load_job_file(path, variables={"v": "two"}).vars == {"v": "two"}


@pytest.mark.timeout(30)
def test_thousands_of_tasks_load():
    lines = [f"  t{i}: {{engineer: [run: make], depends_on: [t{i - 1}]}}" for i in range(1, 3000)]
    job = load("name: a\ntasks:\n  t0: {engineer: [run: make]}\n" + "\n".join(lines))
    assert len(graph_of(job).nodes) == 3000
