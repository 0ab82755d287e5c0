"""What the Guide can be asked about jobs and sessions."""

from __future__ import annotations

from sylk_ray.fairness import Group, Lane
from sylk_ray.messaging import SHARED, Address, Message, Request, said_by
from sylk_ray.sessions.records import JobRecord, SessionRecord

GUIDE = Address(SHARED, "guide", "main")


class SubmitJob(Request[JobRecord], frozen=True):
    """Take a job. ``job`` is the canonical JSON of a ``sylk_ray.jobs.Job``.

    ``session`` names a standing session that has no job at work, or a new one that is made with its branch; empty
    makes a name from the job's. ``start`` runs the job at once; otherwise it waits, prepared, for StartJob. When
    enough sessions are at work it is queued, or without ``queue`` refused (TooMany). Answers InputError when the
    repository, the branch or the session's name will not do; nothing was changed then.
    """

    flow = said_by("user", to="guide")

    job: str
    repo: str
    session: str = ""
    start: bool = True
    queue: bool = True


class StartJob(Request[JobRecord], frozen=True):
    """Run a prepared job, or have it stand in line; a job that runs or has run is answered as it is."""

    flow = said_by("user", to="guide")

    job_id: str
    ray_job: str = ""
    queue: bool = True


class CancelJob(Request[JobRecord], frozen=True):
    """Stop a job: running tools are killed, the branch keeps what was merged."""

    flow = said_by("user", "orchestrator", to="guide")
    priority = Lane.HIGH
    spec = ("DAG_CANCEL",)

    job_id: str
    reason: str = "a person cancelled it"


class GetJob(Request[JobRecord], frozen=True):
    """One job, by its id or by an unambiguous beginning of it."""

    flow = said_by("user", to="guide")

    job_id: str


class ListJobs(Request[list[JobRecord]], frozen=True):
    """Every job that is known, the newest first."""

    flow = said_by("user", "router", "guide", to="guide")


class ListSessions(Request[list[SessionRecord]], frozen=True):
    """Every session that is not closed, the newest first; ``closed`` ones as well when asked."""

    flow = said_by("user", "router", "guide", to="guide")

    closed: bool = False


class GetSession(Request[SessionRecord], frozen=True):
    """One session, by id or name."""

    flow = said_by("user", "router", "guide", to="guide")

    session: str


class EndSession(Request[SessionRecord], frozen=True):
    """Close a session: cancel its job if it runs, remove worktrees and its directory's work.

    Its branch stays, unless ``delete_branch``.
    """

    flow = said_by("user", "router", "guide", to="guide")

    session: str
    delete_branch: bool = False


class CreateSession(Request[SessionRecord], frozen=True):
    """Make a standing session and its branch, for jobs to come."""

    flow = said_by("user", "router", "guide", to="guide")

    name: str
    repo: str
    description: str = ""
    group: Group = Group()


class PauseSession(Request[SessionRecord], frozen=True):
    """Start nothing new in a session; what runs may end. With ``suspend`` its agents are put away as well, and its
    processes freed, after ``grace_s`` seconds at most for what runs; it goes on later from its last finished step."""

    flow = said_by("user", "orchestrator", to="guide")

    session: str
    suspend: bool = False
    grace_s: float = 10.0
    reason: str = ""


class ResumeSession(Request[SessionRecord], frozen=True):
    """Let a paused or suspended session go on where it was. One that goes on already stays as it is."""

    flow = said_by("user", "orchestrator", to="guide")

    session: str


class ResumeJob(Request[JobRecord], frozen=True):
    """Let a job go on that is paused or suspended, with its session."""

    flow = said_by("user", to="guide")

    job_id: str


class SwitchSession(Request[SessionRecord], frozen=True):
    """Make a session the person's foreground session; with ``pause`` the one before it is paused."""

    flow = said_by("user", "router", "guide", to="guide")

    session: str
    user: str
    pause: bool = False


class GetForeground(Request[SessionRecord | None], frozen=True):
    """The person's foreground session."""

    flow = said_by("user", to="guide")

    user: str


class SetGroup(Request[SessionRecord], frozen=True):
    """Change a session's weight and limits, now."""

    flow = said_by("user", to="guide")

    session: str
    group: Group


class GrantTokens(Message, frozen=True):
    """A person gives a session more tokens than its budget; said again under the same ``asking``, no more."""

    flow = said_by("orchestrator", to="guide")

    session: str
    more: int
    asking: str


class DrainSessions(Request[list[JobRecord]], frozen=True):
    """For a shutdown: suspend every session that is at work, giving what runs ``grace_s`` seconds; or with ``wait``
    let all jobs come to their ends first. Answers the jobs that can be resumed."""

    flow = said_by("coordinator", to="guide")

    wait: bool = False
    grace_s: float = 10.0


class JobProgress(Message, frozen=True):
    """An orchestrator tells how its job is going."""

    flow = said_by("orchestrator", to="guide")
    spec = ("DAG_STATUS",)

    record: JobRecord


class JobEnded(Request[None], frozen=True):
    """An orchestrator tells that its job is over; asked again until it is answered."""

    flow = said_by("orchestrator", to="guide")

    record: JobRecord
