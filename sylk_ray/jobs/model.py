"""A job: tasks that depend on each other, what each role does in them, and the bounds they run under."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import ConfigDict, Field, StringConstraints, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from sylk_ray.dag import Node, validate
from sylk_ray.fairness import Lane
from sylk_ray.jobs.sugar import GRAPH_FAULT, TaskAction, TaskTesting, ToolCheck, fault
from sylk_ray.tools.specs import Inspection, Limits, Sandbox, Seconds, Spec, Thinking

JobName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$", max_length=100)]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]
Loops = Annotated[int, Field(ge=0, le=100)]
Retries = Annotated[int, Field(ge=0, le=100)]
Priority = Literal["critical", "high", "normal", "low", "background"]


class JobInspection(Inspection):
    """An Inspection in which a tool may be given by its name alone."""

    tools: tuple[ToolCheck, ...] = ()


class Task(Spec):
    """One pipeline: what its Engineer does, what its Inspector looks at, what its Tester runs.

    ``None`` takes the value of the job's policy.
    """

    description: str = ""
    prompt: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] | None = None
    """What is wanted, in words: without ``engineer`` actions the Engineer's model does it."""
    literal: bool = False
    """Whether the prompt is meant as it stands; else what is between ``{{`` and ``}}`` is filled in."""
    criteria: tuple[str, ...] = ()
    """What has to hold when the task is done, for the models that judge it."""
    review: bool | None = None
    """Whether the Inspector's model reads the change; None: when the Engineer's has made it."""
    write_tests: bool | None = None
    """Whether the Tester's model writes tests; None: when the Engineer's has made the change, and no ``tester`` is
    declared."""
    depends_on: tuple[str, ...] = ()
    engineer: Annotated[tuple[TaskAction, ...], Field(validate_default=True)] = ()
    on_feedback: tuple[TaskAction, ...] = ()
    """What the Engineer does when the Inspector or the Tester sends the work back."""
    inspector: JobInspection | None = None
    tester: TaskTesting | None = None
    max_loops: Loops | None = None
    timeout_s: Seconds | None = None
    retries: Retries | None = None
    priority: Priority = "normal"
    """Which of the session's tasks comes first when not all can be at work."""

    @property
    def thinks(self) -> tuple[str, ...]:
        """The roles that need a model."""
        engineer = self.prompt is not None and not self.engineer
        review = engineer if self.review is None else self.review
        write_tests = engineer and self.tester is None if self.write_tests is None else self.write_tests
        roles = {"engineer": engineer, "inspector": review, "tester": write_tests}
        return tuple(role for role, does in roles.items() if does)

    @property
    def lane(self) -> Lane:
        """The priority, as FairShare knows it."""
        return Lane[self.priority.upper()]

    @field_validator("engineer")
    @classmethod
    def _something_to_do(cls, engineer: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
        if not engineer and info.data.get("prompt") is None:
            raise fault('a task needs at least one action under "engineer:"', "for example: - run: make format")
        return engineer


class Finally(Spec):
    """The session-wide Inspector and Tester, which judge the session branch after the last pipeline."""

    inspector: JobInspection | None = None
    tester: TaskTesting | None = None
    review: bool = False
    """Whether the Inspector's model reads the whole change."""


class JobPolicy(Spec):
    """How the tasks are run, unless a task says otherwise."""

    max_concurrency: Annotated[int, Field(ge=1, le=1024)] = 4
    on_failure: Literal["fail_fast", "continue_on_failure"] = "fail_fast"
    retries: Retries = 0
    retry_delay_s: Annotated[float, Field(ge=0, le=86_400)] = 1
    timeout_s: Seconds | None = None
    """Of one attempt; None is ten minutes, and an hour where models think."""
    approval: Literal["ask", "auto"] = "ask"
    """Whether a person is asked before the plan of a request is carried out."""
    answer_within_s: Seconds = 300
    """How long a person may take to answer; then the job is cancelled."""
    max_loops: Loops = 3
    """How often the Inspector and the Tester may send work back before the task fails."""
    max_fixes: Loops = 2
    """How often the Architect may change the plan of a request because tasks, or the checks at the end, have failed."""


class Job(Spec):
    """A whole job file in its long form; it survives ``model_dump_json`` and ``model_validate_json``."""

    model_config = ConfigDict(serialize_by_alias=True)

    name: JobName
    description: str = ""
    repo: str = "."
    """The git repository: relative to the job file as written, absolute after ``load_job_file``."""
    vars: dict[VariableName, str] = {}
    request: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] | None = None
    """What is wanted, in words: the Architect makes the tasks of it, where none are given."""
    tasks: dict[str, Task]
    finally_: Finally | None = Field(default=None, alias="finally")
    policy: JobPolicy = JobPolicy()
    thinking: Thinking = Thinking()
    limits: Limits = Limits()
    sandbox: Sandbox = Sandbox()

    @property
    def needs_plan(self) -> bool:
        """Whether its tasks are yet to be made of its request."""
        return self.request is not None and not self.tasks

    @model_validator(mode="before")
    @classmethod
    def _a_request_will_do(cls, given: Any) -> Any:
        if isinstance(given, dict) and "request" in given:
            return {"tasks": {}, **cast("dict[str, Any]", given)}
        return cast("Any", given)

    @field_validator("tasks")
    @classmethod
    def _something_to_do(cls, tasks: dict[str, Task], info: ValidationInfo) -> dict[str, Task]:
        if not tasks and info.data.get("request") is None:
            raise PydanticKnownError("too_short", {"field_type": "Dictionary", "min_length": 1, "actual_length": 0})
        return tasks

    @model_validator(mode="after")
    def _tasks_make_a_graph(self) -> Job:
        nodes = [Node(name, "pipeline", task.depends_on) for name, task in self.tasks.items()]
        problems = validate(nodes)
        if problems:
            told = "; ".join(problem.message for problem in problems)
            raise PydanticCustomError(GRAPH_FAULT, "{message}", {"message": told})
        return self
