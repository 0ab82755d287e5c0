"""What an orchestrator, a pipeline and its three agents say to each other."""

from __future__ import annotations

import msgspec

from sylk_ray.fairness import Lane
from sylk_ray.messaging import Message, Request, said_by
from sylk_ray.pipelines.brief import Brief, Check, Feedback, Work
from sylk_ray.pipelines.handoff import PipelineHandoff
from sylk_ray.sessions.records import ErrorRecord, Loops, Override

WORKERS = ("engineer", "inspector", "tester")
"""The roles of a pipeline's three agents, in the order in which work goes through them."""

# -- orchestrator to pipeline --------------------------------------------------------------------------------------


class StartPipeline(Message, frozen=True):
    """Do the task, or go on with it where another pipeline has left it."""

    flow = said_by("orchestrator", to="pipeline")
    spec = ("TASK_DISPATCH",)

    brief: Brief
    handoff: PipelineHandoff | None = None
    may_hand_off: bool = True


class StopPipeline(Message, frozen=True):
    """End the attempt: kill its tools, remove its worktree, and say PipelineStopped."""

    flow = said_by("orchestrator", to="pipeline")
    priority = Lane.HIGH

    attempt: int
    reason: str


class FinishStopping(Message, frozen=True):
    """The pipeline to itself: the attempt that was cut short is to be cleared away."""

    flow = said_by("pipeline", to="pipeline")
    priority = Lane.HIGH

    attempt: int


class Waive(Message, frozen=True):
    """A person lets the attempt pass without one of its checks, from now on, also if that is at work."""

    flow = said_by("orchestrator", to="pipeline")

    attempt: int
    check: Check


class Overrule(Message, frozen=True):
    """A person lets the attempt pass with an issue, from the next look at it on."""

    flow = said_by("orchestrator", to="pipeline")

    attempt: int
    override: Override


class TaskStatus(msgspec.Struct, frozen=True):
    """How an attempt is going, as its pipeline knows it."""

    attempt: int
    phase: str
    loops: Loops
    waived: tuple[Check, ...] = ()
    files_changed: list[str] = []
    """Of its worktree as it is now, against the commit that it began from."""


class DescribeTask(Request[TaskStatus | None], frozen=True):
    """How is the attempt going? None when there is none."""

    flow = said_by("orchestrator", to="pipeline")
    remembered = False


# -- pipeline to orchestrator --------------------------------------------------------------------------------------


class PipelinePhase(Message, frozen=True):
    """The pipeline has come to another phase."""

    flow = said_by("pipeline", to="orchestrator")

    task: str
    attempt: int
    phase: str
    loops: Loops


class PipelineResult(msgspec.Struct, frozen=True):
    """What a task came to; children see it as ``tasks.<name>``."""

    files_changed: list[str] = []
    lines_added: int = 0
    lines_removed: int = 0
    output: str = ""
    commit: str | None = None


class SlotWait(Message, frozen=True):
    """A worker to the orchestrator: the attempt waits for a CPU slot, or (``over``) does so no more. Its time limit
    does not count meanwhile."""

    flow = said_by(*WORKERS, to="orchestrator")
    fleeting = True

    task: str
    attempt: int
    over: bool = False


class MergeWork(Message, frozen=True):
    """Merge passing work. The orchestrator takes one at a time and answers with Merged; when it has merged, the task
    has succeeded."""

    flow = said_by("pipeline", to="orchestrator")
    spec = ("PIPELINE_COMPLETE", "TASK_COMPLETE")

    task: str
    attempt: int
    commit: str | None
    loops: Loops
    result: PipelineResult


class PipelineFailed(Message, frozen=True):
    """The attempt failed; trying again may help when ``retryable``."""

    flow = said_by("pipeline", to="orchestrator")
    spec = ("PIPELINE_FAILED", "TASK_FAILED")

    task: str
    attempt: int
    error: ErrorRecord
    loops: Loops
    retryable: bool = True
    result: PipelineResult = PipelineResult()


class PipelineStopped(Message, frozen=True):
    """The attempt was stopped and has left nothing behind."""

    flow = said_by("pipeline", to="orchestrator")

    task: str
    attempt: int


class ChecksPassed(Message, frozen=True):
    """The session-wide Inspector and Tester are content."""

    flow = said_by("pipeline", to="orchestrator")
    spec = ("PIPELINE_COMPLETE",)

    loops: Loops


# -- orchestrator to pipeline, in the end -----------------------------------------------------------------------------


class Merged(Message, frozen=True):
    """What became of MergeWork: the task's commit on the session's branch, None when there was nothing to merge; or
    the files in conflict. ``work`` is what was to be merged."""

    flow = said_by("orchestrator", to="pipeline")

    attempt: int
    commit: str | None
    conflicts: list[str] = []


# -- within the pipeline, on its own bus -----------------------------------------------------------------------------


class Implement(Message, frozen=True):
    """Pipeline to Engineer: do the task's actions on ``base``. After a merge conflict, ``protected`` names the
    files that hold others' work now; with a ``handoff``, go on from there."""

    flow = said_by("pipeline", to="engineer")
    spec = ("TASK_DISPATCH",)

    brief: Brief
    base: str
    loops: Loops
    protected: list[str] = []
    handoff: PipelineHandoff | None = None


class Inspect(Message, frozen=True):
    """Engineer to Inspector: look at this work."""

    flow = said_by("engineer", "pipeline", to="inspector")

    brief: Brief
    work: Work
    loops: Loops


class Test(Message, frozen=True):
    """Inspector to Tester, or the pipeline where the Inspector is done without: test this work."""

    flow = said_by("inspector", "pipeline", to="tester")

    brief: Brief
    work: Work
    loops: Loops


class SendBack(Message, frozen=True):
    """Inspector or Tester to Engineer: do better."""

    flow = said_by("inspector", "tester", to="engineer")
    spec = ("INSPECTOR_FEEDBACK", "TESTER_FEEDBACK")

    brief: Brief
    work: Work
    loops: Loops
    feedback: Feedback


class EngineerDone(Message, frozen=True):
    """Engineer to pipeline: the work is with the Inspector."""

    flow = said_by("engineer", to="pipeline")
    spec = ("TASK_COMPLETE",)

    attempt: int
    loops: Loops


class InspectorDone(Message, frozen=True):
    """Inspector to pipeline: passed on to the Tester, sent back, or (``final``) failed."""

    flow = said_by("inspector", to="pipeline")

    attempt: int
    loops: Loops
    feedback: Feedback | None = None
    final: bool = False
    work: Work | None = None
    """With a ``final`` verdict: what it is on, in case a person does without it meanwhile."""


class TesterDone(Message, frozen=True):
    """Tester to pipeline: passed, sent back, or (``final``) failed."""

    flow = said_by("tester", to="pipeline")

    attempt: int
    loops: Loops
    work: Work
    feedback: Feedback | None = None
    final: bool = False
    tests_run: int = 0


class WorkerFailed(Message, frozen=True):
    """Any of the three to the pipeline: it cannot be done."""

    flow = said_by(*WORKERS, to="pipeline")
    spec = ("TASK_FAILED",)

    attempt: int
    loops: Loops
    error: ErrorRecord
    retryable: bool = True


class StopWork(Request[None], frozen=True):
    """Pipeline to any of the three: stop what you do for this attempt and before; answered when nothing runs."""

    flow = said_by("pipeline", to=WORKERS)
    priority = Lane.HIGH

    attempt: int


class WaiveCheck(Message, frozen=True):
    """Pipeline to Inspector or Tester: let the work of this attempt pass, also what you are at."""

    flow = said_by("pipeline", to=("inspector", "tester"))

    attempt: int


class WhatIsWaived(Request[int], frozen=True):
    """Inspector or Tester to the pipeline, when they come to life: the attempt whose check is waived; 0 for none."""

    flow = said_by("inspector", "tester", to="pipeline")
    remembered = False


class WhatIsOverridden(Request[list[Override]], frozen=True):
    """Inspector to the pipeline: which issues may the work pass with?"""

    flow = said_by("inspector", to="pipeline")
    remembered = False


class FinishWork(Request[None], frozen=True):
    """After StopWork, and answered in its turn: nothing of the attempt waits in the mailbox any more."""

    flow = said_by("pipeline", to=WORKERS)

    attempt: int
