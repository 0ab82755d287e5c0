"""What a session's orchestrator keeps."""

from __future__ import annotations

import msgspec

from sylk_ray.dag import Mode, Progress
from sylk_ray.pipelines.messages import Check
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.records import TaskRecord


class TaskEntry(msgspec.Struct, frozen=True):
    """One task: its record for people, and where it stands in the graph."""

    record: TaskRecord
    progress: Progress


class Rejected(msgspec.Struct, frozen=True):
    """A plan that a person did not want, and what they said of it."""

    plan: str
    reason: str


class Planning(msgspec.Struct, frozen=True):
    """A request whose tasks are being made, or wait for approval."""

    answers: list[tuple[str, str]] = []
    """Questions and what a person said."""
    rejected: list[Rejected] = []
    plan: str = ""
    """The one that waits for approval, as a person reads it."""


class OrchestratorState(msgspec.Struct):
    """The job's record, its tasks apart, and where its graph stands. The job itself is in the session's directory."""

    record: JobRecord | None = None
    graph: Mode = Mode()
    tasks: dict[str, TaskEntry] = {}
    running: bool = False
    began_at: float = 0.0
    checks_attempted: bool = False
    end_told: bool = False
    """Whether the Guide has heard of the job's end."""
    admitted: set[tuple[str, int]] = msgspec.field(default_factory=set[tuple[str, int]])
    """The attempts that FairShare has let in and that have not ended."""
    waived: dict[str, tuple[Check, ...]] = {}
    """The checks that a person has let tasks pass without."""
    planning: Planning | None = None
    """None once the tasks are there and may be begun."""
    planned: str = ""
    """The job with the tasks of its plan, as JSON: what is in the file has none until the plan is approved."""
