"""What an Inspector can do when it is asked to."""

from __future__ import annotations

from typing import Any, Literal

from actors.skills.bench import bench, latest_by_task
from actors.skills.looking import LOOKING
from actors.skills.quality import run_formatter_check, run_linter, run_type_checker, told
from actors.task_views import describe_issues
from sylk_ray.errors import InputError, SylkError
from sylk_ray.jobs import Job
from sylk_ray.messaging import Address
from sylk_ray.sessions.records import Override
from sylk_ray.skills import skill
from sylk_ray.speech import Heard, NoSuchJob, SkillCall
from sylk_ray.speech.receivers import MAIN
from sylk_ray.speech.tasks import UserOverride
from sylk_ray.tools import ChangedFile, inspect
from sylk_ray.tools.paths import matches
from sylk_ray.tools.specs import Inspection

Call = SkillCall[Any]
Severity = Literal["critical", "high", "medium", "low", "all"]

_MEANT: dict[Severity, tuple[str, ...]] = {
    "critical": ("error",),
    "high": ("error",),
    "medium": ("warning",),
    "low": ("info",),
    "all": ("error", "warning", "info"),
}


@skill(domain="validation", keywords=["issues", "problems", "warnings"], tier="core", only_looks=True)
async def get_issues(ctx: Call, severity: Severity = "all") -> Heard:
    """List the issues that the Inspectors of this session have found, each task's latest.

    Args:
        severity: Only of this severity.
    """
    reports = await latest_by_task(ctx.ctx, "inspector.issues")
    here = {task: event for task, event in reports.items() if ctx.address.name in (MAIN, task)}
    return describe_issues(here, _MEANT[severity])


@skill(domain="validation", keywords=["validate", "check all"], tier="core", only_looks=True)
async def validate_full(ctx: Call, what: str = "") -> Heard:
    """Check everything that the session has changed with the checks that its job declares.

    Args:
        what: Only files that match this glob.
    """
    async with bench(ctx.ctx, "inspector") as here:
        if here.job is None:
            raise NoSuchJob("no job has run in this session", hint="submit one: `sylk submit JOB.yaml`")
        changes = await here.workspace.changes("", here.base, here.head)
        changed = [
            ChangedFile(change.path, frozenset(change.added_lines), change.added, change.removed)
            for change in changes
            if not what or matches(what, change.path)
        ]
        inspection = _declared(here.job, ctx.address.name)
        if not inspection.tools and not inspection.forbid:
            return Heard("the job declares no checks", {"issues": []})
        return told(await inspect(inspection, changed, here.tools))


@skill(domain="validation", keywords=["override", "accept"], tier="domain")
async def override_issue(ctx: Call, issue_id: str, reason: str = "") -> Heard:
    """Let the work pass with an issue that an Inspector of this session has found.

    Args:
        issue_id: As the list of issues has it, for example i-3f9a2c: what says the same of the file is one issue.
        reason: Why it may stay.
    """
    reports = await latest_by_task(ctx.ctx, "inspector.issues")
    here = {task: event.data for task, event in reports.items() if ctx.address.name in (MAIN, task)}
    answers: list[Heard] = []
    refused: list[SylkError] = []
    for task, data in here.items():
        places = [line for line in (*data["issues"], *data["overridden"]) if line.startswith(f"{issue_id}: ")]
        if not places:
            continue
        told = places[0].removeprefix(f"{issue_id}: ")
        override = Override(issue_id, f"{told} (and {len(places) - 1} more)" if len(places) > 1 else told, reason)
        try:
            orchestrator = Address(ctx.address.session, "orchestrator", MAIN)
            answers.append(await ctx.ctx.ask(orchestrator, UserOverride(task, override), timeout=30))
        except SylkError as problem:
            refused.append(problem)
        else:
            await _publish_without(task, data, override, ctx)
    if not answers:
        raise refused[0] if refused else InputError(f"there is no issue {issue_id}", hint="see /issues")
    return Heard("\n".join(each.text for each in answers), {"overridden": [each.data for each in answers]})


async def _publish_without(task: str, data: dict[str, Any], override: Override, ctx: Call) -> None:
    """How the task's issues stand now, until its Inspector looks again."""
    issues = [line for line in data["issues"] if not line.startswith(f"{override.issue}: ")]
    if len(issues) < len(data["issues"]):
        overridden = [*data["overridden"], str(override)]
        errors = sum(" error: " in line for line in issues)
        await ctx.ctx.publish("inspector.issues", task=task, errors=errors, issues=issues, overridden=overridden)


def _declared(job: Job, task: str) -> Inspection:
    """The task's own; else the checks at the job's end; if there are none, those of its tasks."""
    own = job.tasks[task].inspector if task in job.tasks else None
    if own is not None:
        return own
    if job.finally_ is not None and job.finally_.inspector is not None:
        return job.finally_.inspector
    tools = {
        check.name: check for task in job.tasks.values() if task.inspector is not None for check in task.inspector.tools
    }
    return Inspection(tools=tuple(tools.values()))


INSPECTOR_SKILLS = (
    *LOOKING,
    get_issues,
    validate_full,
    override_issue,
    run_linter,
    run_formatter_check,
    run_type_checker,
)
