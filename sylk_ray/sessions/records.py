"""What is kept of sessions, jobs and tasks, and shown to people: plain structs, the same on disk and on the wire."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.fairness import Group


class SessionState(StrEnum):
    """Where a session is in its life."""

    CREATED = "created"
    ACTIVE = "active"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    FAILED = "failed"


_OVER = frozenset({SessionState.COMPLETED, SessionState.FAILED})
_NEXT: dict[SessionState, frozenset[SessionState]] = {
    SessionState.CREATED: frozenset({SessionState.ACTIVE, SessionState.PAUSED, SessionState.SUSPENDED}) | _OVER,
    SessionState.ACTIVE: frozenset({SessionState.PAUSED, SessionState.SUSPENDED}) | _OVER,
    # What ran when it was paused may come to its end, and the job with it.
    SessionState.PAUSED: frozenset({SessionState.ACTIVE, SessionState.SUSPENDED}) | _OVER,
    SessionState.SUSPENDED: frozenset({SessionState.ACTIVE}) | _OVER,
    SessionState.COMPLETED: frozenset(),
    SessionState.FAILED: frozenset(),
}


class IllegalSessionState(SylkError):
    """A session cannot go from where it is to where it was told to."""

    code = "illegal_session_state"


class SessionRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One session. ``base`` is the commit it started from; times are Unix seconds, 0 for not yet.

    ``job`` is its latest job. A ``standing`` session was made by a person and outlives its jobs, which run one after
    the other; any other ends with its job. ``incarnation`` is the runtime that it was last active in, and ``reason``
    says why it is in its state, when that is not plain.
    """

    id: str
    name: str
    repo: str
    branch: str
    base: str
    state: SessionState = SessionState.CREATED
    created_at: float = 0.0
    ended_at: float = 0.0
    job: str = ""
    closed: bool = False
    standing: bool = False
    description: str = ""
    group: Group = Group()
    incarnation: str = ""
    reason: str = ""

    @property
    def over(self) -> bool:
        """Whether it does nothing more."""
        return self.closed or self.state in _OVER

    def moved(self, state: SessionState) -> SessionRecord:
        """The record in another state; raises IllegalSessionState."""
        if state not in _NEXT[self.state] or self.closed:
            told = f"{self.state}, and closed," if self.closed else str(self.state)
            raise IllegalSessionState(f"session {self.name} is {told} and cannot become {state}")
        return msgspec.structs.replace(self, state=state, reason="")


class ErrorRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why something failed, for people and programs."""

    type: str
    message: str
    hint: str = ""

    @classmethod
    def of(cls, error: Exception) -> ErrorRecord:
        """From any exception; a SylkError brings its code and hint."""
        if isinstance(error, SylkError):
            return cls(error.code, error.message, error.hint)
        return cls(type(error).__name__, str(error))


class Loops(msgspec.Struct, frozen=True):
    """How often work was sent back, and by whom."""

    inspector: int = 0
    tester: int = 0
    merge: int = 0


class Override(msgspec.Struct, frozen=True):
    """An issue that a person lets pass: its id, what it says, and why."""

    issue: str
    told: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.issue}: {self.told}" + (f" ({self.reason})" if self.reason else "")


class TaskRecord(msgspec.Struct, frozen=True):
    """One task of a job. ``state`` is the node's state in lower case; ``phase`` says what its pipeline is at."""

    name: str
    state: str = "pending"
    phase: str = ""
    layer: int = 0
    attempts: int = 0
    loops: Loops = Loops()
    started_at: float = 0.0
    duration_s: float = 0.0
    files_changed: list[str] = []
    lines_added: int = 0
    lines_removed: int = 0
    commit: str | None = None
    reason: str = ""
    """Why it was skipped or cancelled."""
    error: ErrorRecord | None = None
    waived: list[str] = []
    """The checks that a person has let it pass without: ``inspector``, ``tester``."""
    overridden: list[Override] = []
    """The issues that a person has let it pass with."""
    handoffs: int = 0
    """How often another pipeline went on with it."""


class JobState(StrEnum):
    """``prepared`` waits for whoever starts it, ``queued`` for its turn, ``paused`` and ``suspended`` for being
    resumed; ``running`` includes its clean-up."""

    PREPARED = "prepared"
    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)

    @property
    def waiting(self) -> bool:
        """Whether it does not run now, for a reason, and may later."""
        return self in (JobState.QUEUED, JobState.PAUSED, JobState.SUSPENDED)


class Grants(msgspec.Struct, frozen=True):
    """What the person granted the job's tools beyond their worktree; kept with the job."""

    write: list[str] = []
    network: bool = False
    env: list[str] = []
    read: list[str] = []


PLANNING = "architect-looks"
"""What the Architect's part of a job is called, where tasks have their names; no task can have it."""


class Asking(msgspec.Struct, frozen=True):
    """Something that a person is asked. ``until`` is Unix time in seconds; nobody waits any longer."""

    id: str
    kind: Literal["plan", "question"]
    text: str
    by: str
    """The role that asks."""
    at: float
    until: float


class JobRecord(msgspec.Struct, frozen=True):
    """One job. ``job_id`` names it everywhere; ``ray_job`` is its submission on the Ray dashboard, if it has one."""

    job_id: str
    name: str
    session_id: str
    session: str
    repo: str
    branch: str
    status: JobState
    submitted_at: float
    base: str = ""
    commit: str | None = None
    started_at: float = 0.0
    duration_s: float = 0.0
    tasks: dict[str, TaskRecord] = {}
    checks: TaskRecord | None = None
    """The session-wide Inspector and Tester (``finally:`` in the job), when the job has them."""
    grants: Grants = Grants()
    error: ErrorRecord | None = None
    warnings: list[str] = []
    ray_job: str = ""
    waiting: str = ""
    """Why it does not run yet, or not now: its place in line and what it waits for."""
    begun: bool = False
    """Whether it has ever run."""
    first_event: int = 0
    """The number of the session's last event before this job's own."""
    trace: str = ""
    """The trace that it was submitted in. What it does is of that, whoever starts it, lets it in or resumes it."""
    asking: list[Asking] = []
    """What it waits for a person to say."""
