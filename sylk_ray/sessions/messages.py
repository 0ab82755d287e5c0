"""What the Guide can be asked about jobs and sessions."""

from __future__ import annotations

from sylk_ray.messaging import SHARED, Address, Message, Request
from sylk_ray.sessions.records import JobRecord, SessionRecord

GUIDE = Address(SHARED, "guide", "main")


class SubmitJob(Request[JobRecord], frozen=True):
    """Take a job: make its session and branch. ``job`` is the canonical JSON of a ``sylk_ray.jobs.Job``.

    ``start`` runs it at once; otherwise it waits, prepared, for StartJob. Answers InputError when the repository,
    the branch or the session's name will not do; nothing was changed then.
    """

    job: str
    repo: str
    session: str = ""
    """The session's name; empty makes one from the job's."""
    start: bool = True


class StartJob(Request[JobRecord], frozen=True):
    """Run a prepared job; a job that runs or has run is answered as it is."""

    job_id: str
    ray_job: str = ""


class CancelJob(Request[JobRecord], frozen=True):
    """Stop a job: running tools are killed, the branch keeps what was merged."""

    job_id: str
    reason: str = "a person cancelled it"


class GetJob(Request[JobRecord], frozen=True):
    """One job, by its id or by an unambiguous beginning of it."""

    job_id: str


class ListJobs(Request[list[JobRecord]], frozen=True):
    """Every job that is known, the newest first."""


class ListSessions(Request[list[SessionRecord]], frozen=True):
    """Every session that is not closed, the newest first; ``closed`` ones as well when asked."""

    closed: bool = False


class GetSession(Request[SessionRecord], frozen=True):
    """One session, by id or name."""

    session: str


class EndSession(Request[SessionRecord], frozen=True):
    """Close a session: cancel its job if it runs, remove worktrees, work branches and its directory's work.

    Its branch stays, unless ``delete_branch``.
    """

    session: str
    delete_branch: bool = False


class EndAllSessions(Request[int], frozen=True):
    """Cancel every running job, for a shutdown; answers how many ran."""

    reason: str = "the runtime is shutting down"


class JobProgress(Message, frozen=True):
    """An orchestrator tells how its job is going; the last one of a job has a status that is over."""

    record: JobRecord
