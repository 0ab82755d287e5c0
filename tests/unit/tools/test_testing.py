from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from sylk_ray.tools import CheckFailed, ToolContext, run_tests
from sylk_ray.tools.junit import read_junit
from sylk_ray.tools.specs import Limits, Sandbox, Testing

from .conftest import MakeContext

PYTEST = f"{shlex.quote(sys.executable)} -m pytest -q"
TESTS = """
import pytest

def value():
    return 3

class TestNumbers:
    def test_equal(self):
        assert value() == 4

def test_good():
    pass

@pytest.mark.skip(reason="later")
def test_later():
    pass

@pytest.fixture
def broken():
    raise OSError("no disk")

def test_with_broken(broken):
    pass
"""


async def test_failures_errors_and_skips_are_told_apart(context: ToolContext, worktree: Path) -> None:
    (worktree / "tests").mkdir()
    (worktree / "tests/test_a.py").write_text(TESTS)

    report = await run_tests(Testing(run=PYTEST), context)

    assert (report.passed, report.exit_code) == (False, 1)
    assert (report.tests_run, report.tests_passed, report.tests_skipped) == (3, 1, 1)
    by_name = {each.test.rpartition(".")[2]: each for each in report.failures}
    equal, broken = by_name["test_equal"], by_name["test_with_broken"]
    assert (equal.file, equal.line, equal.actual, equal.expected) == ("tests/test_a.py", 9, "3", "4")
    assert equal.test == "tests.test_a.TestNumbers.test_equal"
    assert "value() == 4" in equal.stack_trace
    assert broken.file == "tests/test_a.py"
    assert "no disk" in broken.message
    assert not (worktree / ".pytest_cache").exists()


async def test_passing_tests_pass(context: ToolContext, worktree: Path) -> None:
    (worktree / "test_a.py").write_text("def test_a(): pass\n")

    report = await run_tests(Testing(run=PYTEST), context)

    assert (report.passed, report.tests_run, report.tests_passed, report.failures) == (True, 1, 1, ())
    assert "1 passed" in report.output
    assert list(context.private_dir.glob("*.xml")) == []


async def test_no_tests_is_a_failure_that_says_so(context: ToolContext) -> None:
    report = await run_tests(Testing(run=PYTEST), context)

    assert (report.passed, report.exit_code) == (False, 5)
    assert "no tests were collected" in report.failures[0].message


async def test_wrong_usage_is_explained(context: ToolContext) -> None:
    report = await run_tests(Testing(run=PYTEST + " --bogus"), context)

    assert (report.passed, report.exit_code) == (False, 4)
    assert "used wrongly" in report.failures[0].message
    assert "--bogus" in report.failures[0].message


async def test_an_error_of_collection_names_the_file(context: ToolContext, worktree: Path) -> None:
    (worktree / "test_a.py").write_text("import no_such_module\n")

    report = await run_tests(Testing(run=PYTEST), context)

    assert not report.passed
    assert report.failures[0].file == "test_a.py"
    assert "no_such_module" in report.failures[0].stack_trace


async def test_granted_pytest_options_are_kept(
    make_context: MakeContext, worktree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k one")
    (worktree / "test_a.py").write_text("def test_one(): pass\ndef test_two(): assert 0\n")

    report = await run_tests(Testing(run=PYTEST), make_context(sandbox=Sandbox(env=("PYTEST_ADDOPTS",))))

    assert (report.passed, report.tests_run) == (True, 1)


async def test_other_test_programs_are_judged_by_their_exit_code(context: ToolContext) -> None:
    bad = await run_tests(Testing(run="echo 2 of 3 failed; exit 1"), context)
    good = await run_tests(Testing(run=("true",)), context)

    assert (bad.passed, good.passed) == (False, True)
    assert "2 of 3 failed" in bad.failures[0].message


async def test_a_good_report_does_not_hide_a_bad_exit_code(context: ToolContext, worktree: Path) -> None:
    (worktree / "test_a.py").write_text("def test_a(): pass\n")

    report = await run_tests(Testing(run=PYTEST + "; echo coverage too low; exit 2"), context)

    assert not report.passed
    assert "coverage too low" in report.failures[0].message


async def test_tests_that_hang_say_so(make_context: MakeContext) -> None:
    context = make_context(limits=Limits(timeout_s=0.2))

    report = await run_tests(Testing(run="sleep 100"), context)

    assert not report.passed
    assert "time limit of 0.2 s" in report.failures[0].message


@pytest.mark.parametrize(
    ("xml", "why"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c">]><testsuites>&b;</testsuites>', "document type"),
        ("<testsuites>", "no element found"),
    ],
)
def test_a_report_that_is_not_safe_xml_is_refused(tmp_path: Path, xml: str, why: str) -> None:
    (tmp_path / "r.xml").write_text(xml)

    with pytest.raises(CheckFailed, match=why):
        read_junit(tmp_path / "r.xml", tmp_path)


def test_reports_of_other_programs_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text(
        '<testsuite><testcase classname="pkg" name="TestA" file="a_test.go" line="7">'
        '<failure message="want 1">trace</failure></testcase><testcase name="TestB"/></testsuite>'
    )

    junit = read_junit(tmp_path / "r.xml", tmp_path)

    assert (junit.run, junit.passed, junit.skipped) == (2, 1, 0)
    (failure,) = junit.failures
    assert (failure.test, failure.file, failure.line) == ("pkg.TestA", "a_test.go", 7)
    assert (failure.expected, failure.actual) == ("", "")
