"""Run a program on behalf of an agent: confined, bounded, and gone with all its children when it ends.

Whatever way a run ends, be it by itself, by a limit or by cancellation, no process of it is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from sylk_ray.tools import confine
from sylk_ray.tools.cgroups import make_group, remove_group
from sylk_ray.tools.confinement import Launch, confined, raise_for_start
from sylk_ray.tools.disk_use import wait_for_growth
from sylk_ray.tools.environment import (
    make_private_folders,
    missing_program,
    require_program,
    scrubbed_environment,
    tool_missing,
)
from sylk_ray.tools.output import Output
from sylk_ray.tools.processes import RunProcesses
from sylk_ray.tools.specs import Limits, Sandbox

KilledBy = Literal["timeout", "memory", "disk", "processes", "cancel"]
Command = str | Sequence[str]
T = TypeVar("T")

_POLL_S = 0.2
_GRACE_S: Mapping[KilledBy | None, float] = {
    None: 0.5,
    "timeout": 2.0,
    "cancel": 1.0,
    "disk": 0.0,  # asking nicely gives it time to take more
    "memory": 0.0,
    "processes": 0.0,
}
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class ProcessResult:
    """How a run ended. ``exit_code`` is negative for a signal; ``output`` is the last 64 kB."""

    exit_code: int
    duration_s: float
    output: str
    output_path: Path | None
    output_bytes: int
    """How much was printed; all but ``dropped_bytes`` of it is in the file."""
    dropped_bytes: int
    killed_by: KilledBy | None
    hint: str = ""
    """How to grant what it could not read, when its output tells of that; empty otherwise."""
    output_problem: str = ""
    """Why the file lacks a part of the output that was to be kept; empty when it does not."""


async def run_process(
    command: Command,
    *,
    cwd: Path,
    limits: Limits,
    sandbox: Sandbox,
    private_dir: Path,
    run_id: str,
    env_extra: Mapping[str, str] = _NO_VARIABLES,
    output_path: Path | None = None,
    on_line: Callable[[str], None] | None = None,
    repository: Path | None = None,
) -> ProcessResult:
    """Run a command to its end: a string by ``/bin/sh -c``, a list as it is.

    ``run_id`` marks its processes and must not be shared by runs at the same time. The git directory of ``repository``
    may be read. Raises ToolMissing,
    ConfinementUnavailable, and CancelledError after the processes are gone.
    """
    program = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    environment = scrubbed_environment(private_dir, sandbox, run_id, env_extra)

    def prepare(group: Path | None) -> Launch:
        require_program(program[0], cwd, environment["PATH"])
        make_private_folders(private_dir)
        return confined(
            program,
            cwd=cwd,
            private_dir=private_dir,
            limits=limits,
            sandbox=sandbox,
            repository=repository,
            group=group,
        )

    async with _group_of(limits) as group:
        launch = await asyncio.to_thread(prepare, group)
        output = Output(output_path, limits.output_mb << 20, on_line)
        try:
            run = _Run(launch.command, cwd, environment, output, run_id, group)
        except BaseException:
            output.close()
            raise
        killed_by = await run.to_its_end(limits, (cwd, private_dir))
    tail = output.tail()
    _raise_for_start(run.exit_code, tail, program[0])
    return ProcessResult(
        exit_code=run.exit_code,
        duration_s=run.duration_s,
        output=tail,
        output_path=output_path,
        output_bytes=output.total_bytes,
        dropped_bytes=output.dropped_bytes,
        killed_by=killed_by or _killed_for_file_size(run.exit_code),
        hint=await asyncio.to_thread(launch.hint, tail),
        output_problem=output.problem,
    )


@contextlib.asynccontextmanager
async def _group_of(limits: Limits) -> AsyncGenerator[Path | None]:
    group = await asyncio.to_thread(make_group, limits.tasks)
    try:
        yield group
    finally:
        await even_if_cancelled(asyncio.to_thread(remove_group, group))


class _Run:
    """One started process, on the running event loop."""

    def __init__(
        self,
        command_line: Sequence[str],
        cwd: Path,
        environment: dict[str, str],
        output: Output,
        run_id: str,
        group: Path | None,
    ) -> None:
        self._output = output
        self._started = time.monotonic()
        # Started by the thread of the loop, since the kernel ends it when the thread that started it ends.
        self._process = subprocess.Popen(
            command_line,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output.write_end,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        output.close_write_end()
        self._processes = RunProcesses(self._process.pid, run_id, group)
        self._exited = asyncio.Event()
        self._pidfd = os.pidfd_open(self._process.pid)
        asyncio.get_running_loop().add_reader(self._pidfd, self._on_exit)
        self.exit_code = -signal.SIGKILL
        self.duration_s = 0.0

    async def to_its_end(self, limits: Limits, folders: Sequence[Path]) -> KilledBy | None:
        """Wait for the end, or bring it about at a limit; returns the limit."""
        killed_by: KilledBy | None = "cancel"
        growth = asyncio.create_task(wait_for_growth(folders, limits.disk_mb << 20))
        try:
            killed_by = await self._watch(limits, growth)
        finally:
            growth.cancel()
            await even_if_cancelled(self._finish(_GRACE_S[killed_by]))
        return killed_by

    async def _watch(self, limits: Limits, growth: asyncio.Task[None]) -> KilledBy | None:
        deadline = self._started + limits.timeout_s
        while True:
            remaining = deadline - time.monotonic()
            try:
                async with asyncio.timeout(max(0.0, min(_POLL_S, remaining))):
                    await self._exited.wait()
                return None
            except TimeoutError:
                if remaining <= _POLL_S:
                    return "timeout"
            living = await asyncio.to_thread(self._processes.started)
            if len(living) > limits.processes:
                return "processes"
            if sum(entry.rss_bytes for entry in living) > limits.memory_mb << 20:
                return "memory"
            if growth.done():
                await growth
                return "disk"

    async def _finish(self, grace_s: float) -> None:
        # The leader is reaped last: until then its pid, which is also the group's and session's, stays ours.
        try:
            await asyncio.to_thread(self._processes.stop, grace_s)
            async with asyncio.timeout(1):
                await self._exited.wait()
        except TimeoutError:
            # Whatever held it up is no matter of whoever cancelled the run, or of its limit.
            os.killpg(self._process.pid, signal.SIGKILL)
        except asyncio.CancelledError:
            # The loop ends, and may not have had a thread for the above. The leader can still end all the others, those
            # that hide as well, which nobody could after it.
            os.kill(self._process.pid, signal.SIGUSR2)
            raise
        finally:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self.exit_code = self._reaped()
            self.duration_s = time.monotonic() - self._started
            self._output.close()

    def _reaped(self) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=1)
        os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait(timeout=1)

    def _on_exit(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        self._exited.set()


async def even_if_cancelled(work: Coroutine[Any, Any, T]) -> T:
    """Finish the work before a cancellation of the caller goes on."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception:  # result() below raises it
            break
    if cancelled is not None:
        raise cancelled
    return task.result()


def _killed_for_file_size(exit_code: int) -> KilledBy | None:
    return "disk" if exit_code in (-signal.SIGXFSZ, 128 + signal.SIGXFSZ) else None


def _raise_for_start(exit_code: int, output: str, program: str) -> None:
    raise_for_start(exit_code, output, program)
    if exit_code == confine.NOT_FOUND and (missing := missing_program(output)):  # as a shell says it
        raise tool_missing(missing)
