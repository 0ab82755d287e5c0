"""Which changed statements the tests run, measured by the coverage.py of the Python that runs them."""

from __future__ import annotations

import argparse
import ast
import configparser
import contextlib
import dataclasses
import enum
import errno
import os
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage as Measuring

from sylk_ray.tools import Coverage, ToolContext, coverage, describe_coverage, run_tests
from sylk_ray.tools.coverage import ABSENT, Measurement, together
from sylk_ray.tools.covered import lcov, statements
from sylk_ray.tools.specs import Testing

from .conftest import MakeContext, git

PYTHON = shlex.quote(sys.executable)
PYTEST = f"{PYTHON} -m pytest -q"
SHOP = '''"""A shop."""


def total(prices):
    """What they come to."""
    result = 0
    for each in prices:
        result += each
    return result


def cheapest(prices):
    if not prices:
        raise ValueError(
            "nothing is cheapest of nothing",
        )
    return min(prices)
'''
TESTS = """
from shop import total

def test_total():
    assert total([1, 2]) == 3
"""
ALL = range(1, SHOP.count("\n") + 1)


@pytest.fixture
def shop(worktree: Path) -> Path:
    (worktree / "shop.py").write_text(SHOP)
    (worktree / "test_shop.py").write_text(TESTS)
    return worktree


@pytest.fixture
def with_sub(shop: Path) -> Path:
    """With another package, whose test does nothing."""
    (shop / "sub").mkdir()
    (shop / "sub/__init__.py").touch()
    (shop / "sub/test_none.py").write_text("def test_none():\n    pass\n")
    return shop


async def measured(context: ToolContext, changed: dict[str, range], run: str = PYTEST, **more: object) -> Coverage:
    report = await run_tests(Testing.model_validate({"run": run, **more}), context, changed)
    assert report.passed, (report.failures, report.output)
    assert list(context.private_dir.glob("tests-*")) == []
    assert report.coverage is not None
    return report.coverage


async def test_what_tests_run_and_what_they_do_not(context: ToolContext, shop: Path) -> None:
    found = await measured(context, {"shop.py": ALL})

    assert found == Coverage(9, 6, {"shop.py": [13, 14, 17]})
    assert (
        describe_coverage(found) == "they were seen to run 6 of 9 changed statement(s), not shop.py:13-14, shop.py:17"
    )
    assert git(shop, "status", "--porcelain").split() == ["??", "shop.py", "??", "test_shop.py"]


async def test_only_changed_lines_count_and_a_line_stands_for_its_statement(context: ToolContext, shop: Path) -> None:
    assert await measured(context, {"shop.py": range(5, 10)}) == Coverage(4, 4)
    assert await measured(context, {"shop.py": range(15, 16)}) == Coverage(1, 0, {"shop.py": [14]})
    assert await measured(context, {"shop.py": range(10, 12)}) == Coverage()


BESIDE = f"{PYTHON} -m coverage run --branch"


@pytest.mark.parametrize(
    "run",
    [
        f"{PYTHON} -I -m pytest -q",
        f"PYTHONPATH=elsewhere {PYTEST}",
        f"{PYTEST} -n 2",
        f"cd sub && {PYTEST} ..",
        f"{PYTHON} -c 'import subprocess, sys; subprocess.run([sys.executable, \"test_as_program.py\"], check=True)'",
        f"{BESIDE} -m pytest -q",
        f"cd sub && {BESIDE} -m pytest -q ..",
        f"{BESIDE} -p test_as_program.py",
        f"{PYTEST} sub; {BESIDE} -m pytest -q test_shop.py",
        f"sh -c 'cd sub; {BESIDE} ../test_as_program.py'",
    ],
)
async def test_however_the_tests_are_started(context: ToolContext, with_sub: Path, run: str) -> None:
    (with_sub / "test_as_program.py").write_text(f"{TESTS}\nif __name__ == '__main__':\n    test_total()\n")

    found = await measured(context, {"shop.py": ALL}, run)

    assert found == Coverage(9, 6, {"shop.py": [13, 14, 17]})


@pytest.mark.parametrize(
    "run",
    [
        f"COVERAGE_FILE=elsewhere {BESIDE} -m pytest -q",
        f"{BESIDE} -m pytest -q && {PYTHON} -m coverage erase",
        f"{BESIDE} --source=sub -m pytest -q",
        f"{PYTEST} sub; {BESIDE} --source=sub -m pytest -q test_shop.py",
        f"{PYTHON} -c 'import shop, os; shop.total([1]); os.kill(os.getpid(), 9)'; true",
    ],
)
async def test_what_is_not_known_is_not_said_to_be_untested(context: ToolContext, with_sub: Path, run: str) -> None:
    found = await measured(context, {"shop.py": ALL}, run)

    assert (found.statements, bool(found.unknown)) == (0, True)


async def test_an_installed_copy_is_not_the_change(context: ToolContext, shop: Path) -> None:
    site = shop.parent / "private/site-packages"
    site.mkdir()
    (shop / "shop.py").rename(site / "shop.py")
    (shop / "src").mkdir()
    (shop / "src/shop.py").write_text(SHOP)

    found = await measured(context, {"src/shop.py": ALL}, f"PYTHONPATH={site} {PYTEST}")

    assert (found.statements, found.unknown) == (0, "src/shop.py was run as ../private/site-packages/shop.py")


async def test_a_disk_that_is_full_fails_no_test(context: ToolContext, shop: Path, monkeypatch: Any) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(coverage, "_settings", full)

    found = await measured(context, {"shop.py": ALL})

    assert found.unknown == "nothing could be measured: [Errno 28] No space left on device"


async def test_processes_that_are_forked_count(context: ToolContext, shop: Path) -> None:
    (shop / "test_shop.py").write_text(
        "import multiprocessing, os\nfrom shop import cheapest, total\n"
        "def test_total():\n"
        "    process = multiprocessing.get_context('fork').Process(target=total, args=([1],))\n"
        "    process.start(); process.join()\n"
        "    assert process.exitcode == 0\n"
        "def test_cheapest():\n"
        "    if not (child := os.fork()):\n"
        "        cheapest([1]); os._exit(7)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    )

    assert await measured(context, {"shop.py": ALL}) == Coverage(9, 8, {"shop.py": [14]})


async def test_tests_that_are_as_they_were_see_nothing_of_it(context: ToolContext, shop: Path) -> None:
    (shop / "test_output.py").write_text(
        "import subprocess, sys\n"
        "def test_quiet():\n"
        "    done = subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True)\n"
        "    assert (done.stdout, done.stderr) == ('1\\n', '')\n"
        "def test_traced():\n"
        "    before = sys.gettrace()\n"
        "    sys.settrace(None)\n"
        "    sys.settrace(before)\n"
    )

    assert (await measured(context, {"shop.py": ALL})).run == 6


async def test_a_folder_and_a_file_with_characters_of_patterns(make_context: MakeContext, worktree: Path) -> None:
    package = worktree / "a [b]* $HOME,%(c)s;#"
    package.mkdir()
    (package / "größe.py").write_text(SHOP)
    (package / "test_it.py").write_text(TESTS.replace("shop", "größe"))
    odd = worktree.parent / "private $X [1]"

    found = await measured(make_context(private_dir=odd), {f"{package.name}/größe.py": ALL})

    assert (found.statements, found.run) == (9, 6)


async def test_a_process_that_is_ended_while_it_writes_is_told_of(context: ToolContext, shop: Path) -> None:
    (shop / "test_cut.py").write_text(
        "import os, pathlib\n"
        "def test_cut():\n"
        "    pathlib.Path(os.environ['COVERAGE_PROCESS_START']).with_name('data.cut').write_text('SQLite')\n"
    )

    found = await measured(context, {"shop.py": ALL})

    assert found == Coverage(
        9, 6, {"shop.py": [13, 14, 17]}, "a process of the tests was ended before it could say what it ran"
    )


async def test_a_file_that_no_test_imports_has_not_been_run(context: ToolContext, shop: Path) -> None:
    (shop / "other.py").write_text("def one():\n    return 1\n")

    assert await measured(context, {"other.py": range(1, 3)}) == Coverage(2, 0, {"other.py": [1, 2]})


async def test_it_is_said_when_it_is_not_known(context: ToolContext, shop: Path) -> None:
    assert await measured(context, {"shop.py": ALL}, "true") == Coverage(unknown=ABSENT)
    (shop / "newer.py").write_text("match = [*\n")
    (shop / "large.py").write_text("x = 1\n" * 1_000_000)
    found = await measured(context, {"newer.py": ALL, "large.py": ALL, "gone.py": ALL, "shop.py": ALL})
    assert (found.statements, found.run) == (9, 6)
    whys = ["gone.py cannot be read: ", "large.py cannot be read: it is larger than", "newer.py cannot be read: "]
    assert [why for why in whys if why in found.unknown] == whys


async def test_nothing_is_measured_where_that_is_not_wanted_or_nothing_can_be(context: ToolContext, shop: Path) -> None:
    for testing, changed in (
        (Testing(run=PYTEST, coverage=False), {"shop.py": ALL}),
        (Testing(run=PYTEST), {"shop.js": ALL}),
        (Testing(run=PYTEST), {}),
    ):
        assert (await run_tests(testing, context, changed)).coverage is None


async def test_another_language_is_read_from_the_report_that_its_tests_write(context: ToolContext, shop: Path) -> None:
    (shop / "write.sh").write_text(
        "mkdir -p coverage\n"
        "printf 'TN:\\nSF:src/shop.js\\nFN:1,total\\nDA:1,1\\nDA:2,5\\nDA:4,0\\nDA:5,0\\nend_of_record\\n' "
        "> coverage/lcov.info\n"
        'printf "SF:$PWD/src/other.js\\nDA:1,0\\nend_of_record\\n" >> coverage/lcov.info\n'
    )

    found = await measured(context, {"src/shop.js": range(2, 5)}, "sh write.sh", coverage="coverage/lcov.info")
    other = await measured(context, {"src/other.js": range(1, 2)}, "sh write.sh", coverage="coverage/lcov.info")

    assert found == Coverage(2, 1, {"src/shop.js": [4]})
    assert other == Coverage(1, 0, {"src/other.js": [1]})


async def test_files_that_a_report_does_not_name_are_not_known(context: ToolContext, shop: Path) -> None:
    web = "mkdir -p web/coverage; cd web; printf 'SF:src/a.js\\nDA:1,1\\nend_of_record\\n' > coverage/lcov.info"
    changed = {"web/src/a.js": ALL, "web/src/b.js": ALL, "README.md": ALL}

    found = await measured(context, changed, web, coverage="web/coverage/lcov.info")

    assert found == Coverage(1, 1, {}, "web/src/b.js is not in web/coverage/lcov.info")


async def test_a_report_of_before_or_from_elsewhere_is_none(context: ToolContext, shop: Path) -> None:
    outside = shop.parent / "lcov.info"
    outside.write_text("SF:shop.py\nDA:6,1\nend_of_record\n")
    (shop / "old.info").write_text(outside.read_text())
    (shop / "link.info").symlink_to(outside)
    changed = {"shop.py": ALL}

    old = await measured(context, changed, "true", coverage="old.info")
    none = await measured(context, changed, "true", coverage="none.info")
    link = await measured(context, changed, "touch -h link.info", coverage="link.info")
    above = await measured(context, changed, "true", coverage="../lcov.info")

    assert old.unknown == "the tests have not written old.info"
    assert none.unknown == "the tests have not written none.info"
    assert all(each.unknown and not each.run for each in (link, above))


HOSTILE = {
    "data.empty": "CREATE TABLE other (a)",
    "data.text": "CREATE TABLE file (id, path); CREATE TABLE line_bits (file_id, numbits);"
    "INSERT INTO file VALUES (1, 'shop.py'); INSERT INTO line_bits VALUES (1, 'text')",
    "data.endless": "CREATE TABLE file (id, path); CREATE VIEW line_bits AS "
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS file_id, x'' AS numbits FROM n",
    "data.infinite": "CREATE TABLE file (id, path); CREATE TABLE line_bits (file_id, numbits);"
    "CREATE TABLE arc (file_id, fromno, tono); INSERT INTO file VALUES (1, 'shop.py');"
    "INSERT INTO arc VALUES (1, 9e999, 1)",
    "data.huge": "CREATE TABLE file (id, path); CREATE TABLE line_bits (file_id, numbits);"
    "INSERT INTO file VALUES (1, 'shop.py'); INSERT INTO line_bits VALUES (1, zeroblob(500000000))",
}


@pytest.mark.parametrize("name", [*HOSTILE, "data.link", "data.folder", "data.rubbish", "data.pipe"])
async def test_what_is_no_data_of_coverage_does_no_harm(
    context: ToolContext, shop: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "PATIENCE_S", 2.0)
    folder = shop.parent / "private/measured"
    folder.mkdir()
    measurement = Measurement({"shop.py": ALL}, context, folder)
    match name:
        case "data.link":
            (folder / name).symlink_to("/etc/passwd")
        case "data.folder":
            (folder / name).mkdir()
        case "data.rubbish":
            (folder / name).write_text("no database")
        case "data.pipe":
            os.mkfifo(folder / name)
        case _:
            with contextlib.closing(sqlite3.connect(folder / name)) as database:
                database.executescript(HOSTILE[name])

    found = await measurement.end("pytest", pytest=False)

    assert found is not None
    assert (found.run, bool(found.unknown or found.missed)) == (0, True)


async def test_data_of_before_is_not_taken_for_that_of_now(context: ToolContext, shop: Path) -> None:
    (shop / ".coverage").touch()
    (shop / "nothing").mkdir()

    measurement = Measurement({"shop.py": ALL}, context, shop / "nothing")

    assert await measurement.end("pytest", pytest=True) == Coverage(unknown=ABSENT)


def test_the_statements_of_a_file() -> None:
    source = '''"""Docstring."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import never
else:
    here = 1


@first
@second(
    1,
)
class Thing:
    """Docstring."""

    def method(
        self,
    ):
        """Docstring."""
        global here
        try:
            call(
                1,
            )
        except OSError:
            pass
        else:
            x = 1; y = 2
        finally:
            z = 3

    def abstract(self): ...

    def debug(self):  # pragma: no cover
        return 1

    size: int

while 0:
    never()
if here:
    here = 2
else:  # PRAGMA: NO COVER
    here = 3

match here:
    case 1:
        a = 1
    case _:
        with open("x") as file: pass
'''
    found = statements(source)

    assert [begin for begin, _ in found] == [2, 7, 10, 17, 22, 23, 26, 27, 29, 31, 33, 42, 43, 47, 48, 49, 50, 51]
    assert [(begin, end) for begin, end in found if end > begin] == [(10, 14), (17, 19), (23, 25)]


def test_statements_are_those_of_coverage() -> None:
    """But that a definition and its decorators are one."""
    measuring = Measuring(data_file=None, config_file=False)
    for module in (argparse, ast, configparser, dataclasses, enum, subprocess):
        path = Path(module.__file__)
        lines = path.read_text().splitlines()
        ours, theirs = {begin for begin, _ in statements(path.read_bytes())}, set(measuring.analysis2(str(path))[1])
        assert ours <= theirs
        assert {lines[line - 1].split()[0] for line in theirs - ours} <= {"def", "class"}


@pytest.mark.parametrize("source", ["def", "a = " + "(" * 10_000, "a\0b"])
def test_what_python_cannot_read_is_said(source: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        statements(source)


def test_lcov_is_read_as_far_as_it_is_any() -> None:
    text = (
        "DA:1,1\nSF:a.c\nDA:1,2\nDA:1,3\nDA:2,0,hash\nDA:x,1\nDA:3\nDA:4,-1\nDA:5,--1\nend_of_record\nend_of_record\n"
        f"SF:b.c\nDA:{'9' * 5000},1\nend_of_record\nSF:a.c\nDA:2,1\n"
    )
    assert lcov(text) == {"a.c": {1: 5, 2: 1, 4: 0}, "b.c": {}}


def test_a_phrase_of_many_places_is_cut() -> None:
    told = describe_coverage(Coverage(60, 0, {"a.py": list(range(1, 60, 2))}))
    assert told.endswith("a.py:39 and 10 more")
    assert describe_coverage(None) == ""
    part = Coverage(1, 1, {}, "b.py cannot be read")
    assert (
        describe_coverage(part) == "they were seen to run 1 of 1 changed statement(s); not known: b.py cannot be read"
    )


def test_what_two_runs_of_the_same_change_have_run() -> None:
    one, other = Coverage(9, 6, {"a.py": [1, 2], "b.py": [3]}), Coverage(9, 7, {"a.py": [2, 4]})
    assert together(one, other) == Coverage(9, 8, {"a.py": [2]})
    assert together(one, None) == together(None, one) == together(one, Coverage(unknown="why")) == one
    assert together(None, None) is None
    of_a, of_b = (Coverage(1, 0, {path: [1]}, "the other is not known") for path in ("a.js", "b.js"))
    assert together(of_a, of_b) in (of_a, of_b)
    many = Coverage(9_000, 1_000, {"a.py": [1]})
    assert together(many, Coverage(9_000, 2_000, {"b.py": [1]})) == Coverage(9_000, 2_000, {"b.py": [1]})
