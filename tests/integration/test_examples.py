"""The examples are jobs that a newcomer runs first."""

from __future__ import annotations

from pathlib import Path

import pytest

from sylk_ray.jobs import load_job_file

EXAMPLES = Path(__file__).parents[2] / "examples"
JOBS = sorted(EXAMPLES.glob("*.yaml"))


@pytest.mark.parametrize("path", JOBS, ids=[path.stem for path in JOBS])
def test_every_example_is_a_sound_job(path: Path) -> None:
    job = load_job_file(path)

    assert job.name == path.stem
    assert job.description


@pytest.mark.parametrize("path", JOBS, ids=[path.stem for path in JOBS])
def test_the_readme_tells_of_every_example(path: Path) -> None:
    assert f"({path.name})" in (EXAMPLES / "README.md").read_text()


def test_the_demo_has_what_it_promises_to_show() -> None:
    job = load_job_file(EXAMPLES / "modernise.yaml")

    at_once = [task for task in job.tasks.values() if not task.depends_on]
    assert len(job.tasks) >= 5
    assert len(at_once) >= 3
    assert job.policy.max_concurrency >= 3
    assert sum(bool(task.on_feedback) for task in job.tasks.values()) == 2
    assert all(task.tester for task in job.tasks.values())
