"""What is said to a session's orchestrator, by the Guide and by itself."""

from __future__ import annotations

from sylk_ray.messaging import Message, Request
from sylk_ray.sessions import JobRecord


class RunJob(Request[None], frozen=True):
    """The Guide to a session's orchestrator: run the job that stands in the session's directory; ``record`` is what is
    known of it so far. Asked again, it changes nothing."""

    record: JobRecord


class HaltJob(Request[None], frozen=True):
    """Stop the job; answered at once, and its end is reported when nothing of it runs any more."""

    reason: str


class HaltNow(Message, frozen=True):
    """The orchestrator to itself: a wish to stop has come to its turn."""

    reason: str


class PauseJob(Request[None], frozen=True):
    """Start nothing new; what runs may end."""


class ContinueJob(Request[None], frozen=True):
    """Go on after a pause."""


class Begin(Message, frozen=True):
    """The orchestrator to itself: start the graph."""


class Tick(Message, frozen=True):
    """The orchestrator to itself: a time that the scheduler waits for has come."""


class Admitted(Message, frozen=True):
    """The orchestrator to itself: FairShare has let an attempt in, or says why it never will."""

    task: str
    attempt: int
    refused: str = ""


class EndTold(Message, frozen=True):
    """The orchestrator to itself: the Guide has heard of the job's end."""

    job_id: str


class TellEnd(Message, frozen=True):
    """The orchestrator to itself: the job's end is in the journal, and the Guide has to hear of it."""
