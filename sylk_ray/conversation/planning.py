"""Between a person, the Architect who plans, and those who work."""

from __future__ import annotations

from sylk_ray.fairness import Lane
from sylk_ray.messaging import Message, said_by


class ClarificationRequest(Message, frozen=True):
    """The Architect needs to know something before the plan can be made. With ``options`` the person may choose one of
    them, or say something else; ``why`` is what depends on it."""

    flow = said_by("architect", to="user")
    spec = ("CLARIFICATION_REQUEST",)
    ahead = True

    question_id: str
    question: str
    why: str = ""
    options: list[str] = []


class ClarificationResponse(Message, frozen=True):
    """What the person answered."""

    flow = said_by("user", to="architect")
    spec = ("CLARIFICATION_RESPONSE",)
    ahead = True

    question_id: str
    answer: str


class UserInterrupt(Message, frozen=True):
    """The person wants something else, now: what is planned and not begun is to be thought over. With ``stop`` nothing
    new is started until then."""

    flow = said_by("user", to="architect")
    priority = Lane.CRITICAL
    spec = ("USER_INTERRUPT",)
    ahead = True

    text: str
    stop: bool = True


class WorkflowComplete(Message, frozen=True):
    """All that was asked for is done, or as much as could be: ``failed`` names the tasks that were not."""

    flow = said_by("architect", to="user")
    spec = ("WORKFLOW_COMPLETE",)
    ahead = True

    job_id: str
    succeeded: bool
    summary: str
    branch: str = ""
    files_changed: list[str] = []
    failed: list[str] = []


class TaskHelp(Message, frozen=True):
    """The Engineer cannot go on without an answer; the attempt stays as it is meanwhile. ``tried`` is what did not
    help."""

    flow = said_by("engineer", to="orchestrator")
    priority = Lane.HIGH
    spec = ("TASK_HELP",)
    ahead = True

    task: str
    attempt: int
    question: str
    tried: list[str] = []
