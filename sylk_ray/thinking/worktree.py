"""What a model can do in a worktree: to look, to change files, and to run commands.

All are bounded by ``ToolContext``: paths are checked, programs confined.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from sylk_ray.errors import InputError, SylkError
from sylk_ray.skills import skill
from sylk_ray.thinking.commands import check_command
from sylk_ray.thinking.searching import lines_matching
from sylk_ray.tools import ToolContext, perform
from sylk_ray.tools.beneath import read_beneath
from sylk_ray.tools.files import is_binary, text_of
from sylk_ray.tools.paths import files_matching, resolve
from sylk_ray.tools.specs import Delete, Edit, Write

LINES = 400
"""Of a file, when not more are asked for."""
LARGEST = 4 << 20
"""Bytes of a file that is read at all."""
LISTED = 300

MayWrite = Callable[[str], str]
"""Given a path: why it may not be written; empty if it may."""


@dataclass(frozen=True)
class Bench:
    """Where the skills work. ``may_write`` is asked about files; what commands change is for others to look at."""

    tools: ToolContext
    may_write: MayWrite = lambda path: ""

    def check(self, path: str) -> None:
        """Raises InputError."""
        if refused := self.may_write(path):
            raise InputError(f"{path} may not be changed: {refused}")


@skill(domain="file_ops", only_looks=True, needs=("filesystem.read",))
async def read_file(
    ctx: Bench, path: str, from_line: Annotated[int, Field(ge=1)] = 1, to_line: Annotated[int, Field(ge=0)] = 0
) -> str:
    """Read a file, or lines of it. Lines come with their numbers, which are not a part of the file.

    Args:
        path: A file, relative to the worktree.
        from_line: The first line.
        to_line: The last line; 0 for as many as are shown at once.
    """
    lines = (await asyncio.to_thread(_text, ctx.tools.worktree, path)).splitlines()
    last = min(to_line or from_line + LINES - 1, len(lines))
    if from_line > max(len(lines), 1):
        raise InputError(f"{path} has {len(lines)} lines")
    shown = "\n".join(f"{number:>5} {line}" for number, line in enumerate(lines[from_line - 1 : last], from_line))
    more = f"\n... {len(lines) - last} more lines; ask for from_line={last + 1}" if last < len(lines) else ""
    return f"{shown}{more}" if lines else "(the file is empty)"


@skill(domain="file_ops", only_looks=True, needs=("filesystem.read",))
async def list_files(ctx: Bench, pattern: str = "**") -> str:
    """List files of the worktree by a glob.

    Args:
        pattern: A glob as in .gitignore, for example src/**/*.py.
    """
    found = await asyncio.to_thread(files_matching, ctx.tools.worktree, pattern)
    more = f"\n... {len(found) - LISTED} more" if len(found) > LISTED else ""
    return "\n".join(found[:LISTED]) + more if found else "there are none"


@skill(domain="search", only_looks=True, needs=("filesystem.read",))
async def search_files(ctx: Bench, pattern: str, files: str = "**") -> str:
    """Find the lines that match a regular expression.

    Args:
        pattern: A regular expression, as in Python.
        files: A glob of the files to look in.
    """
    _check_pattern(pattern)
    paths = await asyncio.to_thread(_readable, ctx.tools.worktree, files)
    return "\n".join(await lines_matching(ctx.tools, pattern, paths)) or "no line matches"


@skill(domain="file_ops", needs=("filesystem.write",))
async def write_file(ctx: Bench, path: str, content: str) -> str:
    """Write a whole file, new or in place of what is there; folders are made.

    Args:
        path: A file, relative to the worktree.
        content: All of it.
    """
    ctx.check(path)
    return (await perform(Write(path=path, content=content, allow_no_change=True), ctx.tools)).summary


@skill(domain="file_ops", needs=("filesystem.write",))
async def edit_file(ctx: Bench, path: str, old: Annotated[str, Field(min_length=1)], new: str) -> str:
    """Replace one exact text of a file by another.

    Args:
        path: A file, relative to the worktree.
        old: Text that is in the file exactly once.
        new: What is to be there instead.
    """
    ctx.check(path)
    return (await perform(Edit(path=path, old=old, new=new, allow_no_change=True), ctx.tools)).summary


@skill(domain="file_ops", needs=("filesystem.write",))
async def delete_file(ctx: Bench, path: str) -> str:
    """Delete a file.

    Args:
        path: A file, relative to the worktree.
    """
    ctx.check(path)
    return (await perform(Delete(path=path), ctx.tools)).summary


@skill(domain="bash", needs=("shell",))
async def run_command(ctx: Bench, command: str, timeout_s: Annotated[float, Field(gt=0, le=3600)] = 120.0) -> str:
    """Run a shell command in the worktree. It cannot write elsewhere, and has no network.

    Args:
        command: For /bin/sh.
        timeout_s: How long it may take.
    """
    check_command(command)
    done = await ctx.tools.run(("/bin/sh", "-c", command), timeout_s=timeout_s, artifact="model")
    how = f"killed by its {done.killed_by} limit" if done.killed_by else f"exit code {done.exit_code}"
    hint = f"\nhint: {done.hint}" if done.hint else ""
    return f"{how}\n{done.output.strip()}{hint}" if done.output.strip() else f"{how}, no output"


IN_A_WORKTREE = (read_file, list_files, search_files, write_file, edit_file, delete_file, run_command)
"""Called with a Bench; which of them an agent has is for its permissions to say."""


def _text(worktree: Path, path: str) -> str:
    file = resolve(worktree, path)
    if not file.is_file():
        raise InputError(f"there is no file {path}", hint="list_files tells which there are")
    if file.stat().st_size > LARGEST:
        raise InputError(f"{path} is larger than {LARGEST >> 20} MB", hint="search_files finds lines in it")
    data = read_beneath(worktree, path, LARGEST)
    if is_binary(data):
        raise InputError(f"{path} is not text")
    return text_of(data, path)


def _check_pattern(pattern: str) -> None:
    if "\0" in pattern:
        raise InputError("a regular expression has no NUL in it")
    try:
        re.compile(pattern)
    except re.error as problem:
        raise InputError(f"{pattern!r} is no regular expression: {problem}") from None


def _readable(worktree: Path, globs: str) -> list[str]:
    """Files that are in the worktree when their links are followed."""
    found: list[str] = []
    for path in files_matching(worktree, globs):
        with contextlib.suppress(SylkError):
            resolve(worktree, path)
            found.append(path)
    return found
