"""Which jobs run, and which wait in line because enough sessions are at work: decisions, without I/O."""

from __future__ import annotations

from collections.abc import Iterable

from sylk_ray.errors import SylkError
from sylk_ray.sessions.records import JobRecord, JobState

_AT_WORK = (JobState.RUNNING, JobState.PAUSED)


class TooMany(SylkError):
    """As many sessions are at work as may be, and the person did not want to wait."""

    code = "too_many_sessions"


class Line:
    """Jobs are let in in the order in which they came; a paused one keeps its place, a suspended one gives it up."""

    def __init__(self, most_at_work: int) -> None:
        self._most = most_at_work

    def has_room(self, jobs: Iterable[JobRecord]) -> bool:
        """Whether one more may run."""
        return sum(job.status in _AT_WORK for job in jobs) < self._most

    def next(self, jobs: Iterable[JobRecord]) -> JobRecord | None:
        """The job whose turn it is; None when there is no room, or nobody waits."""
        known = list(jobs)
        waiting = self.waiting(known)
        return waiting[0] if waiting and self.has_room(known) else None

    def waiting(self, jobs: Iterable[JobRecord]) -> list[JobRecord]:
        """The line, the next one first."""
        queued = [job for job in jobs if job.status is JobState.QUEUED]
        return sorted(queued, key=lambda job: (job.submitted_at, job.job_id))

    def told(self, place: int) -> str:
        """The place in line (1 is the next) and the reason, in words."""
        return f"{_ordinal(place)} in line: {self._at_work()}"

    def _at_work(self) -> str:
        told = "1 session is" if self._most == 1 else f"{self._most} sessions are"
        return f"{told} at work, and max_sessions is {self._most}"

    def refuse(self) -> TooMany:
        """What is said to someone who does not want to wait."""
        return TooMany(
            self._at_work(),
            hint="leave out --no-queue to wait in line, suspend one (`sylk session pause NAME --suspend`), or raise "
            "max_sessions in the settings",
        )


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
