"""What a session's orchestrator can do when it is asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from pydantic import ValidationError

from actors.job_messages import HaltNow
from actors.planning_messages import AdjustPlan, ChangeKind, RequestPlanChange, RetryTask, SkipTask, UpdatePlan
from actors.task_views import describe_job, describe_task, task_data
from sylk_ray.jobs import Adjustment, CannotAdjust, Job, Strategy
from sylk_ray.messaging import Request
from sylk_ray.routing import find_task
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.messages import GUIDE, CancelJob, PauseSession, ResumeSession
from sylk_ray.skills import skill
from sylk_ray.speech import Heard, NoSuchJob, SkillCall

if TYPE_CHECKING:
    from actors.task_desk import TaskDesk

    Call = SkillCall[TaskDesk]
else:
    Call = SkillCall


@skill(domain="orchestration", keywords=["status", "progress", "state", "how is"], tier="core", only_looks=True)
async def get_status(ctx: Call, dag_id: str = "", detailed: bool = False) -> Heard:
    """Tell how the job of this session is going.

    Args:
        dag_id: The job; the session's latest when nothing is said.
        detailed: With a line on every task.
    """
    job = _job(ctx, dag_id)
    tasks = [entry.record for entry in ctx.agent.state.tasks.values()]
    data = {**msgspec.to_builtins(job), "tasks": {task.name: msgspec.to_builtins(task) for task in tasks}}
    return Heard(describe_job(job, tasks, detailed=detailed, now=ctx.ctx.clock.now()), data)


@skill(domain="orchestration", keywords=["result", "output", "node"])
async def get_node_result(ctx: Call, node_id: str) -> Heard:
    """Tell what a task has come to: its state, the files it changed, its commit, or why it failed.

    Args:
        node_id: The task's name, or the beginning of it.
    """
    _job(ctx)
    entries = ctx.agent.state.tasks
    record = entries[find_task(node_id, entries)].record
    return Heard(describe_task(record, None, ctx.ctx.clock.now()), task_data(record, None))


@skill(domain="orchestration", keywords=["cancel", "stop", "abort"], tier="core")
async def cancel_execution(ctx: Call, dag_id: str = "", reason: str = "") -> Heard:
    """Cancel the job that runs; what was merged stays on the branch.

    Args:
        dag_id: The job; the session's latest when nothing is said.
        reason: Why.
    """
    job = _job(ctx, dag_id)
    told = reason or "it was cancelled in the conversation"
    record = await ctx.ctx.ask(GUIDE, CancelJob(job.job_id, told), timeout=60)
    return Heard(f"job {record.job_id} is being cancelled", {"job": record.job_id, "status": record.status.value})


@skill(domain="orchestration", keywords=["pause", "hold", "wait"])
async def pause_execution(ctx: Call, dag_id: str = "", reason: str = "") -> Heard:
    """Start no more tasks; those at work may end.

    Args:
        dag_id: The job; the session's latest when nothing is said.
        reason: Why.
    """
    _job(ctx, dag_id)
    session = await ctx.ctx.ask(GUIDE, PauseSession(ctx.address.session, reason=reason), timeout=60)
    return Heard(f"session {session.name} is {session.state}", {"session": session.name, "state": session.state.value})


@skill(domain="orchestration", keywords=["resume", "continue", "unpause"])
async def resume_execution(ctx: Call, dag_id: str = "") -> Heard:
    """Go on with a paused job.

    Args:
        dag_id: The job; the session's latest when nothing is said.
    """
    _job(ctx, dag_id)
    session = await ctx.ctx.ask(GUIDE, ResumeSession(ctx.address.session), timeout=60)
    return Heard(f"session {session.name} is {session.state}", {"session": session.name, "state": session.state.value})


@skill(domain="orchestration", keywords=["retry", "again", "rerun"])
async def retry_node(ctx: Call, node_id: str) -> Heard:
    """Try a task again that has failed or was interrupted, with all its tries. Others have to be at work still.

    Args:
        node_id: The task's name, or the beginning of it.
    """
    return await _changed(ctx, RetryTask(node_id, _who(ctx)), f"{node_id} is tried again")


@skill(domain="orchestration", keywords=["skip", "ignore", "bypass"])
async def skip_node(ctx: Call, node_id: str, reason: str = "") -> Heard:
    """Do without a task, which has failed, runs or has not begun: what depends on it goes on.

    Args:
        node_id: The task's name, or the beginning of it.
        reason: Why.
    """
    return await _changed(ctx, SkipTask(node_id, reason, _who(ctx)), f"it goes on without {node_id}")


@skill(domain="orchestration", keywords=["adjust", "runtime", "modify", "live"], tier="specialised")
async def apply_workflow_adjustment(
    ctx: Call, adjustments: list[dict[str, Any]], dag_id: str = "", reason: str = ""
) -> Heard:
    """Change tasks of the job that runs: all of the changes, or none when the job would not be sound.

    Args:
        adjustments: Each with type (add_node, remove_node, modify_node, change_deps, reprioritize), node_id (the
            task's name) and details: fields of a task as in a job file.
        dag_id: The job; the session's latest when nothing is said.
        reason: Why.
    """
    _job(ctx, dag_id)
    try:
        changes = msgspec.convert(adjustments, list[Adjustment])
    except msgspec.ValidationError as problem:
        raise CannotAdjust(f"this is no list of adjustments: {problem}") from None
    return await _changed(ctx, AdjustPlan(changes, reason, _who(ctx)), "the plan is changed")


@skill(domain="orchestration", keywords=["receive", "update", "workflow", "modified"], tier="specialised")
async def receive_workflow_update(
    ctx: Call, dag_id: str, updated_dag: dict[str, Any], merge_strategy: Strategy = "merge_pending"
) -> Heard:
    """Take other tasks in place of those of the job that runs.

    Args:
        dag_id: The job.
        updated_dag: The tasks by name, each as in a job file.
        merge_strategy: What becomes of tasks that have begun: they stay (merge_pending), go on only where they are the
            same (replace), or are all ended (abort_and_replace).
    """
    job = _job(ctx, dag_id)
    try:
        plan = Job.model_validate({"name": job.name, "tasks": updated_dag})
    except ValidationError as problem:
        raise CannotAdjust("; ".join(str(each["msg"]) for each in problem.errors())) from None
    message = UpdatePlan(plan.model_dump_json(), merge_strategy, "another plan", _who(ctx))
    return await _changed(ctx, message, "the plan is another one now")


@skill(domain="orchestration", keywords=["cancel", "abort", "stop", "workflow"], tier="specialised")
async def receive_workflow_cancellation(
    ctx: Call,
    dag_id: str,
    cleanup_mode: Literal["graceful", "immediate", "wait_current"] = "graceful",
    reason: str = "",
) -> Heard:
    """End the job that runs.

    Args:
        dag_id: The job.
        cleanup_mode: wait_current lets what runs come to its end and begins nothing more; the others stop it as well.
        reason: Why.
    """
    if cleanup_mode != "wait_current":
        return await cancel_execution.function(ctx, dag_id=dag_id, reason=reason)
    _job(ctx, dag_id)
    await ctx.ctx.tell(ctx.address, HaltNow(reason or "nothing more is to be begun", stop_running=False))
    return Heard("nothing more begins; what runs comes to its end", {"job": dag_id})


@skill(domain="orchestration", keywords=["request", "plan", "change", "modify", "architect"], tier="specialised")
async def request_plan_change(
    ctx: Call,
    change_type: ChangeKind,
    reason: str,
    context: dict[str, Any] | None = None,
    suggested_changes: list[dict[str, Any]] | None = None,
) -> Heard:
    """Have the Architect change the plan. A person approves what it proposes, as they do plans.

    Args:
        change_type: What kind of a change.
        reason: Why.
        context: What the Architect should know: failed tasks, what stands in the way.
        suggested_changes: How it might be changed.
    """
    known = {**(context or {}), **({"suggested": suggested_changes} if suggested_changes else {})}
    message = RequestPlanChange(change_type, reason, known, _who(ctx))
    return await _changed(ctx, message, "the Architect thinks about it; see `sylk inbox`")


@skill(domain="orchestration", keywords=["escalate", "blocker", "issue", "stuck"], tier="specialised")
async def escalate_blocker(
    ctx: Call, node_id: str, blocker_type: str, description: str, attempted_resolutions: list[str] | None = None
) -> Heard:
    """Tell the Architect what stands in a task's way, so that the plan is changed.

    Args:
        node_id: The task.
        blocker_type: Of what kind it is.
        description: What it is.
        attempted_resolutions: What was tried.
    """
    _job(ctx)
    name = find_task(node_id, ctx.agent.state.tasks)
    context = {"blocked task": name, "kind": blocker_type, "tried": "; ".join(attempted_resolutions or ["nothing"])}
    message = RequestPlanChange("modify", f"{name} is blocked: {description}", context, _who(ctx))
    return await _changed(ctx, message, "the Architect thinks about it; see `sylk inbox`")


@skill(domain="orchestration", keywords=["workflow"], tier="specialised")
async def workflow(ctx: Call, action: Literal["show", "pause", "resume", "cancel"] = "show", dag_id: str = "") -> Heard:
    """Show the job's tasks, or pause, resume or cancel it.

    Args:
        action: What to do.
        dag_id: The job; the session's latest when nothing is said.
    """
    match action:
        case "show":
            return await get_status.function(ctx, dag_id=dag_id, detailed=True)
        case "pause":
            return await pause_execution.function(ctx, dag_id=dag_id)
        case "resume":
            return await resume_execution.function(ctx, dag_id=dag_id)
        case "cancel":
            return await cancel_execution.function(ctx, dag_id=dag_id)


async def _changed(ctx: Call, message: Request[JobRecord], told: str) -> Heard:
    record = await ctx.ctx.ask(ctx.address, message, timeout=60)
    return Heard(told, {"job": record.job_id, "tasks": {name: task.state for name, task in record.tasks.items()}})


def _who(ctx: Call) -> str:
    return ctx.said_by or "a person"


def _job(ctx: Call, job_id: str = "") -> JobRecord:
    record = ctx.agent.state.record
    if record is None or not record.job_id.startswith(job_id):
        what = f"the job {job_id!r} is not of this session" if job_id else "no job has run in this session"
        raise NoSuchJob(what, hint="see `sylk jobs`")
    return record


ORCHESTRATOR_SKILLS = (
    get_status,
    cancel_execution,
    pause_execution,
    resume_execution,
    get_node_result,
    retry_node,
    skip_node,
    apply_workflow_adjustment,
    receive_workflow_update,
    receive_workflow_cancellation,
    request_plan_change,
    escalate_blocker,
    workflow,
)
