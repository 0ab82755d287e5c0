"""Runs the task's tests on inspected work."""

from __future__ import annotations

import msgspec

from actors.proving import is_test, prove
from actors.skills.tester import TESTER_SKILLS
from sylk_ray.pipelines import Brief, Checker, Feedback, PipelineBus, Work
from sylk_ray.pipelines.lifecycle import may_send_back, sent_back
from sylk_ray.pipelines.messages import SendBack, Test, TesterDone
from sylk_ray.pipelines.worker import Waived, tool_context
from sylk_ray.routing import TARGETS
from sylk_ray.runtime import Context, handler
from sylk_ray.tools import TestFailure, TestReport, describe_coverage, run_tests
from sylk_ray.tools.coverage import together
from sylk_ray.tools.specs import Testing

SHOWN = 20


class Tester(Checker):
    """Sends failing work back to the Engineer directly, or tells the pipeline that it passes."""

    role = "tester"
    about = TARGETS["tester"]
    skills = TESTER_SKILLS
    answers_with = "get_results"

    @handler()
    async def test(self, message: Test, ctx: Context) -> None:
        """Run the tests."""
        await self.guarded(message.brief, message.loops, self._test(message, ctx), ctx)

    async def _test(self, message: Test, ctx: Context) -> None:
        brief, work, loops = message.brief, message.work, message.loops
        bus = PipelineBus(ctx)
        try:
            work, report = await self.work(brief, self._tried(brief, work, ctx))
        except Waived:
            report = None
            await self.tell_waived(brief, ctx)
        if report is None:
            await bus.to_pipeline(TesterDone(brief.attempt, loops, work))
            return
        await ctx.publish(
            "tester.report",
            task=brief.task,
            passed=report.passed,
            tests_run=report.tests_run,
            failures=[describe(failure).splitlines()[0] for failure in report.failures[:SHOWN]],
            covered=describe_coverage(report.coverage),
            coverage=msgspec.to_builtins(report.coverage),
        )
        if report.passed:
            await bus.to_pipeline(TesterDone(brief.attempt, loops, work, tests_run=report.tests_run))
            return
        feedback = Feedback("tester", loops.tester + 1, _text(report), failures=list(report.failures[:SHOWN]))
        if may_send_back(loops, "tester", brief.feedback_loops):
            loops = sent_back(loops, "tester")
            await bus.to_pipeline(TesterDone(brief.attempt, loops, work, feedback, tests_run=report.tests_run))
            await bus.to_engineer(SendBack(brief, work, loops, feedback))
        else:
            done = TesterDone(brief.attempt, loops, work, feedback, final=True, tests_run=report.tests_run)
            await bus.to_pipeline(done)

    async def _tried(self, brief: Brief, work: Work, ctx: Context) -> tuple[Work, TestReport | None]:
        """With the tests that the model has added, if it does: first those that are declared, then its own."""
        declared = brief.assignment.tester
        report = await self._run(brief, declared, work, ctx) if declared is not None else None
        if "tester" not in brief.assignment.thinks or (report is not None and not report.passed):
            return work, report
        work, command = await prove(self, brief, work, ctx)
        if not command:
            return work, report
        testing = declared.model_copy(update={"run": command}) if declared is not None else Testing(run=command)
        report = await self._run(brief, testing, work, ctx)
        if declared is not None and report.passed:
            # Once more, beside the tests that are new.
            again = await self._run(brief, declared, work, ctx)
            report = msgspec.structs.replace(again, coverage=together(report.coverage, again.coverage))
        return work, report

    async def _run(self, brief: Brief, testing: Testing, work: Work, ctx: Context) -> TestReport:
        tools = tool_context(brief, ctx, "tester")
        code = [change for change in work.changes if change.added and not is_test(change.path)]
        changed = {change.path: change.added_lines for change in code}
        return await self.tool(
            "test",
            brief,
            testing.model_dump(),
            lambda given: run_tests(Testing.model_validate(given), tools, changed),
            ctx,
            result=TestReport,
        )


def describe(failure: TestFailure) -> str:
    """One line for a person; for a run that names no test, the end of its output."""
    message = failure.message.strip() or "failed"
    if not failure.test:
        return message
    place = f" ({failure.file}:{failure.line})" if failure.file and failure.line else ""
    return f"{failure.test}{place}: {message.splitlines()[0]}"


def _text(report: TestReport) -> str:
    told = "\n".join(describe(failure) for failure in report.failures[:SHOWN])
    more = f"\n... and {len(report.failures) - SHOWN} more" if len(report.failures) > SHOWN else ""
    count = f"{len(report.failures)} of {report.tests_run} test(s) failed" if report.tests_run else "the tests failed"
    return f"{count}:\n{told}{more}"
