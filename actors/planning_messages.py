"""What an orchestrator, the Architect and a person say to each other until a request is a plan."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sylk_ray.fairness import Lane
from sylk_ray.jobs import Adjustment, Strategy
from sylk_ray.messaging import Message, Request, said_by
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.records import ErrorRecord

ChangeKind = Literal["extend", "modify", "replace", "fix"]
"""More tasks; others; another plan altogether; or one that mends what has failed."""


class Change(msgspec.Struct, frozen=True):
    """What is wanted of a plan that is being carried out, and how it stands: ``failed`` tasks have to be dealt with,
    ``done`` ones stay as they are."""

    kind: ChangeKind
    why: str
    situation: str
    job: str
    """The whole job as it is now, as JSON."""
    failed: tuple[str, ...] = ()
    done: tuple[str, ...] = ()


class MakePlan(Message, frozen=True):
    """Make tasks of the request of the job that stands in the session's directory, or a ``change`` of what was made.
    ``round`` counts from 1 how often the job's plan was thought about; ``said`` is what a person has
    answered, or not wanted, so far."""

    flow = said_by("orchestrator", to="architect")
    spec = ("PLAN_REQUEST", "PLAN_CHANGE_REQUEST")

    record: JobRecord
    round: int
    said: list[str] = []
    change: Change | None = None


class PlanMade(Message, frozen=True):
    """The plan: the whole job, as JSON, or ``adjustments`` of one that is being carried out; and the same as a person
    reads it."""

    flow = said_by("architect", to="orchestrator")
    spec = ("PLAN_READY", "PLAN_CHANGE_RESPONSE")

    job_id: str
    round: int
    job: str
    summary: str
    told: str
    adjustments: list[Adjustment] = []


class PlanQuestion(Message, frozen=True):
    """The plan depends on an answer."""

    flow = said_by("architect", to="orchestrator")

    job_id: str
    round: int
    question: str


class PlanFailed(Message, frozen=True):
    """There will be no plan."""

    flow = said_by("architect", to="orchestrator")

    job_id: str
    round: int
    error: ErrorRecord


class StopPlanning(Request[None], frozen=True):
    """The plan is not wanted any more."""

    flow = said_by("orchestrator", to="architect")
    priority = Lane.HIGH

    round: int


class Decide(Request[JobRecord], frozen=True):
    """A person decides what they are asked: to approve, to deny (with a reason: to have it done otherwise), or answers
    a question. What was decided already is refused (NotAsked)."""

    flow = said_by("user", to="orchestrator")
    priority = Lane.HIGH

    asking: str
    decision: Literal["approve", "deny", "answer"]
    text: str = ""
    who: str = ""


class AdjustPlan(Request[JobRecord], frozen=True):
    """Change the plan that is being carried out: all of it, or nothing when that would not be sound (CannotAdjust)."""

    flow = said_by("user", "orchestrator", to="orchestrator")
    priority = Lane.HIGH
    spec = ("WORKFLOW_ADJUST",)

    adjustments: list[Adjustment]
    why: str = ""
    who: str = ""


class UpdatePlan(Request[JobRecord], frozen=True):
    """Take the tasks of ``job``, a whole job as JSON, in place of those there are."""

    flow = said_by("user", "orchestrator", to="orchestrator")
    priority = Lane.HIGH
    spec = ("WORKFLOW_UPDATE",)

    job: str
    strategy: Strategy = "merge_pending"
    why: str = ""
    who: str = ""


class RetryTask(Request[JobRecord], frozen=True):
    """Try a task again that has failed or was interrupted, with all its tries."""

    flow = said_by("user", "orchestrator", to="orchestrator")
    priority = Lane.HIGH

    task: str
    who: str = ""


class SkipTask(Request[JobRecord], frozen=True):
    """Do without a task; what depends on it goes on."""

    flow = said_by("user", "orchestrator", to="orchestrator")
    priority = Lane.HIGH

    task: str
    reason: str = ""
    who: str = ""


class RequestPlanChange(Request[JobRecord], frozen=True):
    """Have the Architect change the plan; a person approves it as they do plans."""

    flow = said_by("user", "orchestrator", to="orchestrator")
    spec = ("PLAN_CHANGE_REQUEST",)

    change: ChangeKind
    reason: str
    context: dict[str, Any] = {}
    who: str = ""


class Advise(Message, frozen=True):
    """An Engineer has a question about its task. ``round`` counts as that of MakePlan."""

    flow = said_by("orchestrator", to="architect")
    spec = ("ENGINEER_CLARIFY",)

    record: JobRecord
    round: int
    task: str
    attempt: int
    question: str
    prompt: str
    """What the task was told to do."""


class Advised(Message, frozen=True):
    """What the Architect says to it; empty when a person has to say it."""

    flow = said_by("architect", to="orchestrator")
    spec = ("ARCHITECT_CLARIFY_RESPONSE",)

    task: str
    attempt: int
    question: str
    answer: str
