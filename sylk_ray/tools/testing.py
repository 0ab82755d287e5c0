"""Run the tests of a worktree and report what failed, test by test where the tests say so.

pytest is asked through its environment for a JUnit report, so the person's command stays as it is; whatever
leaves no report is judged by its exit code. Which changed lines were run is measured in the same way (``coverage``).
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

import msgspec

from sylk_ray.tools.context import ToolContext, ending_with, limit_hit
from sylk_ray.tools.coverage import Coverage, Lines, Measurement
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
    """How the tests went. ``tests_run`` leaves out the skipped ones; ``output`` is the end of it; ``coverage`` is None
    where it was not asked for, or nothing has changed that can be measured."""

    __test__: ClassVar[bool] = False

    passed: bool
    tests_run: int
    tests_passed: int
    tests_skipped: int
    failures: tuple[TestFailure, ...]
    exit_code: int
    duration_s: float
    output: str
    coverage: Coverage | None = None


async def run_tests(testing: Testing, context: ToolContext, changed: Lines | None = None) -> TestReport:
    """Run the tests; a failing test is in the report and no error. Of the lines that have ``changed`` it tells which
    were run, unless ``testing`` says no. Raises ToolMissing and CheckFailed."""
    folder = await asyncio.to_thread(_new_folder, context.private_dir)
    report_path = folder / "junit.xml"
    lines: Lines = changed if changed and testing.coverage else {}
    lcov = testing.coverage if isinstance(testing.coverage, str) else ""
    try:
        measurement = await asyncio.to_thread(Measurement, lines, context, folder, lcov)
        result = await context.run(
            testing.run,
            timeout_s=testing.timeout_s,
            env_extra={_OPTIONS: _options(report_path, context.sandbox), **measurement.environment},
            artifact="tests",
        )
        junit = None
        if report_path.exists():
            junit = await asyncio.to_thread(read_junit, report_path, context.worktree)
        coverage = await measurement.end(_shown(testing), pytest=junit is not None)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
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
        coverage=coverage,
    )


def _new_folder(private_dir: Path) -> Path:
    private_dir.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="tests-", dir=private_dir))


def _shown(testing: Testing) -> str:
    return testing.run if isinstance(testing.run, str) else shlex.join(testing.run)


def _options(report: Path, sandbox: Sandbox) -> str:
    granted = os.environ.get(_OPTIONS, "") if _OPTIONS in sandbox.env else ""
    return f"{granted} --junitxml={shlex.quote(str(report))} -p no:cacheprovider".strip()


def _problem(result: ProcessResult, testing: Testing, context: ToolContext, junit: JUnit | None) -> str | None:
    if limit := limit_hit(result, context.limits, testing.timeout_s):
        return f"the tests were ended by {limit}{ending_with(result.output)}"
    if result.exit_code == 0:
        return None
    shown = _shown(testing)
    explained = f"`{shown}` ended with exit code {result.exit_code}"
    if (junit is not None or "pytest" in shown) and result.exit_code in _PYTEST_EXIT:
        explained = f"{_PYTEST_EXIT[result.exit_code]} (exit code {result.exit_code})"
    hint = f"\n{result.hint}" if result.hint else ""
    return f"{explained}{ending_with(result.output)}{hint}"
