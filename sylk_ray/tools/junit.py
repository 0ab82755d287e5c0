"""Read a JUnit XML report, such as pytest leaves, into failures that an agent can act on.

Nothing in a report is trusted: a tool process wrote it. One with a DTD, through which entities could be made
to explode, is refused.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree
from xml.parsers import expat

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.tools.beneath import read_own
from sylk_ray.tools.errors import CheckFailed

_MESSAGE, _TRACE = 2_000, 8_000
_LOCATION = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):", re.MULTILINE)
_ASSERT = re.compile(r"^(?:E\s+)?(?:AssertionError: )?assert (?P<expression>.+)$", re.MULTILINE)


class TestFailure(msgspec.Struct, frozen=True):
    """One test that did not pass. What is not known is empty, and the line 0."""

    __test__: ClassVar[bool] = False

    test: str
    file: str
    line: int
    message: str
    expected: str
    actual: str
    stack_trace: str


class JUnit(msgspec.Struct, frozen=True):
    """What a report says."""

    run: int
    passed: int
    skipped: int
    failures: tuple[TestFailure, ...]


def read_junit(path: Path, worktree: Path) -> JUnit:
    """Read a report; CheckFailed if it is no safe XML."""
    try:
        data = read_own(path)
        _refuse_dtd(data)
        root = ElementTree.fromstring(data)
    except (OSError, SylkError, expat.ExpatError, ElementTree.ParseError) as error:
        raise _unreadable(str(error)) from error
    skipped: set[tuple[str, str]] = set()
    seen: set[tuple[str, str]] = set()
    failures: dict[tuple[str, str], TestFailure] = {}
    for case in root.iter("testcase"):
        key = (case.get("classname", ""), case.get("name", ""))
        seen.add(key)
        if case.find("skipped") is not None:
            skipped.add(key)
        problem = case.find("failure")
        if problem is None:
            problem = case.find("error")
        if problem is not None and key not in failures:
            failures[key] = _failure(case, problem, worktree)
    run = len(seen - skipped)
    bad = len(failures.keys() - skipped)
    return JUnit(run, run - bad, len(skipped), tuple(failures.values()))


def _failure(case: ElementTree.Element, problem: ElementTree.Element, worktree: Path) -> TestFailure:
    module, name = case.get("classname", ""), case.get("name", "")
    trace = problem.text or ""
    message = problem.get("message") or trace.strip().partition("\n")[0]
    file = case.get("file") or _file_of(module or name, worktree)
    places = [(place["file"], int(place["line"])) for place in _LOCATION.finditer(trace)]
    own = [place for place in places if place[0] == file] or places
    if own:
        file, line = own[-1]
    else:
        line = int(case.get("line") or 0)
    actual, expected = _compared(message) or _compared(trace) or ("", "")
    return TestFailure(
        test=f"{module}.{name}" if module else name,
        file=file,
        line=line,
        message=message[:_MESSAGE],
        expected=expected[:_MESSAGE],
        actual=actual[:_MESSAGE],
        stack_trace=trace[-_TRACE:],
    )


def _file_of(dotted: str, worktree: Path) -> str:
    """The file that a module's name stands for; pytest adds the classes to it, so the longest that exists."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        name = "/".join(parts[:length]) + ".py"
        if ".." not in parts and not name.startswith("/") and (worktree / name).is_file():
            return name
    return ""


def _compared(text: str) -> tuple[str, str] | None:
    """Left and right of pytest's ``assert left == right``: by convention actual and expected."""
    found = _ASSERT.search(text)
    if found is None:
        return None
    expression = found["expression"]
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        left, _, right = expression.partition(" == ")
        return (left, right) if right and " == " not in right else None
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Eq):
        left = ast.get_source_segment(expression, tree.left) or ""
        return left, ast.get_source_segment(expression, tree.comparators[0]) or ""
    return None


def _refuse_dtd(data: bytes) -> None:
    def refuse(*_: object) -> None:
        raise _unreadable("it has a document type definition")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)


def _unreadable(why: str) -> CheckFailed:
    return CheckFailed(
        f"the JUnit report of the tests cannot be read: {why}",
        hint="See what the test command writes to --junitxml; a plugin may have changed it.",
    )
