"""What is said to a session's orchestrator, by the Guide and by itself."""

from __future__ import annotations

from sylk_ray.fairness import Lane
from sylk_ray.messaging import Message, Request, said_by
from sylk_ray.sessions import JobRecord


class RunJob(Request[None], frozen=True):
    """The Guide to a session's orchestrator: run the job that stands in the session's directory; ``record`` is what is
    known of it so far. Asked again, it changes nothing."""

    flow = said_by("guide", to="orchestrator")
    spec = ("DAG_EXECUTE",)

    record: JobRecord


class HaltJob(Request[None], frozen=True):
    """Stop the job; answered at once, and its end is reported when nothing of it runs any more."""

    flow = said_by("guide", to="orchestrator")
    priority = Lane.HIGH
    spec = ("DAG_CANCEL",)

    reason: str


class HaltNow(Message, frozen=True):
    """The orchestrator to itself: a wish to stop has come to its turn."""

    flow = said_by("orchestrator", to="orchestrator")
    priority = Lane.HIGH

    reason: str
    stop_running: bool = True
    """Else what runs comes to its end, and nothing more begins."""


class PauseJob(Request[None], frozen=True):
    """Start nothing new; what runs may end."""

    flow = said_by("guide", to="orchestrator")


class ContinueJob(Request[None], frozen=True):
    """Go on after a pause."""

    flow = said_by("guide", to="orchestrator")


class KeepPlan(Message, frozen=True):
    """The orchestrator to itself: a change of the plan is in the journal, and the file of the job may follow it."""

    flow = said_by("orchestrator", to="orchestrator")


class Begin(Message, frozen=True):
    """The orchestrator to itself: start the graph."""

    flow = said_by("orchestrator", to="orchestrator")


class Tick(Message, frozen=True):
    """The orchestrator to itself: a time that the scheduler waits for has come."""

    flow = said_by("orchestrator", to="orchestrator")
    fleeting = True


class Admitted(Message, frozen=True):
    """The orchestrator to itself: FairShare has let an attempt in, or says why it never will."""

    flow = said_by("orchestrator", to="orchestrator")
    fleeting = True

    task: str
    attempt: int
    refused: str = ""


class EndTold(Message, frozen=True):
    """The orchestrator to itself: the Guide has heard of the job's end."""

    flow = said_by("orchestrator", to="orchestrator")
    fleeting = True

    job_id: str


class TellEnd(Message, frozen=True):
    """The orchestrator to itself: the job's end is in the journal, and the Guide has to hear of it."""

    flow = said_by("orchestrator", to="orchestrator")
