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
        known = [*self.resolved, *self.pending]
        gone = [issue for issue in known if not _among(issue, found)]
        return InspectorHandoff(gone, list(found))


class TesterHandoff(msgspec.Struct, frozen=True):
    """The tests that there are for the work, how they went last, and what fails still."""

    tests_created: list[str] = []
    tests_run: int = 0
    failures: list[TestFailure] = []


class Found(msgspec.Struct, frozen=True):
    """What Inspector and Tester have told their pipeline."""

    inspector: InspectorHandoff = InspectorHandoff()
    tester: TesterHandoff = TesterHandoff()


class PipelineHandoff(msgspec.Struct, frozen=True):
    """Everything that one pipeline leaves to the next; the parts of all three go together or not at all.

    A pipeline is named by its task and attempt (``add_flag#2``). ``work`` is the work so far, on the commit that it was
    begun on; ``used`` the part of the model's window that was full, 0 to 1. The orchestrator adds the rest: ``index``
    counts the handoffs of a task that were taken over, from 0, ``at`` is Unix time in seconds, and ``new_pipeline``
    stays empty when it came to nothing.
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
    used: float = 0.0
    wishes: int = 0
    """How many wishes of a person for it its Engineer has heard."""
    index: int = 0
    at: float = 0.0
    job_id: str = ""
    new_pipeline: str = ""
    taken_over: bool = False
    """Whether the new pipeline is at work."""
    failed: str = ""
    """Why it came to nothing, if it did."""

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.taken_over or self.failed != ""

    @property
    def old_pipeline(self) -> str:
        """The one that leaves it."""
        return pipeline_name(self.task, self.attempt)


def pipeline_name(task: str, attempt: int) -> str:
    """What the pipeline of an attempt is called."""
    return f"{task}#{attempt}"


class SteerHandoff(Message, frozen=True):
    """To a pipeline: another is to go on as soon as the Engineer can sum up (``now``), or none is to, not even when the
    context is full (``never``); or what was wished for came to nothing (``tried``)."""

    flow = said_by("orchestrator", to="pipeline")

    attempt: int
    wish: Literal["now", "never", "tried"]
    wishes: int = 0
    """With ``tried``: how many there were."""


class WhatWasFound(Request[Found | None], frozen=True):
    """Engineer to its pipeline: what do Inspector and Tester leave? None when the work is to stay where it is."""

    flow = said_by("engineer", to="pipeline")
    remembered = False

    attempt: int


class HandoffRequest(Request[None], frozen=True):
    """The Engineer's context is nearly full, or the person wants it: the rest is for a fresh pipeline. Asked again, it
    is the same request."""

    flow = said_by("engineer", to="architect")
    priority = Lane.HIGH
    spec = ("HANDOFF_REQUEST",)

    brief: Brief
    handoff: PipelineHandoff


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


Fate = Literal["open", "unwanted", "failed", "over"]
"""Of a handoff: nothing is decided; a person does not want it; the old pipeline goes on; its attempt has ended, or is
ending."""


class HandoffFailed(Request[Fate], frozen=True):
    """A step of it could not be done: the old pipeline goes on, unless it is over meanwhile."""

    flow = said_by("engineer", to="orchestrator")
    spec = ("HANDOFF_FAILED",)

    handoff: PipelineHandoff
    step: Step
    reason: str


class HandoffFate(Request[Fate], frozen=True):
    """Who has asked for it, or examines it, to the orchestrator: what has become of it?"""

    flow = said_by("engineer", "architect", to="orchestrator")
    remembered = False

    id: str
    task: str
    attempt: int


def _among(issue: Issue, found: Sequence[Issue]) -> bool:
    """Lines move while others are mended."""
    return any(
        (each.file, each.category, each.message) == (issue.file, issue.category, issue.message) for each in found
    )
