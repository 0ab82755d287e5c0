"""Looks at changed code with the tools that the task names."""

from __future__ import annotations

from collections.abc import Sequence

from actors.review import review
from actors.skills.inspector import INSPECTOR_SKILLS
from actors.task_views import SEVERITIES
from sylk_ray.messaging import DeliveryError
from sylk_ray.pipelines import Brief, Checker, Feedback, PipelineBus
from sylk_ray.pipelines.brief import MOST_ISSUES
from sylk_ray.pipelines.lifecycle import may_send_back, sent_back
from sylk_ray.pipelines.messages import Inspect, InspectorDone, SendBack, Test, WhatIsOverridden
from sylk_ray.pipelines.worker import Waived, tool_context
from sylk_ray.routing import TARGETS
from sylk_ray.runtime import Context, handler
from sylk_ray.sessions.records import Override
from sylk_ray.tools import ChangedFile, Issue, inspect
from sylk_ray.tools.specs import Inspection


class Inspector(Checker):
    """Sends work back to the Engineer directly, or on to the Tester."""

    role = "inspector"
    about = TARGETS["inspector"]
    skills = INSPECTOR_SKILLS
    answers_with = "get_issues"

    @handler()
    async def look(self, message: Inspect, ctx: Context) -> None:
        """Inspect the work; issues of severity error send it back."""
        await self.guarded(message.brief, message.loops, self._look(message, ctx), ctx)

    async def _look(self, message: Inspect, ctx: Context) -> None:
        brief, work, loops = message.brief, message.work, message.loops
        bus = PipelineBus(ctx)
        try:
            issues = await self.work(brief, self._inspect(brief, message, ctx))
        except Waived:
            await self.tell_waived(brief, ctx)
            await self._pass_on(message, bus)
            return
        overridden = await self._overridden(brief, ctx) if issues else ()
        accepted = {each.issue for each in overridden}.intersection(issue.id for issue in issues)
        found = sorted((issue for issue in issues if issue.id not in accepted), key=_severity)
        errors = [issue for issue in found if issue.severity == "error"]
        await ctx.publish(
            "inspector.issues",
            task=brief.task,
            errors=len(errors),
            issues=[f"{issue.id}: {describe(issue)}" for issue in found[:MOST_ISSUES]],
            overridden=[str(each) for each in overridden if each.issue in accepted],
        )
        if not errors:
            await self._pass_on(message, bus)
            return
        feedback = Feedback("inspector", loops.inspector + 1, _text(errors), issues=errors[:MOST_ISSUES])
        if may_send_back(loops, "inspector", brief.feedback_loops):
            loops = sent_back(loops, "inspector")
            await bus.to_pipeline(InspectorDone(brief.attempt, loops, feedback))
            await bus.to_engineer(SendBack(brief, work, loops, feedback))
        else:
            await bus.to_pipeline(InspectorDone(brief.attempt, loops, feedback, final=True, work=work))

    async def _pass_on(self, message: Inspect, bus: PipelineBus) -> None:
        await bus.to_pipeline(InspectorDone(message.brief.attempt, message.loops))
        await bus.to_tester(Test(message.brief, message.work, message.loops))

    async def _inspect(self, brief: Brief, message: Inspect, ctx: Context) -> Sequence[Issue]:
        issues = await self._by_tools(brief, message, ctx)
        if "inspector" not in brief.assignment.thinks:
            return issues
        overridden = await self._overridden(brief, ctx)
        accepted = {each.issue for each in overridden}
        if any(issue.severity == "error" and issue.id not in accepted for issue in issues):
            # What a tool has found is mended first: a model would find it too, and cost more.
            return issues
        return (*issues, *await review(self, brief, message.work, issues, overridden, ctx))

    async def _overridden(self, brief: Brief, ctx: Context) -> Sequence[Override]:
        """The issues that a person has let the work pass with, as the pipeline knows them now."""
        try:
            return await ctx.ask(ctx.address.beside("pipeline"), WhatIsOverridden(), timeout=5)
        except DeliveryError as problem:
            ctx.log.warning("what is overridden since the attempt began is not known: %s", problem)
            return brief.overridden

    async def _by_tools(self, brief: Brief, message: Inspect, ctx: Context) -> Sequence[Issue]:
        inspection = brief.assignment.inspector
        if inspection is None:
            return ()
        changed = [
            ChangedFile(change.path, frozenset(change.added_lines), change.added, change.removed)
            for change in message.work.changes
        ]
        tools = tool_context(brief, ctx, "inspector")
        return await self.tool(
            "inspect",
            brief,
            inspection.model_dump(),
            lambda given: inspect(Inspection.model_validate(given), changed, tools),
            ctx,
            result=tuple[Issue, ...],
        )


def _severity(issue: Issue) -> int:
    return SEVERITIES.index(issue.severity)


def describe(issue: Issue) -> str:
    """One line for a person."""
    place = f"{issue.file}:{issue.line}: " if issue.file and issue.line else f"{issue.file}: " if issue.file else ""
    advice = f" ({issue.suggestion})" if issue.suggestion else ""
    return f"{place}{issue.category} {issue.severity}: {issue.message}{advice}"


def _text(errors: Sequence[Issue]) -> str:
    told = "\n".join(map(describe, errors[:MOST_ISSUES]))
    more = f"\n... and {len(errors) - MOST_ISSUES} more" if len(errors) > MOST_ISSUES else ""
    return f"the Inspector found {len(errors)} issue(s):\n{told}{more}"
