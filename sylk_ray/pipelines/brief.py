"""What the agents of a pipeline know of their task, and what they pass on to each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from sylk_ray.fairness import Lane
from sylk_ray.sessions.changes import Change
from sylk_ray.sessions.directories import SessionDirectory, session_directory
from sylk_ray.sessions.records import Override
from sylk_ray.tools import Issue, TestFailure
from sylk_ray.tools.specs import Action, Inspection, Limits, Sandbox, Spec, Testing, Thinking

By = Literal["inspector", "tester", "merge"]

Check = Literal["inspector", "tester"]
"""Who judges work."""

MOST_ISSUES = 50
"""Issues that feedback names."""

CHECKS = "session-checks"
"""The name of the pipeline without an Engineer that judges the session's branch; no task can have it."""


class Assignment(Spec):
    """What each of the three does; without an Engineer's actions there is nothing to send work back to."""

    request: str = ""
    """What a person wants of the whole job, in their own words, of which the task is a part."""
    description: str = ""
    prompt: str = ""
    literal: bool = False
    criteria: tuple[str, ...] = ()
    thinks: tuple[str, ...] = ()
    """The roles whose model does their part, or what is left of it after what is declared."""
    thinking: Thinking = Thinking()
    may_ask: bool = False
    """Whether its Engineer's model may ask for help, for which a person may have to be waited for."""
    engineer: tuple[Action, ...] = ()
    on_feedback: tuple[Action, ...] = ()
    inspector: Inspection | None = None
    tester: Testing | None = None


class Brief(msgspec.Struct, frozen=True):
    """All that a pipeline's agents need to know of their task, for one attempt.

    ``assignment_json``, ``limits_json`` and ``sandbox_json`` are pydantic models in their own JSON. ``variables`` is
    what templates can name: vars, tasks (the parents' results), session.
    """

    session: str
    session_name: str
    repo: str
    task: str
    attempt: int
    assignment_json: str
    limits_json: str
    sandbox_json: str
    max_loops: int
    variables: dict[str, Any] = {}
    lane: Lane = Lane.NORMAL
    """How urgent the task's tools are among the session's."""
    base: str = ""
    """For the session's checks: the commit that the session started from."""
    waived: tuple[Check, ...] = ()
    """The checks that a person has let the task pass without."""
    overridden: tuple[Override, ...] = ()
    """The issues that a person has let the task pass with."""
    said: tuple[str, ...] = ()
    """What a person has told its Engineer before the attempt."""

    @property
    def assignment(self) -> Assignment:
        """What each role does."""
        return Assignment.model_validate_json(self.assignment_json)

    @property
    def limits(self) -> Limits:
        """Bounds on one tool process."""
        return Limits.model_validate_json(self.limits_json)

    @property
    def sandbox(self) -> Sandbox:
        """What the person granted."""
        return Sandbox.model_validate_json(self.sandbox_json)

    @property
    def feedback_loops(self) -> int:
        """How often Inspector and Tester may each send the work back: never, when nothing is declared for it."""
        assignment = self.assignment
        return self.max_loops if assignment.on_feedback or "engineer" in assignment.thinks else 0

    def directory(self, home: Path) -> SessionDirectory:
        """The session's directory under a state directory."""
        return SessionDirectory(session_directory(home, self.session))


class Feedback(msgspec.Struct, frozen=True):
    """Why work is sent back. ``text`` is what a person reads and ``{{ feedback }}`` holds."""

    by: By
    loop: int
    text: str
    issues: list[Issue] = []
    failures: list[TestFailure] = []
    files: list[str] = []


class Work(msgspec.Struct, frozen=True):
    """What the Engineer has done so far: one commit on ``base``, or None when nothing differs."""

    base: str
    commit: str | None
    changes: list[Change]
    output: str = ""
