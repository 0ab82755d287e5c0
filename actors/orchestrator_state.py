"""What a session's orchestrator keeps."""

from __future__ import annotations

import msgspec

from actors.planning_messages import ChangeKind
from sylk_ray.dag import Mode, Progress
from sylk_ray.jobs import Adjustment
from sylk_ray.pipelines.brief import Check
from sylk_ray.pipelines.handoff import PipelineHandoff
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.records import ErrorRecord, TaskRecord


class TaskEntry(msgspec.Struct, frozen=True):
    """One task: its record for people, and where it stands in the graph."""

    record: TaskRecord
    progress: Progress


class Rejected(msgspec.Struct, frozen=True):
    """A plan that a person did not want, and what they said of it."""

    plan: str
    reason: str


class WantedChange(msgspec.Struct, frozen=True):
    """Why a plan that is being carried out is to be changed."""

    kind: ChangeKind
    why: str
    otherwise: ErrorRecord | None = None
    """With which the job ends when it is not."""
    adjustments: list[Adjustment] = []
    """Those that wait for approval."""


class Planning(msgspec.Struct, frozen=True):
    """A request whose tasks are being made, or a change of them, or that waits for approval."""

    answers: list[tuple[str, str]] = []
    """Questions and what a person said."""
    rejected: list[Rejected] = []
    plan: str = ""
    """The one that waits for approval, as a person reads it."""
    number: int = 0
    """Which of the job's plans is being made."""
    change: WantedChange | None = None
    """None for the first plan of a job, before which nothing begins."""


Question = tuple[str, int, str]
"""Of a task's attempt: what its Engineer has asked."""


class Help(msgspec.Struct, frozen=True):
    """What became of an Engineer's question. ``answer`` is None while nobody has said anything to it."""

    asking: str = ""
    """Under which a person is asked."""
    answer: str | None = None


class OrchestratorState(msgspec.Struct):
    """The job's record, its tasks apart, and where its graph stands. The job itself is in the session's directory."""

    record: JobRecord | None = None
    graph: Mode = Mode()
    tasks: dict[str, TaskEntry] = {}
    running: bool = False
    began_at: float = 0.0
    plans: int = 0
    """How often the Architect has begun to plan."""
    checks_attempted: bool = False
    checks_round: int = 0
    """How often the session's checks have begun: after each change that is to mend what they found once more."""
    cancelling: bool = False
    """Whether a person has ended it: then nothing is mended."""
    changes: int = 0
    """How often the Architect was asked to mend the plan because something had failed."""
    end_told: bool = False
    """Whether the Guide has heard of the job's end."""
    admitted: set[tuple[str, int]] = msgspec.field(default_factory=set[tuple[str, int]])
    """The attempts that FairShare has let in and that have not ended."""
    waived: dict[str, tuple[Check, ...]] = {}
    """The checks that a person has let tasks pass without."""
    prompted: dict[str, tuple[str, ...]] = {}
    """What a person has told tasks' Engineers."""
    helps: dict[Question, Help] = {}
    """What Engineers have asked."""
    tokens_asked: str = ""
    """Under which a person is asked for more tokens, while they are."""
    tokens_given: list[int] = []
    """What they have said so far."""
    handoffs: dict[str, list[PipelineHandoff]] = {}
    """What pipelines of tasks have left to others, the last ones of each; also those that came to nothing."""
    may_not_hand_off: set[str] = msgspec.field(default_factory=set[str])
    """The tasks that a person keeps where they are."""
    planning: Planning | None = None
    """None once the tasks are there and may be begun."""
    planned: str = ""
    """The job with the tasks of its plan, as JSON: what is in the file has none until the plan is approved."""
