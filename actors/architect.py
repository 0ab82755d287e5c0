"""Plans: from a request in plain words to tasks for pipelines."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from actors.consulting import Consulting, done_before, preflight_skill
from actors.looking_up import LOOKS_UP, looking_up
from actors.patience import ask_patiently
from actors.planning_messages import Advise, Advised, Change, MakePlan, PlanFailed, PlanMade, PlanQuestion, StopPlanning
from actors.surroundings import SHOWN, surroundings
from actors.thinking import all_told, fitting, think_as, told
from sylk_ray.errors import SylkError
from sylk_ray.jobs import Adjustment, CannotAdjust, Job, adjusted, with_tasks
from sylk_ray.messaging import Address, Message
from sylk_ray.pipelines import Brief, Working
from sylk_ray.pipelines.brief import Assignment
from sylk_ray.pipelines.handoff import (
    CreatePipelineWithState,
    ExamineHandoff,
    HandoffComplete,
    HandoffFate,
    HandoffRequest,
    PipelineHandoff,
)
from sylk_ray.pipelines.worker import Stopped, tool_context, workspace_of
from sylk_ray.runtime import Context, handler
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.directories import SessionDirectory, session_directory
from sylk_ray.sessions.records import PLANNING, ErrorRecord
from sylk_ray.skills import Permission
from sylk_ray.thinking import IN_A_WORKTREE, Bench, Matter, Toolbox, look_with_shell, prompt
from sylk_ray.thinking.loop import Check
from sylk_ray.thinking.toolbox import shortened

ResultT = TypeVar("ResultT", bound=msgspec.Struct)
Said = PlanMade | PlanQuestion | PlanFailed
GRANTED: frozenset[Permission] = frozenset({"filesystem.read", "search"})
TOOLS = {each.name for each in (*IN_A_WORKTREE, look_with_shell)} | LOOKS_UP | {"consult", "plan_preflight"}
"""What a small model may take for the work that it is to plan."""
BEFORE = 3_000
"""Characters of what was done before."""
REVIEWED_WITHIN_S = 240.0
"""Of a handoff: its Engineer waits, and can do without."""


class PlannedTask(msgspec.Struct, frozen=True):
    """One task of a plan."""

    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$", max_length=60, description="In snake_case, what it does.")]
    prompt: Annotated[str, Meta(min_length=1, description="All that its Engineer needs to know and to do.")]
    depends_on: Annotated[
        tuple[str, ...], Meta(description="Names of tasks of this plan that have to be done before it.")
    ] = ()
    criteria: Annotated[tuple[str, ...], Meta(description="What can be checked when it is done.")] = ()


class Planned(msgspec.Struct, frozen=True):
    """What an Architect's model has planned."""

    summary: Annotated[str, Meta(description="What will be done, in one or two sentences.")] = ""
    tasks: Annotated[tuple[PlannedTask, ...], Meta(description="One, or few; none with a question.")] = ()
    risks: Annotated[tuple[str, ...], Meta(description="What can go wrong, and how that is met.")] = ()
    edge_cases: Annotated[tuple[str, ...], Meta(description="Cases that the tasks must not forget.")] = ()
    question: Annotated[str, Meta(description="What the person has to say before there can be a plan.")] = ""


class PlannedChange(msgspec.Struct, frozen=True):
    """What an Architect's model would change of a plan that is being carried out."""

    summary: Annotated[str, Meta(description="What changes and why, in one or two sentences.")] = ""
    tasks: Annotated[
        tuple[PlannedTask, ...],
        Meta(description="New tasks, and tasks of the plan that are to be done otherwise, under their names."),
    ] = ()
    removed: Annotated[tuple[str, ...], Meta(description="Tasks of the plan that are not needed any more.")] = ()
    question: Annotated[str, Meta(description="What the person has to say before the plan can be changed.")] = ""
    give_up: Annotated[str, Meta(description="Why no change of the plan would help, if none would.")] = ""


class HandoffReview(msgspec.Struct, frozen=True):
    """What an Architect's model says to work that another Engineer is to go on with."""

    prompt: Annotated[
        str, Meta(description="The task for the next Engineer, if it is to be asked otherwise; empty to leave it.")
    ] = ""


class Advice(msgspec.Struct, frozen=True):
    """What an Architect's model says to an Engineer's question."""

    answer: Annotated[str, Meta(description="For the Engineer; empty when only a person can say it.")] = ""


class Architect(Working[None]):
    """Looks into the repository as the session's branch has it, and changes nothing."""

    role = "architect"
    about = "plans: turns a request into tasks"

    @handler()
    async def make_plan(self, message: MakePlan, ctx: Context) -> None:
        """Make it, or ask."""
        record, orchestrator = message.record, _orchestrator(ctx)
        try:
            brief, job = _brief(record, message, ctx)
            if message.change is None:
                planned = await self.work(brief, self._think(brief, job, message, ctx))
                said = _plan_of(planned, job, message)
            else:
                now = Job.model_validate_json(message.change.job)
                change = await self.work(brief, self._rethink(brief, now, message, message.change, ctx))
                said = _change_of(change, now, message, message.change)
        except Stopped:
            return
        except SylkError as error:
            said = PlanFailed(record.job_id, message.round, ErrorRecord.of(error))
        await ctx.tell(orchestrator, said)

    @handler()
    async def advise(self, message: Advise, ctx: Context) -> None:
        """Answer an Engineer's question, if the request and the repository do."""
        advice = Advice()
        try:
            brief, job = _brief(message.record, message, ctx)
            advice = await self.work(brief, self._advice(brief, job, message, ctx))
        except Stopped:
            return
        except SylkError as error:
            ctx.log.warning("a question of %s goes to a person: %s", message.task, error)
        answer = advice.answer.strip()
        said = Advised(message.task, message.attempt, message.question, answer)
        await ctx.tell(_orchestrator(ctx), said)

    @handler(concurrent=True)
    async def handoff_requested(self, message: HandoffRequest, ctx: Context) -> None:
        """It is known from now on, and looked at when what comes before it is done."""
        await ctx.tell(ctx.address, ExamineHandoff(message.brief, message.handoff))

    @handler()
    async def examine_handoff(self, message: ExamineHandoff, ctx: Context) -> None:
        """Say whether what is left should be asked otherwise, and have a pipeline made for it."""
        handoff, review = message.handoff, HandoffReview()
        asking = HandoffFate(handoff.id, handoff.task, handoff.attempt)
        # It may have been asked for twice, or nobody waits for it any more.
        if await ask_patiently(ctx, _orchestrator(ctx), asking) != "open":
            return
        try:
            async with asyncio.timeout(REVIEWED_WITHIN_S):
                review = await self._handoff_review(message.brief, handoff, ctx)
        except (SylkError, TimeoutError) as error:
            ctx.log.warning("what is left of %s is asked as it was: %r", handoff.task, error)
        await ctx.tell(_orchestrator(ctx), CreatePipelineWithState(handoff, review.prompt.strip()))

    @handler()
    async def handoff_completed(self, message: HandoffComplete, ctx: Context) -> None:
        """Another pipeline is at work."""
        ctx.log.info("%s goes on with what %s has left", message.new_pipeline, message.old_pipeline)

    @handler(concurrent=True)
    async def stop_planning(self, message: StopPlanning, ctx: Context) -> None:
        """Whatever it is at."""
        await self.stop_attempt(message.round)

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """An error nobody foresaw: there will be no plan."""
        if isinstance(message, MakePlan):
            failed = PlanFailed(message.record.job_id, message.round, ErrorRecord.of(error))
            await ctx.tell(_orchestrator(ctx), failed)
        elif isinstance(message, Advise):
            said = Advised(message.task, message.attempt, message.question, "")
            await ctx.tell(_orchestrator(ctx), said)
        elif isinstance(message, ExamineHandoff):
            await ctx.tell(_orchestrator(ctx), CreatePipelineWithState(message.handoff))

    async def _think(self, brief: Brief, job: Job, message: MakePlan, ctx: Context) -> Planned:
        async def check(planned: Planned, earlier: Sequence[Planned]) -> str:
            """What a task that is alone depends on may be another that was forgotten: it is asked about once."""
            if forgotten := _forgotten(planned).difference(*map(_forgotten, earlier)):
                return (
                    f"{planned.tasks[0].name} depends on {min(forgotten)}, which is no task of this plan: plan that as "
                    "well if it has to be done, and leave depends_on out if it has not"
                )
            if tools := sorted({each.name for each in planned.tasks} & TOOLS):
                return f"{tools[0]} is a tool of yours: name the task after what is changed, and say so in its prompt"
            return _wrong(_meant(planned), job)

        def matter(known: str) -> Matter[Planned]:
            return Matter(
                system=prompt("architect"),
                task=all_told(
                    known,
                    told("Request", job.request or ""),
                    *(told("Said since", each) for each in message.said),
                    told("Now", "Call finish with the plan, if what you have been told is enough for it."),
                ),
                result=Planned,
                about="Give the plan, or a question. Call it once.",
            )

        words = "\n".join([job.request or "", *message.said])
        return await self._look_and_think(brief, words, matter, check, ctx)

    async def _rethink(self, brief: Brief, job: Job, message: MakePlan, change: Change, ctx: Context) -> PlannedChange:
        async def check(planned: PlannedChange, _earlier: Sequence[PlannedChange]) -> str:
            return _wrong_change(planned, job, change)

        def matter(known: str) -> Matter[PlannedChange]:
            return Matter(
                system=prompt("architect_change"),
                task=all_told(
                    known,
                    told("Request", job.request or job.description),
                    told("Why the plan is to be changed", change.why),
                    told("Its tasks, and how they stand", change.situation),
                    told("What they were told to do", _prompts(job)),
                    told("Tasks that failed, and that you have to give again or to remove", change.failed),
                    *(told("Said since", each) for each in message.said),
                    told("Now", "Call finish with the change, when you know why it is needed."),
                ),
                result=PlannedChange,
                about="Give the change, a question, or why you give up. Call it once.",
            )

        words = "\n".join([job.request or "", change.why, *message.said])
        return await self._look_and_think(brief, words, matter, check, ctx)

    async def _advice(self, brief: Brief, job: Job, message: Advise, ctx: Context) -> Advice:
        def matter(known: str) -> Matter[Advice]:
            return Matter(
                system=prompt("architect_advice"),
                task=all_told(
                    known,
                    told("Request", job.request or job.description),
                    told(f"Task {message.task}, as its Engineer was told", message.prompt),
                    told("The Engineer asks", message.question),
                ),
                result=Advice,
                about="Give the answer, or leave it empty when only a person can say it. Call it once.",
            )

        return await self._look_and_think(brief, message.question, matter, None, ctx)

    async def _handoff_review(self, brief: Brief, handoff: PipelineHandoff, ctx: Context) -> HandoffReview:
        left, found = handoff.engineer, handoff.found
        matter = Matter(
            system=prompt("architect_handoff"),
            task=all_told(
                told("Task, as its Engineer was told", left.prompt),
                told("Criteria", brief.assignment.criteria),
                told("The person has said of this task", brief.said),
                told("What the Engineer says of it", left.summary.as_told()),
                told("Files that are changed", left.files_changed),
                told("It was sent back for this", left.feedback),
                told(
                    "What the Inspector still finds",
                    [f"{each.file}: {each.message}" for each in found.inspector.pending],
                ),
                told("Tests that fail", [each.test for each in found.tester.failures]),
            ),
            result=HandoffReview,
            about="Give the task for the next Engineer, or leave it empty. Call it once.",
        )
        toolbox = Toolbox([], GRANTED, Bench(tool_context(brief, ctx, "architect")))
        review, _ = await think_as(self, brief, matter, toolbox, ctx)
        return review

    async def _look_and_think(
        self,
        brief: Brief,
        words: str,
        matter: Callable[[str], Matter[ResultT]],
        check: Check[ResultT] | None,
        ctx: Context,
    ) -> ResultT:
        """In a worktree of the session's head; the matter is made with the files that the ``words`` are about."""

        async with _looking(brief, ctx) as commit:
            known = await surroundings(
                workspace_of(brief, ctx), commit, words, longest=fitting("architect", SHOWN, ctx)
            )
            before = shortened(await done_before(brief, words, ctx), fitting("architect", BEFORE, ctx))
            known = all_told(known, told("What was done on this repository before, and may concern it", before))
            skills = [
                *(*IN_A_WORKTREE, look_with_shell, *await looking_up(brief.repo, ctx)),
                *(preflight_skill(brief, ctx), Consulting(brief, ctx).skill()),
            ]
            toolbox = Toolbox(skills, GRANTED, Bench(tool_context(brief, ctx, "architect")), about=words)
            planned, _ = await think_as(self, brief, matter(known), toolbox, ctx, check=check)
        return planned


def _orchestrator(ctx: Context) -> Address:
    return ctx.address.beside("orchestrator", "main")


def _forgotten(planned: Planned) -> set[str]:
    """What a task that is alone depends on."""
    return set(planned.tasks[0].depends_on) - {planned.tasks[0].name} if len(planned.tasks) == 1 else set()


def _meant(planned: Planned) -> Planned:
    """A task that is alone waits for none: what a small model has it depend on are its own steps."""
    if len(planned.tasks) != 1:
        return planned
    return msgspec.structs.replace(planned, tasks=(msgspec.structs.replace(planned.tasks[0], depends_on=()),))


def _plan_of(given: Planned, job: Job, message: MakePlan) -> Said:
    planned, job_id, round_ = _meant(given), message.record.job_id, message.round
    if wrong := _wrong(planned, job):
        error = ErrorRecord("no_plan", f"the Architect's last plan will not do: {wrong}", "say more in the request")
        return PlanFailed(job_id, round_, error)
    if planned.question:
        return PlanQuestion(job_id, round_, planned.question)
    return PlanMade(job_id, round_, job_of(planned, job).model_dump_json(), planned.summary, as_text(planned))


def _change_of(planned: PlannedChange, job: Job, message: MakePlan, change: Change) -> Said:
    job_id, round_ = message.record.job_id, message.round
    if planned.give_up:
        return PlanFailed(job_id, round_, ErrorRecord("given_up", f"the Architect gives up: {planned.give_up}"))
    if wrong := _wrong_change(planned, job, change):
        return PlanFailed(job_id, round_, ErrorRecord("no_plan", f"the Architect's last plan will not do: {wrong}"))
    if planned.question:
        return PlanQuestion(job_id, round_, planned.question)
    return PlanMade(job_id, round_, "", planned.summary, change_as_text(planned), adjustments_of(planned, job))


def adjustments_of(planned: PlannedChange, job: Job) -> list[Adjustment]:
    """What has to be done to the job."""
    changes = [Adjustment("remove_node", name) for name in planned.removed]
    for each in planned.tasks:
        known = each.name in job.tasks
        # Actions that were declared would be done in place of the prompt.
        instead: dict[str, Any] = {"engineer": []} if known and job.tasks[each.name].engineer else {}
        changes.append(Adjustment("modify_node" if known else "add_node", each.name, {**_fields(each), **instead}))
    return changes


def change_as_text(planned: PlannedChange) -> str:
    """A change of a plan as a person reads it."""
    text = as_text(Planned(planned.summary, planned.tasks))
    return f"{text}\nnot needed any more: {', '.join(planned.removed)}" if planned.removed else text


def _wrong_change(planned: PlannedChange, job: Job, change: Change) -> str:
    given = [bool(planned.tasks or planned.removed), bool(planned.question), bool(planned.give_up)]
    if sum(given) > 1:
        names = [name for name, there in zip(("tasks", "question", "give_up"), given, strict=True) if there]
        return f"you have given {' and '.join(names)}: give one of them, and leave the others out"
    if not any(given):
        return "give either tasks and what is removed, or a question, or why you give up"
    if not given[0]:
        return ""
    named = {*(each.name for each in planned.tasks), *planned.removed}
    if done := sorted(named & set(change.done)):
        return f"{done[0]} is done and stays as it is: give another task"
    if left := [name for name in change.failed if name not in named]:
        return f"{left[0]} has failed: give it again under its name, otherwise, or remove it"
    try:
        adjusted(job, adjustments_of(planned, job))
    except CannotAdjust as problem:
        return problem.message
    return ""


def _prompts(job: Job) -> list[str]:
    return [f"{name}: {task.prompt or task.description or 'declared actions'}" for name, task in job.tasks.items()]


def job_of(planned: Planned, job: Job) -> Job:
    """The job with the tasks of a plan. Raises CannotAdjust."""
    prompts = (msgspec.structs.replace(each, prompt=_with_edges(each.prompt, planned)) for each in planned.tasks)
    return with_tasks(job, {each.name: _fields(each) for each in prompts})


def _fields(task: PlannedTask) -> dict[str, Any]:
    return {
        "description": task.name.replace("_", " "),
        "prompt": task.prompt,
        "literal": True,
        "depends_on": list(task.depends_on),
        "criteria": list(task.criteria),
    }


def as_text(planned: Planned) -> str:
    """A plan as a person reads it."""
    lines = [planned.summary] if planned.summary else []
    for number, task in enumerate(planned.tasks, 1):
        after = f" (after {', '.join(task.depends_on)})" if task.depends_on else ""
        lines += [f"{number}. {task.name}{after}", *(f"   {line}" for line in task.prompt.strip().splitlines())]
        lines += [f"   - {each}" for each in task.criteria]
    for title, said in (("risks", planned.risks), ("edge cases", planned.edge_cases)):
        if said:
            lines += [f"{title}:", *(f"- {each}" for each in said)]
    return "\n".join(lines)


def _wrong(planned: Planned, job: Job) -> str:
    if planned.question and not planned.tasks:
        return ""
    if not planned.tasks:
        return "there are no tasks: give at least one, or ask a question"
    if planned.question:
        return "give either tasks or a question"
    names = [each.name for each in planned.tasks]
    if twice := {name for name in names if names.count(name) > 1}:
        return f"two tasks are named {min(twice)}"
    try:
        job_of(planned, job)
    except CannotAdjust as problem:
        return problem.message
    return ""


def _with_edges(text: str, planned: Planned) -> str:
    if not planned.edge_cases:
        return text
    return f"{text}\n\nCases that must not be forgotten, where they concern this task:\n" + "\n".join(
        f"- {each}" for each in planned.edge_cases
    )


def _brief(record: JobRecord, message: MakePlan | Advise, ctx: Context) -> tuple[Brief, Job]:
    directory = SessionDirectory(session_directory(ctx.settings.home, record.session_id))
    job = Job.model_validate_json(directory.job_of(record.job_id).read_bytes())
    job = job.model_copy(update={"tasks": {}})
    brief = Brief(
        session=record.session_id,
        session_name=record.session,
        repo=record.repo,
        task=PLANNING,
        attempt=message.round,
        assignment_json=Assignment(prompt=job.request or "", thinking=job.thinking).model_dump_json(),
        limits_json=job.limits.model_dump_json(),
        sandbox_json=job.sandbox.model_dump_json(),
        max_loops=0,
        base=record.base,
    )
    return brief, job


@contextlib.asynccontextmanager
async def _looking(brief: Brief, ctx: Context) -> AsyncGenerator[str]:
    """A worktree of the session's head, and which commit that is. It is opened anew after a crash: nothing in it is
    worth keeping."""
    workspace = workspace_of(brief, ctx)
    await workspace.close_worktree(brief.task)
    commit = await workspace.open_worktree(brief.task)
    try:
        yield commit
    finally:
        await workspace.close_worktree(brief.task)
