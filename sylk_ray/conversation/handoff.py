"""From a pipeline whose Engineer's context is full to the one that takes its place, with all that the three know."""

from __future__ import annotations

from typing import Literal

import msgspec

from sylk_ray.fairness import Lane
from sylk_ray.messaging import Message, said_by
from sylk_ray.tools import Issue, TestFailure

Reason = Literal["context_full", "asked_by_user"]
Step = Literal["request", "plan", "create", "transfer"]


class EngineerHandoff(msgspec.Struct, frozen=True):
    """What the Engineer was asked, has done, and has left to do; ``notes`` is what is known and written nowhere."""

    prompt: str
    done: list[str] = []
    files_changed: list[str] = []
    remaining: list[str] = []
    notes: str = ""


class InspectorHandoff(msgspec.Struct, frozen=True):
    """What the Inspector has found: in all, of it put right, and of it still open."""

    findings: list[Issue] = []
    resolved: list[Issue] = []
    pending: list[Issue] = []


class TesterHandoff(msgspec.Struct, frozen=True):
    """The tests that are there, how they went last, what fails still, and which are yet to be written."""

    tests_created: list[str] = []
    tests_run: int = 0
    tests_passed: int = 0
    failures: list[TestFailure] = []
    remaining: list[str] = []


class PipelineHandoff(msgspec.Struct, frozen=True):
    """Everything that one pipeline leaves to the next; the parts of all three go together or not at all.

    ``index`` counts the handoffs of a task from 0, so that a chain of them can be followed; ``at`` is Unix time in
    seconds. ``commit`` holds the work so far. ``new_pipeline`` is empty until there is one.
    """

    old_pipeline: str
    session: str
    job_id: str
    task: str
    reason: Reason
    index: int
    at: float
    engineer: EngineerHandoff
    commit: str = ""
    new_pipeline: str = ""
    inspector: InspectorHandoff = InspectorHandoff()
    tester: TesterHandoff = TesterHandoff()


class HandoffRequest(Message, frozen=True):
    """The Engineer's context is nearly full, or the person wants it: the rest is for a fresh pipeline. ``used`` is the
    part of the context that is, from 0 to 1; ``attempt`` how often it was asked."""

    flow = said_by("engineer", to="architect")
    priority = Lane.HIGH
    spec = ("HANDOFF_REQUEST",)
    ahead = True

    handoff_id: str
    task: str
    reason: Reason
    used: float
    engineer: EngineerHandoff
    attempt: int = 1


class CreatePipelineWithState(Message, frozen=True):
    """Make a pipeline that goes on from there. ``prompt`` is what its Engineer is asked, when the Architect has changed
    the plan; empty leaves it."""

    flow = said_by("architect", to="orchestrator")
    priority = Lane.HIGH
    spec = ("CREATE_PIPELINE_WITH_STATE",)
    ahead = True

    handoff_id: str
    handoff: PipelineHandoff
    prompt: str = ""


class HandoffComplete(Message, frozen=True):
    """The new pipeline has everything and is at work, the old one is closed."""

    flow = said_by("orchestrator", "architect", to=("architect", "engineer"))
    spec = ("HANDOFF_COMPLETE",)
    ahead = True

    handoff_id: str
    task: str
    old_pipeline: str
    new_pipeline: str
    index: int


class HandoffFailed(Message, frozen=True):
    """A step of it could not be done, and the old pipeline still has everything."""

    flow = said_by("engineer", "architect", "orchestrator", to=("architect", "orchestrator", "engineer"))
    spec = ("HANDOFF_FAILED",)
    ahead = True

    handoff_id: str
    task: str
    step: Step
    reason: str
    retryable: bool = True
