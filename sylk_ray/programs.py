"""Other programs, run to their end and waited for in threads.

Not by asyncio's own subprocesses: up to Python 3.12 they wait for ever for a program whose start is cancelled together
with everything else of the loop, as ``asyncio.run`` does at its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

AT_ONCE = 64
"""Programs of one process; more stand in line."""
_TERM_S = _KILL_S = 5.0

_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="program")


async def run_program(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limit_s: float,
    stdin: bytes | None = None,
    stderr: int = subprocess.PIPE,
    patience_s: float = 0.0,
) -> subprocess.CompletedProcess[bytes]:
    """Run it in a process group of its own, and return its exit code and what it wrote.

    A cancelled wait lets it come to its end for ``patience_s`` seconds first; then, as after ``limit_s`` seconds, its
    group is ended with SIGTERM, and SIGKILL when that does not help. Raises TimeoutError, and OSError when it cannot
    be started.
    """
    started: list[subprocess.Popen[bytes]] = []

    def run() -> subprocess.CompletedProcess[bytes]:
        with subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        ) as process:
            started.append(process)
            output, errors = process.communicate(stdin)
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    running = asyncio.get_running_loop().run_in_executor(_threads, run)
    try:
        async with asyncio.timeout(limit_s):
            return await asyncio.shield(running)
    except asyncio.CancelledError:
        await _end(started, running, patience_s)
        raise
    except TimeoutError:
        await _end(started, running, 0.0)
        raise


async def _end(
    started: list[subprocess.Popen[bytes]],
    running: asyncio.Future[subprocess.CompletedProcess[bytes]],
    patience_s: float,
) -> None:
    try:
        for signal_number, seconds in ((None, patience_s), (signal.SIGTERM, _TERM_S), (signal.SIGKILL, _KILL_S)):
            if signal_number is not None:
                _signal(started, signal_number)
            done, _ = await asyncio.wait([running], timeout=seconds)
            if done:
                return
    except asyncio.CancelledError:
        _signal(started, signal.SIGTERM)  # there is no time left for patience
        raise


def _signal(started: list[subprocess.Popen[bytes]], number: int) -> None:
    for process in started:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
