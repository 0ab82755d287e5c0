"""What a Tester can do when it is asked to."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec

from actors.skills.bench import bench, latest_by_task
from actors.skills.looking import LOOKING
from actors.task_views import describe_covered, describe_results
from sylk_ray.errors import InputError
from sylk_ray.jobs import Job
from sylk_ray.skills import skill
from sylk_ray.speech import Heard, SkillCall
from sylk_ray.speech.receivers import MAIN
from sylk_ray.tools import TestReport
from sylk_ray.tools import run_tests as run_declared
from sylk_ray.tools.specs import Testing

Call = SkillCall[Any]

SHOWN = 20
DEFAULT = "pytest -q"


@skill(domain="testing", keywords=["run tests", "run the tests", "execute tests"], tier="core")
async def run_tests(ctx: Call, path: str = "", verbose: bool = False) -> Heard:
    """Run the tests that the job declares, or pytest where it declares none.

    Args:
        path: Only these tests: added to the command.
        verbose: With the end of their output.
    """
    async with bench(ctx.ctx, "tester") as here:
        testing = _declared(here.job, ctx.address.name)
        command = testing.run if isinstance(testing.run, str) else shlex.join(testing.run)
        if path:
            if path.startswith("-"):
                raise InputError(f"{path} is an option, and no path", hint="say which tests, by their path")
            testing = testing.model_copy(update={"run": f"{command} {shlex.quote(path)}"})
        report = await run_declared(testing, here.tools)
    return _told(report, verbose)


@skill(domain="testing", keywords=["results", "tests", "passed", "failed"], tier="core", only_looks=True)
async def get_results(ctx: Call) -> Heard:
    """Tell how the tests of this session have gone, each task's latest."""
    reports = await latest_by_task(ctx.ctx, "tester.report")
    return describe_results({task: event for task, event in reports.items() if ctx.address.name in (MAIN, task)})


@skill(domain="testing", keywords=["coverage", "covered", "untested lines"], tier="domain", only_looks=True)
async def coverage_report(ctx: Call) -> Heard:
    """Tell which of the changed statements the tests of this session have run, each task's latest."""
    reports = await latest_by_task(ctx.ctx, "tester.report")
    return describe_covered({task: event for task, event in reports.items() if ctx.address.name in (MAIN, task)})


def _declared(job: Job | None, task: str) -> Testing:
    """The task's own; those at the job's end; the first that any task declares."""
    if job is None:
        return Testing(run=DEFAULT)
    own = job.tasks[task].tester if task in job.tasks else None
    finale = job.finally_.tester if job.finally_ is not None else None
    first = next((each.tester for each in job.tasks.values() if each.tester is not None), None)
    return own or finale or first or Testing(run=DEFAULT)


def _told(report: TestReport, verbose: bool) -> Heard:
    outcome = "passed" if report.passed else "failed"
    lines = [f"the tests {outcome}: {report.tests_run} run, {len(report.failures)} failed, {report.duration_s:.1f} s"]
    lines += [
        f"  {each.test or 'tests'}: {each.message.splitlines()[0]}" for each in report.failures[:SHOWN] if each.message
    ]
    if verbose and report.output.strip():
        lines += ["", report.output.rstrip()]
    return Heard("\n".join(lines), msgspec.to_builtins(report))


TESTER_SKILLS = (*LOOKING, run_tests, get_results, coverage_report)
