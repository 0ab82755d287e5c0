"""The tools of a model in a worktree: to look, to change files, and to run commands.

All are bounded by ``ToolContext``: paths are checked, programs confined.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from sylk_ray.errors import InputError, SylkError
from sylk_ray.thinking.commands import check_command
from sylk_ray.thinking.searching import lines_matching
from sylk_ray.thinking.toolbox import Usable, usable
from sylk_ray.tools import ToolContext, perform
from sylk_ray.tools.files import is_binary, text_of
from sylk_ray.tools.paths import files_matching, resolve
from sylk_ray.tools.specs import Delete, Edit, Write

LINES = 400
"""Of a file, when not more are asked for."""
LARGEST = 4 << 20
"""Bytes of a file that is read at all."""
LISTED = 300

File = Annotated[str, Meta(description="A file, relative to the worktree.")]
MayWrite = Callable[[str, str | None, str], str]
"""Given a path, what is there and what is to be there: why that may not be; empty if it may."""


def worktree_tools(tools: ToolContext, may_write: MayWrite = lambda path, before, after: "") -> list[Usable]:
    """All of them; which an agent has is for its permissions to say."""

    async def read_file(
        path: File,
        from_line: Annotated[int, Meta(ge=1, description="The first line.")] = 1,
        to_line: Annotated[int, Meta(ge=0, description="The last line; 0 for as many as are shown at once.")] = 0,
    ) -> str:
        """Read a file, or lines of it. Lines come with their numbers, which are not a part of the file."""
        lines = (await asyncio.to_thread(_text, tools.worktree, path)).splitlines()
        last = min(to_line or from_line + LINES - 1, len(lines))
        if from_line > max(len(lines), 1):
            raise InputError(f"{path} has {len(lines)} lines")
        shown = "\n".join(f"{number:>5} {line}" for number, line in enumerate(lines[from_line - 1 : last], from_line))
        more = f"\n... {len(lines) - last} more lines; ask for from_line={last + 1}" if last < len(lines) else ""
        return f"{shown}{more}" if lines else "(the file is empty)"

    async def list_files(
        pattern: Annotated[str, Meta(description="A glob as in .gitignore, for example src/**/*.py.")] = "**",
    ) -> str:
        """List files of the worktree by a glob."""
        found = await asyncio.to_thread(files_matching, tools.worktree, pattern)
        more = f"\n... {len(found) - LISTED} more" if len(found) > LISTED else ""
        return "\n".join(found[:LISTED]) + more if found else "there are none"

    async def search_files(
        pattern: Annotated[str, Meta(description="A regular expression, as in Python.")],
        files: Annotated[str, Meta(description="A glob of the files to look in.")] = "**",
    ) -> str:
        """Find the lines that match a regular expression."""
        _check_pattern(pattern)
        paths = await asyncio.to_thread(_readable, tools.worktree, files)
        return "\n".join(await lines_matching(tools.worktree, pattern, paths)) or "no line matches"

    async def write_file(path: File, content: Annotated[str, Meta(description="All of the file.")]) -> str:
        """Write a whole file, new or in place of what is there; folders are made."""
        await asyncio.to_thread(_permitted, may_write, tools.worktree, path, lambda before: content)
        return (await perform(Write(path=path, content=content, allow_no_change=True), tools)).summary

    async def edit_file(
        path: File,
        old: Annotated[str, Meta(min_length=1, description="Text that is in the file exactly once.")],
        new: Annotated[str, Meta(description="What is to be there instead.")],
    ) -> str:
        """Replace one exact text of a file by another."""
        await asyncio.to_thread(
            _permitted, may_write, tools.worktree, path, lambda before: (before or "").replace(old, new, 1)
        )
        return (await perform(Edit(path=path, old=old, new=new, allow_no_change=True), tools)).summary

    async def delete_file(path: File) -> str:
        """Delete a file."""
        await asyncio.to_thread(_permitted, may_write, tools.worktree, path, lambda before: "")
        return (await perform(Delete(path=path), tools)).summary

    async def run_command(
        command: Annotated[str, Meta(min_length=1, description="For /bin/sh, run in the worktree.")],
        timeout_s: Annotated[float, Meta(gt=0, le=3600, description="How long it may take.")] = 120.0,
    ) -> str:
        """Run a shell command in the worktree. It cannot write elsewhere, and has no network."""
        check_command(command)
        done = await tools.run(("/bin/sh", "-c", command), timeout_s=timeout_s, artifact="model")
        how = f"killed by its {done.killed_by} limit" if done.killed_by else f"exit code {done.exit_code}"
        return f"{how}\n{done.output.strip()}" if done.output.strip() else f"{how}, no output"

    return [
        usable(read_file, "filesystem.read", looks=True),
        usable(list_files, "filesystem.read", looks=True),
        usable(search_files, "filesystem.read", looks=True),
        usable(write_file, "filesystem.write"),
        usable(edit_file, "filesystem.write"),
        usable(delete_file, "filesystem.write"),
        usable(run_command, "shell"),
    ]


def _text(worktree: Path, path: str) -> str:
    file = resolve(worktree, path)
    if not file.is_file():
        raise InputError(f"there is no file {path}", hint="list_files tells which there are")
    if file.stat().st_size > LARGEST:
        raise InputError(f"{path} is larger than {LARGEST >> 20} MB", hint="search_files finds lines in it")
    data = file.read_bytes()
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


def _permitted(may_write: MayWrite, worktree: Path, path: str, after: Callable[[str | None], str]) -> None:
    file = resolve(worktree, path)
    try:
        before = _text(worktree, path) if file.is_file() else None
    except InputError:
        before = ""
    if refused := may_write(path, before, after(before)):
        raise InputError(f"{path} may not be changed so: {refused}")
