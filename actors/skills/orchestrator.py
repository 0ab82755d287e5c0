"""What a session's orchestrator can do when it is asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from actors.task_views import describe_job, describe_task, task_data
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
    workflow,
)
