"""What a person says to one task of a job: ``/task <name> <action> ["..."]``, by way of the session's orchestrator.

``task`` is the name as the person wrote it. Source: "Guide Integration for /task Command" of the spec.
"""

from __future__ import annotations

import msgspec

from sylk_ray.messaging import Request, said_by
from sylk_ray.routing import TaskAction, TaskCommand
from sylk_ray.sessions.records import Override
from sylk_ray.speech.messages import Heard


class UserTaskPrompt(Request[Heard], frozen=True):
    """Have the task's Engineer take something into account."""

    flow = said_by("router", to="orchestrator")
    spec = ("USER_TASK_PROMPT",)

    task: str
    text: str


class UserTaskQuery(Request[Heard], frozen=True):
    """Ask how a task is going."""

    flow = said_by("router", to="orchestrator")
    spec = ("USER_TASK_QUERY",)
    remembered = False

    task: str
    text: str


class UserTaskInterrupt(Request[Heard], frozen=True):
    """End a task: it is cancelled, and what depends on it is skipped."""

    flow = said_by("router", to="orchestrator")
    spec = ("USER_TASK_INTERRUPT",)

    task: str
    reason: str = ""


class UserIgnoreInspector(Request[Heard], frozen=True):
    """Let the task's work pass without the Inspector, from now on."""

    flow = said_by("router", to="orchestrator")
    spec = ("USER_IGNORE_INSPECTOR",)

    task: str
    reason: str = ""


class UserIgnoreTester(Request[Heard], frozen=True):
    """Let the task's work pass without the Tester, from now on."""

    flow = said_by("router", to="orchestrator")
    spec = ("USER_IGNORE_TESTER",)

    task: str
    reason: str = ""


class UserOverride(Request[Heard], frozen=True):
    """Let the task's work pass with an issue that its Inspector has found, from now on. The session's Inspector knows
    which is meant."""

    flow = said_by("inspector", to="orchestrator")
    spec = ("USER_OVERRIDE",)

    task: str
    override: Override


class UserTriggerHandoff(Request[Heard], frozen=True):
    """Hand the task over to a new pipeline."""

    flow = said_by("router", to="orchestrator")
    spec = ("USER_TRIGGER_HANDOFF",)

    task: str
    reason: str = ""


class UserStopHandoff(Request[Heard], frozen=True):
    """Keep the task with the pipeline that has it."""

    flow = said_by("router", to="orchestrator")
    spec = ("USER_STOP_HANDOFF",)

    task: str
    reason: str = ""


class FoundTask(msgspec.Struct, frozen=True):
    """A task by its whole name, and whether it is at work."""

    name: str
    at_work: bool


class FindTask(Request[FoundTask], frozen=True):
    """A session's router to its orchestrator: which task is meant?"""

    flow = said_by("router", to="orchestrator")
    remembered = False

    task: str


TaskMessage = (
    UserTaskPrompt
    | UserTaskQuery
    | UserTaskInterrupt
    | UserIgnoreInspector
    | UserIgnoreTester
    | UserTriggerHandoff
    | UserStopHandoff
)

_MESSAGES: dict[TaskAction, type[TaskMessage]] = {
    TaskAction.PROMPT: UserTaskPrompt,
    TaskAction.QUERY: UserTaskQuery,
    TaskAction.INTERRUPT: UserTaskInterrupt,
    TaskAction.IGNORE_INSPECTOR: UserIgnoreInspector,
    TaskAction.IGNORE_TESTER: UserIgnoreTester,
    TaskAction.HANDOFF: UserTriggerHandoff,
    TaskAction.STOP_HANDOFF: UserStopHandoff,
}


def message_of(command: TaskCommand) -> TaskMessage:
    """The message that carries a command out."""
    return _MESSAGES[command.action](command.task, command.text)
