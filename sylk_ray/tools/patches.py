"""Apply a unified diff with ``git apply``: whole or not at all.

git is kept from reading the worktree's repository: a tool process can write to the worktree, so configuration
found from there is not to be trusted with running outside of the sandbox.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import PurePosixPath

from sylk_ray.programs import run_program
from sylk_ray.tools.confinement import raise_for_start
from sylk_ray.tools.context import ActionResult, ToolContext, last_lines
from sylk_ray.tools.edits import refuse_protected
from sylk_ray.tools.environment import search_path
from sylk_ray.tools.errors import ActionFailed, NothingChanged
from sylk_ray.tools.paths import resolve
from sylk_ray.tools.specs import Patch

_HUNK = re.compile(r"@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")
_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))")
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_LIMIT_S = 120.0
_APPLY = ("apply", "--whitespace=nowarn")


async def patch(action: Patch, context: ToolContext) -> ActionResult:
    """Apply a diff whose every path is inside the worktree."""
    diff = action.diff if action.diff.endswith("\n") else action.diff + "\n"
    names = sorted(set(diff_paths(diff, action.strip)))
    for name in names:
        await asyncio.to_thread(resolve, context.worktree, name)
    refuse_protected(context, tuple(names))
    strip = f"-p{action.strip}"
    failed = await _git(context, diff, *_APPLY, strip, "--check")
    if failed is not None:
        if await _git(context, diff, *_APPLY, strip, "--check", "--reverse") is None:
            if action.allow_no_change:
                return ActionResult("the patch was applied already")
            raise NothingChanged("the patch was applied already", hint="If that is fine, set allow_no_change: true.")
        raise _failed(failed)
    failed = await _git(context, diff, *_APPLY, strip)
    if failed is not None:
        raise _failed(failed)
    return ActionResult(f"patched {len(names)} files", tuple(names))


def diff_paths(diff: str, strip: int) -> Iterator[str]:
    """Every path that a diff names, old and new, as ``git apply -p<strip>`` takes it."""
    old = new = 0
    for line in diff.split("\n"):
        if old > 0 or new > 0:
            old -= line[:1] in ("-", " ", "")
            new -= line[:1] in ("+", " ", "")
        elif hunk := _HUNK.match(line):
            old, new = int(hunk["old"] or 1), int(hunk["new"] or 1)
        elif line.startswith(("--- ", "+++ ")):
            if (name := _unquoted(line[4:])) != "/dev/null":
                yield _stripped(name, strip)
        elif line.startswith(("rename from ", "rename to ", "copy from ", "copy to ")):
            # Without a prefix to strip: git takes one part less off these.
            yield _stripped(_unquoted(line.split(" ", 2)[2]), max(0, strip - 1))
        elif line.startswith("diff --git "):
            yield from (_stripped(name, strip) for name in _header_names(line.removeprefix("diff --git ")))


def _header_names(names: str) -> tuple[str, ...]:
    quoted = re.findall(r'"(?:[^"\\]|\\.)*"', names)
    if quoted:
        return tuple(_unquoted(name) for name in quoted)
    half = len(names) // 2  # both names are the same but for their prefix, or a rename line tells
    return (names[half + 1 :],) if names[half : half + 1] == " " else ()


def _unquoted(name: str) -> str:
    name = name.rstrip("\r")
    if not name.startswith('"'):
        return name.partition("\t")[0]

    def plain(escape: re.Match[bytes]) -> bytes:
        return bytes([int(escape[1], 8) & 0xFF]) if escape[1] else _ESCAPED.get(escape[2], escape[2])

    return _ESCAPE.sub(plain, name.rpartition('"')[0][1:].encode()).decode(errors="surrogateescape")


def _stripped(name: str, strip: int) -> str:
    # Not by PurePosixPath alone: an absolute path would lose its root as if it were a prefix.
    if name.startswith("/"):
        return name
    return "/".join(PurePosixPath(name).parts[strip:]) or name


def _failed(reason: str) -> ActionFailed:
    return ActionFailed(
        f"the patch does not apply, and nothing was changed: {last_lines(reason)}",
        hint="Make the diff against the files as they are now; check strip (1 for a/ and b/ prefixes).",
    )


async def _git(context: ToolContext, diff: str, *arguments: str) -> str | None:
    """Run git on the diff; None if it succeeded, else what it said. It is confined: between its looking and its writing
    a link may be put in the way."""
    environment = {"PATH": search_path(), "LC_ALL": "C.UTF-8", "GIT_DIR": "/nonexistent", "HOME": "/nonexistent"}
    try:
        done = await run_program(
            await asyncio.to_thread(context.confined, ("git", *arguments)),
            cwd=context.worktree,
            env=environment,
            stdin=diff.encode(errors="surrogateescape"),
            stderr=subprocess.STDOUT,
            limit_s=_LIMIT_S,
            patience_s=_LIMIT_S,
        )
    except TimeoutError:
        raise ActionFailed(f"git did not apply the patch within {_LIMIT_S:g} s") from None
    output = done.stdout.decode(errors="replace")
    raise_for_start(done.returncode, output, "git")
    return None if done.returncode == 0 else output
