"""Lines that match a regular expression which a stranger wrote: in a process that can be ended, for such an expression
can take for ever, and Python's would hold up everything else meanwhile."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from sylk_ray.errors import InputError
from sylk_ray.programs import run_program
from sylk_ray.tools import ActionFailed, ToolContext
from sylk_ray.tools.confinement import raise_for_start
from sylk_ray.tools.context import ending_with

PATIENCE_S = 20.0
_PROGRAM = """
import re, sys
most, largest, longest = 100, 4 << 20, 200
names = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\\0")
pattern, found = re.compile(names.pop(0)), 0
out = open(1, "w", encoding="utf-8", errors="replace")
for name in filter(None, names):
    try:
        with open(name, "rb") as file:
            data = file.read(largest + 1)
    except OSError:
        continue
    if len(data) > largest or b"\\0" in data[:8192]:
        continue
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if pattern.search(line):
            if found == most:
                out.write("... and more: ask more narrowly\\n")
                sys.exit()
            found += 1
            out.write(f"{name}:{number}: {line.strip()[:longest]}\\n")
    out.flush()
"""


async def lines_matching(tools: ToolContext, pattern: str, paths: Sequence[str]) -> list[str]:
    """``path:line: text`` of the first hundred, in files of the worktree; the process can read no others, whatever has
    become of them since they were found. Raises InputError when it takes longer than ``PATIENCE_S``, ActionFailed when
    it did not look to the end, and ConfinementUnavailable."""
    given = "\0".join([pattern, *paths]).encode("utf-8", "surrogateescape")
    command = await asyncio.to_thread(tools.confined, (sys.executable, "-I", "-S", "-c", _PROGRAM))
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
    raise_for_start(done.returncode, said, sys.executable)
    if done.returncode != 0:
        raise ActionFailed(
            f"looking for {pattern!r} ended with exit code {done.returncode}{ending_with(said)}",
            hint="Look in fewer files, or for something simpler.",
        )
    return done.stdout.decode("utf-8", "replace").splitlines()
