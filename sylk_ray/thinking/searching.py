"""Lines that match a regular expression which a stranger wrote. Such an expression can take for ever, and Python's
would hold up everything else meanwhile: but for plain ones, in little, a process looks for them, which can be ended."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Sequence
from pathlib import Path

from sylk_ray.errors import InputError, SylkError
from sylk_ray.programs import run_program
from sylk_ray.thinking import matching
from sylk_ray.tools import ActionFailed, ToolContext
from sylk_ray.tools.beneath import read_beneath
from sylk_ray.tools.confinement import raise_for_start
from sylk_ray.tools.context import ending_with

PATIENCE_S = 20.0
AT_ONCE_BYTES, AT_ONCE_FILES = 1 << 20, 500
"""That are looked through here, in some 10 ms; of more, a process has the time."""
PLAIN = 100
"""Characters of an expression that is looked for here."""
_ESCAPED = re.compile(r"\\[^\d]")
_CHOOSES = re.compile(r"[*+?{(\\]")
"""What makes an expression try one way after another: repetition, groups, and what refers to them."""


async def lines_matching(tools: ToolContext, pattern: str, paths: Sequence[str]) -> list[str]:
    """``path:line: text`` of the first hundred, in files of the worktree; no others are read, whatever has become of
    them since they were found. Raises InputError when it takes longer than ``PATIENCE_S``, ActionFailed when it did
    not look to the end, and ConfinementUnavailable."""
    if is_plain(pattern) and len(paths) <= AT_ONCE_FILES:
        found = await asyncio.to_thread(_looked_for, tools.worktree, pattern, paths)
        if found is not None:
            return found
    return await _by_a_process(tools, pattern, paths)


def is_plain(pattern: str) -> bool:
    """Whether it takes no longer than its own length for each character that it is looked for in."""
    return len(pattern) <= PLAIN and _CHOOSES.search(_ESCAPED.sub("", pattern)) is None


class _TooMuch(Exception):
    """There is more than a moment's work in it."""


def _looked_for(worktree: Path, pattern: str, paths: Sequence[str]) -> list[str] | None:
    """None when there is too much to look through. Blocks."""
    left = AT_ONCE_BYTES

    def read(name: str) -> bytes | None:
        nonlocal left
        try:
            size = (worktree / name).lstat().st_size
            data = read_beneath(worktree, name, matching.LARGEST) if size <= left else None
        except (OSError, SylkError):
            return None
        if data is None:
            raise _TooMuch
        left -= len(data)
        return data

    try:
        # With what a stranger names a file, a line is no text for sure: as the process writes it, so it is here.
        lines = matching.matching(re.compile(pattern), paths, read)
        return [line.encode("utf-8", "replace").decode() for line in lines]
    except _TooMuch:
        return None


async def _by_a_process(tools: ToolContext, pattern: str, paths: Sequence[str]) -> list[str]:
    given = "\0".join([pattern, *paths]).encode("utf-8", "surrogateescape")
    command = await asyncio.to_thread(tools.confined, (_program(),), python=True)
    try:
        done = await run_program(
            command,
            cwd=tools.worktree,
            env={},
            stdin=given,
            limit_s=PATIENCE_S,
        )
    except TimeoutError:
        raise InputError(
            f"looking for {pattern!r} took longer than {PATIENCE_S:g} s", hint="ask for something simpler"
        ) from None
    said = done.stderr.decode("utf-8", "replace")
    raise_for_start(done.returncode, said, "python")
    if done.returncode != 0:
        raise ActionFailed(
            f"looking for {pattern!r} ended with exit code {done.returncode}{ending_with(said)}",
            hint="Look in fewer files, or for something simpler.",
        )
    return done.stdout.decode("utf-8", "replace").splitlines()


@functools.cache
def _program() -> str:
    return Path(matching.__file__).read_text()
