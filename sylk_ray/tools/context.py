"""Where a tool works and what it may do there, and what an action gives back."""

from __future__ import annotations

import asyncio
import functools
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from sylk_ray.programs import run_program
from sylk_ray.tools.confinement import confined, raise_for_start
from sylk_ray.tools.process import Command, ProcessResult, run_process
from sylk_ray.tools.specs import Limits, Sandbox

OUTPUT_CHARACTERS = 20_000


@dataclass(frozen=True)
class ToolContext:
    """One agent's workplace. ``run_id``, and the ``cell`` that they are started from, mark its processes; no two that
    work at the same time share one."""

    worktree: Path
    private_dir: Path
    artifacts_dir: Path
    limits: Limits
    sandbox: Sandbox
    run_id: str
    on_line: Callable[[str], None] | None = None
    cell: str = ""
    repository: Path | None = None
    """That of the worktree; its git directory can be read."""
    protected: frozenset[str] = frozenset()
    """Relative paths with changes of others, which write, delete and patch must not discard."""

    async def run(
        self,
        command: Command,
        *,
        timeout_s: float | None = None,
        env_extra: Mapping[str, str] | None = None,
        artifact: str = "run",
    ) -> ProcessResult:
        """Run a command in the worktree, its output kept as an artifact."""
        limits = self.limits
        if timeout_s is not None:
            limits = limits.model_copy(update={"timeout_s": timeout_s})
        return await run_process(
            command,
            cwd=self.worktree,
            limits=limits,
            sandbox=self.sandbox,
            private_dir=self.private_dir,
            run_id=f"{self.run_id}@{self.cell}",
            env_extra=env_extra or {},
            output_path=self.new_artifact(artifact),
            on_line=self.on_line,
            repository=self.repository,
        )

    def confined(self, program: Sequence[str], *, python: bool = False) -> list[str]:
        """The command line by which a program of the runtime's own works in the worktree, with no grants but that; with
        ``python`` it is given by its text. Blocks; raises ConfinementUnavailable."""
        self.private_dir.mkdir(parents=True, exist_ok=True)
        launch = confined(
            program,
            cwd=self.worktree,
            private_dir=self.private_dir,
            limits=self.limits,
            sandbox=Sandbox(),
            python=python,
        )
        return list(launch.command)

    async def run_python(
        self, module: ModuleType, given: bytes, *, limit_s: float
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a module of the runtime's own, which imports nothing beside the standard library, as a confined program
        that is ``given`` its input. Raises TimeoutError, OSError and ConfinementUnavailable."""
        command = await asyncio.to_thread(self.confined, (_text_of(module),), python=True)
        done = await run_program(command, cwd=self.worktree, env={}, stdin=given, limit_s=limit_s)
        raise_for_start(done.returncode, done.stderr.decode("utf-8", "replace"), "python")
        return done

    def new_artifact(self, name: str) -> Path:
        """A path for a log that no earlier run has taken."""
        self.artifacts_dir.mkdir(parents=True, exist_ok=True)
        stem = re.sub(r"[^\w.-]+", "-", f"{self.run_id}-{name}").strip("-.")
        path, number = self.artifacts_dir / f"{stem}.log", 1
        while path.exists():
            number += 1
            path = self.artifacts_dir / f"{stem}-{number}.log"
        return path


@functools.cache
def _text_of(module: ModuleType) -> str:
    assert module.__file__ is not None
    return Path(module.__file__).read_text()


@dataclass(frozen=True)
class ActionResult:
    """What an action did: one line for a person, the files (relative, sorted), and what it printed."""

    summary: str
    files_changed: tuple[str, ...] = ()
    output: str = ""


def last_lines(output: str, count: int = 20, characters: int = 4000) -> str:
    """The end of an output, for an error message."""
    return "\n".join(output.rstrip().splitlines()[-count:])[-characters:]


def ending_with(output: str) -> str:
    """How an error message goes on: with the end of the output on further lines, so that the first says enough."""
    last = last_lines(output)
    return f"\nthe last output:\n{last}" if last else "; there was no output"


def where_kept(result: ProcessResult) -> str:
    """A sentence that says where the output is, if there was any."""
    if result.output_problem:
        return f"The output could not all be kept in {result.output_path}: {result.output_problem}."
    return f"The whole output is in {result.output_path}." if result.output_bytes else ""


def limit_hit(result: ProcessResult, limits: Limits, timeout_s: float | None) -> str | None:
    """Which limit ended the run, as a phrase; None if none did."""
    match result.killed_by:
        case "timeout":
            return f"the time limit of {timeout_s or limits.timeout_s:g} s"
        case "memory":
            return f"the memory limit of {limits.memory_mb} MB"
        case "disk":
            return f"the disk limit of {limits.disk_mb} MB"
        case "processes":
            return f"the limit of {limits.processes} processes"
        case "cancel":
            return "a cancellation"
        case None:
            return None
