"""``sylk plan``, against a gateway that says what the test wants."""

from __future__ import annotations

import getpass
import json

import msgspec
import pytest

from sylk_ray.sessions.records import TaskRecord

from ..gateway.fake_gateway import a_record

WHO = getpass.getuser()


@pytest.fixture
def job(gateway):
    tasks = {"a": TaskRecord("a", "running", phase="testing"), "b": TaskRecord("b", "skipped", reason="no time")}
    record = msgspec.structs.replace(a_record(), tasks=tasks)
    for path in ("adjust", "plan", "changes", "tasks/b/retry", "tasks/b/skip"):
        gateway.replies["POST", f"/jobs/j-1/{path}"] = record
    gateway.replies["GET", "/jobs/j-1"] = record
    return gateway


@pytest.mark.parametrize(
    ("arguments", "path", "adjustments"),
    [
        (
            ["add", "j-1", "c", "--prompt", "do {{ it }}", "--after", "a, b", "--criterion", "it is done"],
            "adjust",
            [
                {
                    "type": "add_node",
                    "node_id": "c",
                    "details": {
                        "literal": True,
                        "prompt": "do {{ it }}",
                        "priority": "normal",
                        "criteria": ["it is done"],
                        "depends_on": ["a", "b"],
                    },
                }
            ],
        ),
        (
            ["set", "j-1", "b", "--after", "", "--priority", "high"],
            "adjust",
            [
                {"type": "change_deps", "node_id": "b", "details": {"depends_on": []}},
                {"type": "reprioritize", "node_id": "b", "details": {"priority": "high"}},
            ],
        ),
        (["remove", "j-1", "b"], "adjust", [{"type": "remove_node", "node_id": "b", "details": {}}]),
    ],
)
def test_single_changes_are_sent_and_the_tasks_shown(sylk, job, arguments, path, adjustments):
    code, output, _ = sylk("plan", *arguments, "--why", "because")
    assert code == 0
    assert job.heard_of(f"/jobs/j-1/{path}") == [{"adjustments": adjustments, "why": "because", "who": WHO}]
    assert "  a: testing\n  b: skipped (no time)\n" in output


def test_retry_skip_and_a_wish_in_words(sylk, job):
    assert "b is tried again" in sylk("plan", "retry", "j-1", "b")[1]
    assert "goes on without b" in sylk("plan", "skip", "j-1", "b", "--why", "no time")[1]
    assert "the Architect thinks about it" in sylk("plan", "ask", "j-1", "docs as well")[1]
    assert job.heard_of("/jobs/j-1/tasks/b/skip") == [{"who": WHO, "why": "no time"}]
    assert job.heard_of("/jobs/j-1/changes") == [{"why": "docs as well", "who": WHO}]


def test_many_changes_come_from_a_file_and_another_plan_from_a_job_file(sylk, job, tmp_path):
    file = tmp_path / "changes.yaml"
    file.write_text("- {type: remove_node, node_id: b}\n")
    assert sylk("plan", "adjust", "j-1", file)[0] == 0
    assert job.heard_of("/jobs/j-1/adjust")[0]["adjustments"] == [{"type": "remove_node", "node_id": "b"}]
    file.write_text("name: j\n")
    assert sylk("plan", "replace", "j-1", file, "--strategy", "replace")[0] == 0
    (told,) = job.heard_of("/jobs/j-1/plan")
    assert (told["job"], told["source"], told["strategy"]) == ("name: j\n", str(file), "replace")


@pytest.mark.parametrize(
    ("content", "told"), [("{a: [", "is no YAML"), ("a: 1", "no list of changes"), (None, "cannot be read")]
)
def test_a_file_that_lists_no_changes_ends_with_2(sylk, job, tmp_path, content, told):
    file = tmp_path / "changes.yaml"
    if content is not None:
        file.write_text(content)
    code, output, errors = sylk("plan", "adjust", "j-1", file)
    assert (code, output, told in errors) == (2, "", True)
    assert job.heard_of("/jobs/j-1/adjust") == []


def test_a_change_that_says_nothing_ends_with_2(sylk, job):
    assert sylk("plan", "set", "j-1", "b")[0] == 2


def test_programs_get_the_record(sylk, job):
    assert list(json.loads(sylk("plan", "show", "j-1", "--json")[1])["tasks"]) == ["a", "b"]
    assert json.loads(sylk("plan", "retry", "j-1", "b", "--json")[1])["job_id"] == "j-1"
