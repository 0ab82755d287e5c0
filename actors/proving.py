"""What the Tester's model does: it writes tests for a change, which are then run whatever it says of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta

from actors.commits import committed
from actors.review import DIFF
from actors.surroundings import SHOWN, surroundings
from actors.thinking import all_told, fitting, think_as, told
from sylk_ray.errors import SylkError
from sylk_ray.fairness import Request as Lease
from sylk_ray.pipelines import Brief, Work, Worker
from sylk_ray.pipelines.worker import tool_context, workspace_of
from sylk_ray.runtime import Context
from sylk_ray.skills import Permission
from sylk_ray.thinking import IN_A_WORKTREE, Bench, Matter, Toolbox, prompt
from sylk_ray.thinking.commands import CommandRefused, check_command
from sylk_ray.thinking.toolbox import shortened
from sylk_ray.thinking.written import defined
from sylk_ray.tools import TestReport, run_tests
from sylk_ray.tools.context import last_lines
from sylk_ray.tools.specs import Testing

_FOLDER = re.compile(r"(^|/)(tests?|specs?|__tests__|Tests)/")
_NAME = re.compile(
    r"(test_.*|.*[_.-](test|tests|spec)(\.[^.]+)+|.*(Test|Tests|Spec|IT)\.(java|kt|cs|swift|php|scala|groovy)|conftest\.py)"
)
_MARK = re.compile(r"^(test[_-]|Test(?=[A-Z]))|([_-](test|tests|spec)|(?<=[a-z0-9])(Tests?|Spec|IT))$")
_SETTINGS = frozenset({"conftest.py", "jest.config.js", "vitest.config.ts", "karma.conf.js", "spec_helper.rb"})
_SKIPS = re.compile(
    r"\bskip(if|unless|test)?\b|\bxfail\b|collect_ignore|pytest_collection_modifyitems|@Ignore\b|@Disabled\b"
    r"|\b(it|test|describe)\.(skip|only|todo)\b|\bx(it|describe)\(|\.Skip(f|Now)?\(|#\[ignore",
    re.IGNORECASE,
)
_COMBINES = re.compile(r"[;|>\n`]|\$\(")
_CALLED = re.compile(r"""run_command\b\W.*?\bcommand['"]?\s*[:=]\s*(['"])(?P<command>.+?)\1""", re.DOTALL)
_NO_RUNNERS = frozenset({"true", ":", "echo", "exit", "test", "[", "printf", "cat", "ls", "sleep"})
GRANTED: frozenset[Permission] = frozenset({"filesystem.read", "filesystem.write", "shell"})


class TestsUnusable(SylkError):
    """What a Tester's model has left may not go in."""

    __test__ = False
    code = "tests_unusable"


class Proved(msgspec.Struct, frozen=True):
    """What a Tester's model has done."""

    summary: Annotated[str, Meta(min_length=1, description="What the tests show, in one or two sentences.")]
    command: Annotated[str, Meta(description="Runs the tests of this change and no others.")] = ""
    untested: Annotated[str, Meta(description="Why there is no test, if there can be none.")] = ""


async def prove(worker: Worker, brief: Brief, work: Work, ctx: Context) -> tuple[Work, str]:
    """The work with its tests, and the command that runs them; empty where there can be none."""
    assignment, workspace = brief.assignment, workspace_of(brief, ctx)
    head = work.commit or work.base

    async def unusable(done: Proved) -> str:
        """Why what there is may not go in."""
        if not done.command and not done.untested:
            return "give the command that runs the tests, or say in untested why there can be none"
        if problem := _problem_of(done.command):
            return f"the command will not do: {problem}. Give what a shell runs, and nothing else{such_as}"
        saved = await workspace.save(brief.task)
        changed = await workspace.changes(brief.task, head, saved)
        for change in changed:
            if not is_test(change.path):
                return f"{change.path} is no test: put it back as it was. If the code is wrong, leave the test failing"
            if change.removed or change.deleted:
                return f"lines of {change.path} are gone that were there before: put them back, and add to them"
            if change.path in before and PurePosixPath(change.path).name in _SETTINGS:
                return f"{change.path} says how tests are run, and stays as it is: write tests in files of their own"
        added = (line[1:] for line in (await workspace.diff(head, saved, around=0)).splitlines() if line[:1] == "+")
        if skipped := next((line.strip() for line in added if _SKIPS.search(line)), None):
            return f"a test that is not run shows nothing: leave out {skipped[:100]}"
        tests = [change.path for change in changed]
        copied = (await defines(saved, tests)).keys() - await defines(head, tests)
        if name := min(copied & code.keys(), default=""):
            return (
                f"{name} is defined in {code[name]}, and now in a test as well, which so shows nothing of it: import "
                "that and leave out the copy, or give yours another name"
            )
        return ""

    async def defines(commit: str, paths: Sequence[str]) -> dict[str, str]:
        """The functions and classes of Python files' top level, and the file that each is in. A program's ``main`` is
        none: each has its own."""
        files = await workspace.files(commit)
        texts = await workspace.texts({path: files[path] for path in paths if path in files})
        return {name: path for path, text in texts.items() for name in defined(path, text) - {"main"}}

    async def check(given: Proved, _earlier: Sequence[Proved]) -> str:
        done = _plain(given)
        if (problem := await unusable(done)) or not done.command or done.command in bench.ran:
            return problem
        # It has not seen what comes of it, and what fails may be the test's fault as well as the code's.
        bench.ran.add(done.command)
        key = f"{brief.session}/tool/{brief.task}#{brief.attempt}/tester/try"
        async with ctx.leases.held(Lease(key, brief.session, {"cpu": 1.0}, brief.lane)):
            report = await run_tests(Testing(run=done.command), bench.tools)
        return "" if report.passed else _failing(done.command, report)

    def may_write(path: str) -> str:
        if is_test(path):
            return ""
        return f"you write tests, and this is none; the code is the Engineer's, and is there. Write tests{into}"

    before = await workspace.files(head)
    near = tests_of(before, [each.path for each in work.changes])
    such_as = next((f": pytest -q {path}" for path in near if path.endswith(".py")), "")
    into = f" into {near[0]}, or into a file beside it" if near else ""
    diff = shortened(await workspace.diff(work.base, head), fitting("tester", DIFF, ctx))
    matter = Matter(
        system=prompt("tester"),
        task=all_told(
            await surroundings(workspace, head, "", also=near, longest=fitting("tester", SHOWN, ctx)),
            told("Task of the change", assignment.prompt or assignment.description or brief.task.replace("_", " ")),
            told("Criteria", assignment.criteria),
            told("Change", f"```diff\n{diff}\n```"),
            told("Now", f"Write the tests that are missing{into}, run them, and then call finish."),
        ),
        result=Proved,
        about="Say how it went. Call it once, when the tests are written and have run.",
    )
    code = await defines(head, [change.path for change in work.changes if not is_test(change.path)])
    bench = Bench(tool_context(brief, ctx, "tester"), may_write, only_adds=True, defined_elsewhere=code)
    toolbox = Toolbox(IN_A_WORKTREE, GRANTED, bench)
    proved, outcome = await think_as(worker, brief, matter, toolbox, ctx, check=check)
    proved = _plain(proved)
    # The last word of a model at its limit was not checked, and what it left may not go in.
    if not outcome.whole and (problem := await ctx.step("look at the tests", unusable, proved, result=str)):
        raise TestsUnusable(f"the tests that were written cannot be used: {problem}", hint="see `sylk logs`")
    await ctx.publish("tester.tests", task=brief.task, summary=proved.summary, command=proved.command)
    return await committed(brief, work.base, work.output, ctx), proved.command


def is_test(path: str) -> bool:
    """Whether a file is a test, or belongs to one, as frameworks of most languages find them."""
    return bool(_FOLDER.search(path) or _NAME.fullmatch(PurePosixPath(path).name))


def _failing(command: str, report: TestReport) -> str:
    return (
        f"{command} fails:\n{last_lines(report.output, 40)}\n"
        "Is the test wrong, or the command? Then mend it. Is the code wrong? Then finish once more."
    )


def tests_of(files: Iterable[str], changed: Sequence[str]) -> list[str]:
    """The tests that are named after changed files, and those that were changed themselves."""
    subjects = {PurePosixPath(path).stem.lower() for path in changed if not is_test(path)}
    tests = (path for path in sorted(files) if is_test(path))
    return [path for path in tests if path in changed or _subject(path) in subjects]


def _subject(test: str) -> str:
    """What a test is named after: ``text`` of test_text.py, text_test.go, text.spec.ts and TextTests.java."""
    stem = PurePosixPath(test).name.partition(".")[0]
    return "" if stem in ("__init__", "conftest") else _MARK.sub("", stem).lower()


def _plain(proved: Proved) -> Proved:
    """With the command of a call of run_command that stands in the place of a command, as small models write it."""
    called = _CALLED.match(proved.command.strip())
    return msgspec.structs.replace(proved, command=called["command"]) if called is not None else proved


def _problem_of(command: str) -> str:
    """Of the command that runs the tests: its exit code has to be theirs."""
    if not command:
        return ""
    try:
        check_command(command)
        words = shlex.split(command)
    except (CommandRefused, ValueError) as refused:
        return str(refused)
    if _COMBINES.search(command):
        return "give one command alone, without ; | || > or lines: it fails when a test does"
    program = next((PurePosixPath(word).name for word in words if "=" not in word), "")
    return f"{program} runs no tests" if program in _NO_RUNNERS else ""
