"""What an orchestrator, the Architect and a person say to each other until a request is a plan."""

from __future__ import annotations

from typing import Literal

from sylk_ray.fairness import Lane
from sylk_ray.messaging import Message, Request, said_by
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.records import ErrorRecord


class MakePlan(Message, frozen=True):
    """Make tasks of the request of the job that stands in the session's directory. ``round`` counts the tries from 1;
    ``said`` is what a person has answered, or not wanted, so far."""

    flow = said_by("orchestrator", to="architect")
    spec = ("PLAN_REQUEST",)

    record: JobRecord
    round: int
    said: list[str] = []


class PlanMade(Message, frozen=True):
    """The plan: the whole job, as JSON, and the same as a person reads it."""

    flow = said_by("architect", to="orchestrator")
    spec = ("PLAN_READY",)

    job_id: str
    round: int
    job: str
    summary: str
    told: str


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
