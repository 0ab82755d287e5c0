"""Lines that match a regular expression which a stranger wrote. Such an expression can take for ever, and Python's
would hold up everything else meanwhile: but for plain ones, in little, a process looks for them, which can be ended."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sylk_ray.errors import InputError, SylkError
from sylk_ray.thinking import matching
from sylk_ray.tools import ActionFailed, ToolContext
from sylk_ray.tools.beneath import read_beneath
from sylk_ray.tools.context import ending_with

PATIENCE_S = 20.0
AT_ONCE_BYTES, AT_ONCE_FILES = 1 << 20, 500
"""That are looked through here; of more, a process has the time."""
PLAIN = 100
"""Characters of an expression that is looked for here."""
HELD_UP = 1_000_000
"""Characters of the expression times those of a line: one line holds everything else up, by some 10 ms at the worst."""
_ESCAPED = re.compile(r"\\[^\d]")
_CHOOSES = re.compile(r"[*+?{(\\]")
"""What makes an expression try one way after another: repetition, groups, and what refers to them."""
_thread = ThreadPoolExecutor(1, thread_name_prefix="search")
"""One at a time: expressions do not run beside each other."""


async def lines_matching(tools: ToolContext, pattern: str, paths: Sequence[str]) -> list[str]:
    """``path:line: text`` of the first hundred, in files of the worktree. What has become no file of it since they were
    found is passed over. Raises InputError when it takes longer than ``PATIENCE_S``, ActionFailed when it did not look
    to the end, and ConfinementUnavailable."""
    if is_plain(pattern) and len(paths) <= AT_ONCE_FILES:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(_thread, _looked_for, tools.worktree, pattern, paths)
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
    longest = HELD_UP // max(1, len(pattern))

    def read(name: str) -> bytes | None:
        try:
            data = read_beneath(worktree, name, matching.LARGEST)
        except (OSError, SylkError):
            return None
        if max(map(len, data.split(b"\n"))) > longest:
            raise _TooMuch
        return data

    if sum(_size(worktree / name) for name in paths) > AT_ONCE_BYTES:
        return None
    try:
        # A name need not be text: as the process writes it, so it is told here.
        lines = matching.matching(re.compile(pattern), paths, read)
        return [line.encode("utf-8", "replace").decode() for line in lines]
    except _TooMuch:
        return None


def _size(path: Path) -> int:
    """What there is to read in it; in what is too large, or gone, nothing."""
    try:
        size = path.stat().st_size
    except OSError:
        return 0
    return size if size <= matching.LARGEST else 0


async def _by_a_process(tools: ToolContext, pattern: str, paths: Sequence[str]) -> list[str]:
    given = "\0".join([pattern, *paths]).encode("utf-8", "surrogateescape")
    try:
        done = await tools.run_python(matching, given, limit_s=PATIENCE_S)
    except TimeoutError:
        raise InputError(
            f"looking for {pattern!r} took longer than {PATIENCE_S:g} s", hint="ask for something simpler"
        ) from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace")
        raise ActionFailed(
            f"looking for {pattern!r} ended with exit code {done.returncode}{ending_with(said)}",
            hint="Look in fewer files, or for something simpler.",
        )
    return done.stdout.decode("utf-8", "replace").split("\n")[:-1]
