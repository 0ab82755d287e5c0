"""Run the tests of a worktree and report what failed, test by test where the tests say so.

pytest is asked through its environment for a JUnit report, so the person's command stays as it is; whatever
leaves no report is judged by its exit code.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from pathlib import Path
from typing import ClassVar

import msgspec

from sylk_ray.tools.context import ToolContext, ending_with, limit_hit
from sylk_ray.tools.junit import JUnit, TestFailure, read_junit
from sylk_ray.tools.process import ProcessResult
from sylk_ray.tools.specs import Sandbox, Testing

_OPTIONS = "PYTEST_ADDOPTS"
_PYTEST_EXIT = {
    2: "pytest was interrupted, often by an error while it collected the tests",
    3: "pytest had an internal error",
    4: "pytest was used wrongly: an option, a path or its configuration is wrong "
    "(sylk adds --junitxml and -p no:cacheprovider, with which --lf and --ff do not work)",
    5: "no tests were collected: pytest found none, or its options deselected all",
}


class TestReport(msgspec.Struct, frozen=True):
    """How the tests went. ``tests_run`` leaves out the skipped ones; ``output`` is the end of it."""

    __test__: ClassVar[bool] = False

    passed: bool
    tests_run: int
    tests_passed: int
    tests_skipped: int
    failures: tuple[TestFailure, ...]
    exit_code: int
    duration_s: float
    output: str


async def run_tests(testing: Testing, context: ToolContext) -> TestReport:
    """Run the tests; a failing test is in the report and no error. Raises ToolMissing and CheckFailed."""
    report_path = await asyncio.to_thread(_new_report, context.private_dir)
    try:
        result = await context.run(
            testing.run,
            timeout_s=testing.timeout_s,
            env_extra={_OPTIONS: _options(report_path, context.sandbox)},
            artifact="tests",
        )
        junit = None
        if report_path.exists():
            junit = await asyncio.to_thread(read_junit, report_path, context.worktree)
    finally:
        report_path.unlink(missing_ok=True)
    failures = junit.failures if junit else ()
    problem = _problem(result, testing, context, junit)
    if problem and not failures:
        failures = (TestFailure("", "", 0, problem, "", "", ""),)
    return TestReport(
        passed=not problem and not failures,
        tests_run=junit.run if junit else 0,
        tests_passed=junit.passed if junit else 0,
        tests_skipped=junit.skipped if junit else 0,
        failures=failures,
        exit_code=result.exit_code,
        duration_s=result.duration_s,
        output=result.output,
    )


def _new_report(private_dir: Path) -> Path:
    private_dir.mkdir(parents=True, exist_ok=True)
    descriptor, path = tempfile.mkstemp(prefix="junit-", suffix=".xml", dir=private_dir)
    os.close(descriptor)
    Path(path).unlink()  # only the name: a report that exists afterwards is the tests' own
    return Path(path)


def _options(report: Path, sandbox: Sandbox) -> str:
    granted = os.environ.get(_OPTIONS, "") if _OPTIONS in sandbox.env else ""
    return f"{granted} --junitxml={shlex.quote(str(report))} -p no:cacheprovider".strip()


def _problem(result: ProcessResult, testing: Testing, context: ToolContext, junit: JUnit | None) -> str | None:
    if limit := limit_hit(result, context.limits, testing.timeout_s):
        return f"the tests were ended by {limit}{ending_with(result.output)}"
    if result.exit_code == 0:
        return None
    shown = testing.run if isinstance(testing.run, str) else shlex.join(testing.run)
    explained = f"`{shown}` ended with exit code {result.exit_code}"
    if (junit is not None or "pytest" in shown) and result.exit_code in _PYTEST_EXIT:
        explained = f"{_PYTEST_EXIT[result.exit_code]} (exit code {result.exit_code})"
    hint = f"\n{result.hint}" if result.hint else ""
    return f"{explained}{ending_with(result.output)}{hint}"
