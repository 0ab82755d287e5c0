"""From a pipeline whose Engineer's context is full, or that a person wants replaced, to the one that takes its place.

The Engineer bundles what all three know and asks the Architect; that looks at what is left, and may word it otherwise;
the orchestrator ends the attempt and begins another with it. Until then the old pipeline has everything: what fails on
the way is told to its Engineer, which then goes on itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from sylk_ray.fairness import Lane
from sylk_ray.messaging import Message, Request, said_by
from sylk_ray.pipelines.brief import Brief, Work
from sylk_ray.sessions.records import Loops
from sylk_ray.thinking.summing import Reason, Summary
from sylk_ray.tools import Issue, TestFailure

Step = Literal["request", "examine", "create"]


class EngineerHandoff(msgspec.Struct, frozen=True):
    """What the Engineer was asked, what it knows of it, and which files it has changed. ``turns`` and ``tokens`` were
    used so far, by all who were at it: the limits of the task are for them together."""

    prompt: str
    summary: Summary
    feedback: str = ""
    """Why the work was sent back, if it was."""
    files_changed: list[str] = []
    turns: int = 0
    tokens: int = 0


class InspectorHandoff(msgspec.Struct, frozen=True):
    """What the Inspector has found: of it put right, and of it still open."""

    resolved: list[Issue] = []
    pending: list[Issue] = []

    def after(self, found: Sequence[Issue]) -> InspectorHandoff:
        """With another look, which has found that."""
        known = [*self.resolved, *(issue for issue in self.pending if not _among(issue, found))]
        return InspectorHandoff(known, list(found))


class TesterHandoff(msgspec.Struct, frozen=True):
    """How the tests went last, and what fails still."""

    tests_run: int = 0
    failures: list[TestFailure] = []


class Found(msgspec.Struct, frozen=True):
    """What Inspector and Tester have told their pipeline."""

    inspector: InspectorHandoff = InspectorHandoff()
    tester: TesterHandoff = TesterHandoff()


class PipelineHandoff(msgspec.Struct, frozen=True):
    """Everything that one pipeline leaves to the next; the parts of all three go together or not at all.

    A pipeline is named by its task and attempt (``add_flag#2``). ``work`` is the work so far, on the commit that it was
    begun on. The orchestrator adds the rest: ``index`` counts the handoffs of a task from 0, ``at`` is Unix time in
    seconds, and ``new_pipeline`` stays empty when it came to nothing.
    """

    id: str
    session: str
    task: str
    attempt: int
    reason: Reason
    work: Work
    loops: Loops
    engineer: EngineerHandoff
    found: Found = Found()
    protected: list[str] = []
    """Files that hold others' work, after a merge conflict."""
    index: int = 0
    at: float = 0.0
    job_id: str = ""
    new_pipeline: str = ""
    taken_over: bool = False
    """Whether the new pipeline is at work."""
    failed: str = ""
    """Why it came to nothing, if it did."""

    @property
    def old_pipeline(self) -> str:
        """The one that leaves it."""
        return pipeline_name(self.task, self.attempt)


def pipeline_name(task: str, attempt: int) -> str:
    """What the pipeline of an attempt is called."""
    return f"{task}#{attempt}"


class AllowHandoff(Message, frozen=True):
    """A person wants another pipeline to go on as soon as the Engineer can sum up, or none to do so any more."""

    flow = said_by("orchestrator", to="pipeline")

    attempt: int
    now: bool
    """False: not even when the context is full."""


class WhatWasFound(Request[Found | None], frozen=True):
    """Engineer to its pipeline: what do Inspector and Tester leave? None when the work is to stay where it is."""

    flow = said_by("engineer", to="pipeline")
    remembered = False

    attempt: int


class HandoffRequest(Request[None], frozen=True):
    """The Engineer's context is nearly full, or the person wants it: the rest is for a fresh pipeline. ``used`` is the
    part of the context that is, 0 to 1. Asked again, it is the same request."""

    flow = said_by("engineer", to="architect")
    priority = Lane.HIGH
    spec = ("HANDOFF_REQUEST",)

    brief: Brief
    handoff: PipelineHandoff
    used: float


class ExamineHandoff(Message, frozen=True):
    """The Architect to itself: look at it in its turn."""

    flow = said_by("architect", to="architect")
    priority = Lane.HIGH

    brief: Brief
    handoff: PipelineHandoff


class CreatePipelineWithState(Message, frozen=True):
    """Make a pipeline that goes on from there. ``prompt`` is what its Engineer is asked, when the Architect has worded
    what is left otherwise; empty leaves it."""

    flow = said_by("architect", to="orchestrator")
    priority = Lane.HIGH
    spec = ("CREATE_PIPELINE_WITH_STATE",)

    handoff: PipelineHandoff
    prompt: str = ""


class HandoffComplete(Message, frozen=True):
    """The new pipeline has everything and is at work, the old one is closed, and with it the Engineer that asked."""

    flow = said_by("orchestrator", to="architect")
    spec = ("HANDOFF_COMPLETE",)

    id: str
    task: str
    old_pipeline: str
    new_pipeline: str
    index: int


class HandoffFailed(Request[None], frozen=True):
    """A step of it could not be done: the old pipeline goes on."""

    flow = said_by("engineer", to="orchestrator")
    spec = ("HANDOFF_FAILED",)

    handoff: PipelineHandoff
    step: Step
    reason: str


class WhyNotHandedOff(Request[str | None], frozen=True):
    """Engineer to the orchestrator: why has it come to nothing? None as long as it has not."""

    flow = said_by("engineer", to="orchestrator")
    remembered = False

    id: str
    task: str


def _among(issue: Issue, found: Sequence[Issue]) -> bool:
    """Lines move while others are mended."""
    return any(
        (each.file, each.category, each.message) == (issue.file, issue.category, issue.message) for each in found
    )
