"""What a person can ask the tools to do, as data: actions, checks, tests and grants.

These are the leaves of a job file. Each is a frozen pydantic model that forbids unknown fields, so a misspelt
field is an error and never ignored. Paths are relative to the worktree and use forward slashes.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Seconds = Annotated[float, Field(gt=0, le=86_400)]


class Spec(BaseModel):
    """The settings that every model of a job file shares."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Rewrite(Spec):
    """Structural search and replace with ast-grep; repeated until the pattern matches nothing."""

    kind: Literal["rewrite"] = "rewrite"
    language: str
    files: str | tuple[str, ...]
    pattern: str | None = None
    rule: dict[str, Any] | None = None
    """An ast-grep rule object (``kind``, ``inside``, ``has``, ...), in place of ``pattern``."""
    to: str
    max_passes: Annotated[int, Field(ge=1, le=1000)] = 50
    allow_no_change: bool = False

    @model_validator(mode="after")
    def _pattern_or_rule(self) -> Rewrite:
        if (self.pattern is None) == (self.rule is None):
            raise ValueError("give either pattern or rule")
        return self


class Edit(Spec):
    """Replace one exact text by another; refused when the text is absent or not unique."""

    kind: Literal["edit"] = "edit"
    path: str
    old: Annotated[str, Field(min_length=1)]
    new: str
    allow_no_change: bool = False


class Write(Spec):
    """Write a whole file, making its folders."""

    kind: Literal["write"] = "write"
    path: str
    content: str
    executable: bool = False
    allow_no_change: bool = False


class Delete(Spec):
    """Delete a file or a folder."""

    kind: Literal["delete"] = "delete"
    path: str
    allow_no_change: bool = False


class Patch(Spec):
    """Apply a unified diff; it applies whole or not at all."""

    kind: Literal["patch"] = "patch"
    diff: Annotated[str, Field(min_length=1)]
    strip: Annotated[int, Field(ge=0, le=9)] = 1
    allow_no_change: bool = False


class Run(Spec):
    """Run a command in the worktree: a string goes to ``/bin/sh -c``, a list is executed as it is."""

    kind: Literal["run"] = "run"
    command: str | tuple[str, ...]
    timeout_s: Seconds | None = None
    ok_exit_codes: tuple[int, ...] = (0,)
    allow_no_change: bool = True


Action = Annotated[Rewrite | Edit | Write | Delete | Patch | Run, Field(discriminator="kind")]

Severity = Literal["error", "warning", "info"]


class Check(Spec):
    """One tool of an Inspector. ``ruff`` and ``mypy`` are known by name; any other is a command.

    ``{files}`` in a command is replaced by the changed files, quoted. ``pattern`` is a regular expression
    with the named groups file, line, message and, where there are such, category and severity; a command
    without a pattern is judged by its exit code.
    """

    name: str
    run: str | None = None
    files: str | tuple[str, ...] = "**"
    pattern: str | None = None
    category: str = "lint"
    severity: Severity = "error"
    arguments: tuple[str, ...] = ()
    """Extra arguments for ruff or mypy."""
    scope: Literal["changed_files", "changed_lines"] = "changed_files"
    timeout_s: Seconds | None = None


class Inspection(Spec):
    """What the Inspector looks at. Issues of severity error send the work back."""

    tools: tuple[Check, ...] = ()
    forbid: tuple[str, ...] = ()
    """Globs that no changed file may match."""
    max_changed_lines: Annotated[int, Field(ge=1)] | None = None


class Testing(Spec):
    """What the Tester runs; pytest is recognised by the JUnit report that it leaves."""

    __test__: ClassVar[bool] = False

    run: str | tuple[str, ...]
    timeout_s: Seconds | None = None
    coverage: bool | str = True
    """Whether it is told which changed lines the tests run: of Python, where they have coverage.py 7.13 or later; of
    any language, by the path of the LCOV report that they write."""


class Thinking(Spec):
    """How much a model may think about one piece of work, before it has to say what there is."""

    turns: Annotated[int, Field(ge=2, le=1000)] = 40
    tokens: Annotated[int, Field(ge=1000)] = 1_000_000
    """Input and output of all turns."""
    seconds: Seconds = 1800


class Sandbox(Spec):
    """What the person grants to tool processes beyond the worktree. Only a job file can grant."""

    read: tuple[str, ...] = ()
    """Files and folders beside the worktree, the system and the toolchains."""
    write: tuple[str, ...] = ()
    """Folders that may be written to, and read."""
    network: bool = False
    env: tuple[str, ...] = ()


class Limits(Spec):
    """Bounds on one tool process and all its children."""

    timeout_s: Seconds = 600
    memory_mb: Annotated[int, Field(ge=16)] = 4096
    disk_mb: Annotated[int, Field(ge=1)] = 2048
    """How much a run may add to the worktree and its temporary folder."""
    processes: Annotated[int, Field(ge=8)] = 512
    """How many may live at a time."""
    output_mb: Annotated[int, Field(ge=1)] = 16
    """How much of the output is kept as an artifact; the rest is counted and dropped."""

    @property
    def tasks(self) -> int:
        """What the kernel is told to refuse beyond: it counts threads as well."""
        return 4 * self.processes
