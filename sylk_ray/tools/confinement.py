"""What this kernel can confine, and how a program is started confined.

Running a tool unconfined by accident is worse than not running it, so what is missing is an error, unless the
person who runs the host sets ``SYLK_UNCONFINED=1``; then what does work is still applied.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sylk_ray.errors import InputError
from sylk_ray.tools import confine
from sylk_ray.tools.environment import search_path, tool_missing
from sylk_ray.tools.errors import ConfinementUnavailable
from sylk_ray.tools.reading import NARROWER, hidden, hint_for, opened_by, readable
from sylk_ray.tools.specs import Limits, Sandbox

UNCONFINED = "SYLK_UNCONFINED"


@dataclass(frozen=True)
class Confinement:
    """What works here: the Landlock ABI (0 if none), a network of its own, and why not what does not."""

    landlock_abi: int
    network: bool
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Launch:
    """How a program is started within its grants."""

    command: tuple[str, ...]
    readable: tuple[Path, ...] | None
    """All that it can read; None where nothing holds it from reading more."""

    def hint(self, output: str) -> str:
        """How a job grants what the program was refused to read, when its output tells of that; else empty. Blocks."""
        return "" if self.readable is None else hint_for(output, self.readable)


@functools.cache
def confinement() -> Confinement:
    """Try, once a process, what the kernel allows. Takes some 30 ms; blocks."""
    command = [*launcher(), "--probe"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Confinement(0, False, (f"the probe did not run: {error}",))
    found = [line.partition("=") for line in done.stdout.splitlines()]
    problems = tuple(value for name, _, value in found if name == "problem")
    if done.returncode != 0:
        problems = (*problems, f"the probe failed: {done.stderr.strip()[-500:]}")
    abi = next((int(value) for name, _, value in found if name == "landlock"), 0)
    return Confinement(abi, any(name == "network" for name, _, _ in found), problems)


def confined(
    program: Sequence[str],
    *,
    cwd: Path,
    private_dir: Path,
    limits: Limits,
    sandbox: Sandbox,
    repository: Path | None = None,
    group: Path | None = None,
    python: bool = False,
) -> Launch:
    """What runs ``program`` within its grants, in a worktree of the repository if there is one, and as a member of a
    control group; raises ConfinementUnavailable, and InputError for a grant that cannot be given. With ``python`` it is
    the text of a Python program, which imports nothing beside the standard library. Blocks."""
    able = confinement()
    lacking = ([] if able.landlock_abi else ["write protection (Landlock)"]) + (
        [] if able.network or sandbox.network else ["network isolation (network namespaces)"]
    )
    if lacking and os.environ.get(UNCONFINED) != "1":
        raise unavailable(f"this machine lacks {' and '.join(lacking)}: {'; '.join(able.problems)}")
    options = [f"--parent={os.getpid()}", f"--file-mb={limits.disk_mb}"]
    if able.network and not sandbox.network:
        options += ["--isolate", f"--processes={limits.tasks}"]
    if group is not None:
        options.append(f"--cgroup={group}")
    if python:
        options.append(confine.PYTHON)
    allowed: tuple[Path, ...] | None = None
    if able.landlock_abi:
        writable = (cwd, private_dir, *granted(sandbox.write, cwd, "write"))
        only_read = readable(search_path(), repository, granted(sandbox.read, cwd, "read"))
        allowed = (*writable, *only_read)
        options.append("--landlock")
        for option, paths in (("write", writable), ("read", only_read), ("hide", hidden())):
            options += [f"--{option}={path}" for path in paths]
    return Launch((*launcher(), *options, "--", *program), allowed)


def raise_for_start(exit_code: int, output: str, program: str) -> None:
    """Raises ConfinementUnavailable or ToolMissing when an output is what the launcher said of a program that it did
    not start: whoever runs a confined program asks this first, lest it passes for the program's own word."""
    if not output.startswith(confine.PREFIX):
        return
    if exit_code == confine.FAILED:
        raise unavailable(output.removeprefix(confine.PREFIX).strip())
    if exit_code == confine.NOT_FOUND:
        raise tool_missing(program)


def unavailable(why: str) -> ConfinementUnavailable:
    """The error for a tool that could not be confined."""
    return ConfinementUnavailable(
        f"the tool was not run, because it could not be confined: {why}",
        hint="Use Linux 5.13 or later with Landlock, and in a container allow user namespaces. To run tools "
        f"without protection set {UNCONFINED}=1 where sylk runs, in a machine that may be thrown away.",
    )


def granted(paths: Sequence[str], cwd: Path, what: Literal["read", "write"]) -> list[Path]:
    """What a job grants, links followed; InputError for what is not there, or would open what no tool may read."""
    return [_granted(cwd / Path(path).expanduser(), cwd.resolve(), what) for path in paths]


def _granted(path: Path, worktree: Path, what: Literal["read", "write"]) -> Path:
    if not path.exists():
        raise InputError(
            f"sandbox.{what} grants {path}, which does not exist",
            hint=f"Make the folder first, or take it out of sandbox.{what}.",
        )
    real = path.resolve()
    secret = None if real.is_relative_to(worktree) else opened_by(real, what)
    if secret is not None:
        raise InputError(f"sandbox.{what} grants {path}, but no tool may read {secret}", hint=NARROWER)
    return real


@functools.cache
def launcher() -> tuple[str, ...]:
    """What starts ``confine``. The Python that an environment was made of starts faster than its own, and what
    is imported need not be compiled each time, unless it is another text: some 8 of 28 ms."""
    text = f"import sys; sys.path.append({str(Path(confine.__file__).parent)!r}); import confine; confine.start()"
    return (os.path.realpath(sys.executable), "-I", "-S", "-c", text)
