"""What a model can do in a worktree: to look, to change files, and to run commands.

All are bounded by ``ToolContext``: paths are checked, programs confined.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

from sylk_ray.errors import InputError, SylkError
from sylk_ray.skills import skill
from sylk_ray.thinking.commands import check_command
from sylk_ray.thinking.looking import looking_command
from sylk_ray.thinking.meant import as_it_stands, ended_early, redefined, replaceable
from sylk_ray.thinking.searching import lines_matching
from sylk_ray.thinking.written import bound, broken, defined, doubled, numbered, unbound, without_numbers
from sylk_ray.tools import ToolContext, perform
from sylk_ray.tools.beneath import read_beneath
from sylk_ray.tools.errors import ActionFailed, NothingChanged
from sylk_ray.tools.files import is_binary, text_of
from sylk_ray.tools.paths import files_matching, resolve
from sylk_ray.tools.specs import Delete, Edit, Write

LINES = 400
"""Of a file, when not more are asked for."""
SHORT = 80
"""Lines of a file that is always shown whole."""
LARGEST = 4 << 20
"""Bytes of a file that is read at all."""
LISTED = 300
LOOKS_FOR_S = 30.0
_PLACES = 20
_NAMED = 5
_LOOKED_THROUGH = 1_000
"""Files that are looked into for who uses what is gone."""
_GO_ON = "go on with what is left to do"
_WORTH_KEEPING = 8
"""Lines of a file that is not written anew without most of them."""
_MOST_LOST = 0.5

MayWrite = Callable[[str], str]
"""Given a path: why it may not be written; empty if it may."""


@dataclass(frozen=True)
class Bench:
    """Where the skills work. ``may_write`` is asked about files; what commands change is for others to look at. Where
    it ``only_adds``, what is defined there stays as it is. What is ``defined_elsewhere``, each name with its file, is
    not to be copied."""

    tools: ToolContext
    may_write: MayWrite = lambda path: ""
    only_adds: bool = False
    defined_elsewhere: Mapping[str, str] = field(default_factory=dict[str, str])
    ran: set[str] = field(default_factory=set[str])
    """The commands that were run since a file was written."""

    def begin_write(self, path: str) -> None:
        """Raises InputError where it may not be."""
        self.ran.clear()
        if refused := self.may_write(path):
            raise InputError(f"{path} may not be changed: {refused}")


@skill(domain="file_ops", tier="core", only_looks=True, needs=("filesystem.read",))
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
    if len(lines) <= SHORT:  # whoever asks for a part of it asks for the rest next
        from_line, to_line = 1, 0
    last = min(to_line if to_line >= from_line else from_line + LINES - 1, len(lines))
    if from_line > max(len(lines), 1):
        raise InputError(f"{path} has {len(lines)} lines")
    shown = "\n".join(numbered(number, line) for number, line in enumerate(lines[from_line - 1 : last], from_line))
    more = f"\n... {len(lines) - last} more lines; ask for from_line={last + 1}" if last < len(lines) else ""
    return f"{shown}{more}" if lines else "(the file is empty)"


@skill(domain="file_ops", tier="core", only_looks=True, needs=("filesystem.read",))
async def list_files(ctx: Bench, pattern: str = "**") -> str:
    """List files of the worktree by a glob.

    Args:
        pattern: A glob as in .gitignore, for example src/**/*.py.
    """
    found = await asyncio.to_thread(_matching, ctx.tools.worktree, pattern)
    more = f"\n... {len(found) - LISTED} more" if len(found) > LISTED else ""
    return "\n".join(found[:LISTED]) + more if found else "there are none"


@skill(domain="search", tier="core", only_looks=True, needs=("filesystem.read",))
async def search_files(ctx: Bench, pattern: str, files: str = "**") -> str:
    """Find the lines that match a regular expression.

    Args:
        pattern: A regular expression, as in Python.
        files: A glob of the files to look in.
    """
    _check_pattern(pattern)
    paths = await asyncio.to_thread(_readable, ctx.tools.worktree, files)
    return "\n".join(await lines_matching(ctx.tools, pattern, paths)) or "no line matches"


@skill(domain="file_ops", tier="core", writes="path", needs=("filesystem.write",))
async def write_file(ctx: Bench, path: str, content: str) -> str:
    """Write a whole new file, or one anew; folders are made. To add to a file there is append_to_file.

    Args:
        path: A file, relative to the worktree.
        content: All of it.
    """
    ctx.begin_write(path)
    content = without_numbers(content)
    before = await asyncio.to_thread(_text_or_nothing, ctx.tools.worktree, path)
    _refuse_loss(path, before, content)
    _refuse_copies(ctx, path, before, content)
    return await _changed(ctx, before, Write(path=path, content=content))


@skill(domain="file_ops", tier="core", writes="path", needs=("filesystem.write",))
async def edit_file(ctx: Bench, path: str, old: Annotated[str, Field(min_length=1)], new: str) -> str:
    """Replace lines of a file by others.

    Args:
        path: A file, relative to the worktree.
        old: Whole lines of the file as they stand there, enough to be found once.
        new: The lines that are to be there instead.
    """
    ctx.begin_write(path)
    if (bare := without_numbers(old)) != old:
        old, new = bare, without_numbers(new)
    before = await asyncio.to_thread(_text_or_nothing, ctx.tools.worktree, path)
    # A file's Windows line endings are for the edit itself to see to.
    fits = old in before or old.replace("\n", "\r\n") in before
    meant = ended_early(path, before, old, new) if fits else as_it_stands(path, before, old, new)
    if meant is not None:
        old, new = meant
    try:
        return await _changed(ctx, before, Edit(path=path, old=old, new=new))
    except ActionFailed as failed:
        if old in before or ctx.only_adds or not (named := replaceable(path, before, old)):
            raise
        another = f"Or call append_to_file with all of {named} as it is to be: it takes the place of this one."
        raise ActionFailed(failed.message, hint=f"{failed.hint}\n{another}") from failed


@skill(domain="file_ops", tier="core", writes="path", needs=("filesystem.write",))
async def append_to_file(ctx: Bench, path: str, content: str) -> str:
    """Add lines to the end of a file; all that is there stays, but a function that is given anew is replaced.

    Args:
        path: A file, relative to the worktree.
        content: What comes after its last line; or whole functions.
    """
    ctx.begin_write(path)
    before = await asyncio.to_thread(_text, ctx.tools.worktree, path)
    between = "" if not before or before.endswith("\n") else "\n"
    added = without_numbers(content if content.endswith("\n") else f"{content}\n")
    if before.rstrip().endswith(added.strip()):
        raise NothingChanged(f"nothing is added: {path} ends with that already", hint=_GO_ON)
    _refuse_copies(ctx, path, before, added)
    if ctx.only_adds and (there := min(defined(path, added) & defined(path, before), default="")):
        raise NothingChanged(
            f"nothing is added: {path} has {there} already, and it stays as it is",
            hint="where it does all that is wanted, finish with what there is; else give yours another name",
        )
    if (whole := redefined(path, before, added)) is not None:
        return f"what had the same name is replaced: {await _changed(ctx, before, _as_edit(path, before, whole))}"
    return await _changed(ctx, before, _as_edit(path, before, before + between + added))


@skill(domain="file_ops", tier="core", needs=("filesystem.write",))
async def replace_in_files(ctx: Bench, old: Annotated[str, Field(min_length=1)], new: str, files: str = "**") -> str:
    """Replace a text by another wherever it stands, for example to rename something. A name is replaced where it is a
    whole word.

    Args:
        old: The text, or the name.
        new: What is to be there instead.
        files: A glob of the files to change; all if it is left out.
    """
    found, elsewhere = await asyncio.to_thread(_replaced, ctx.tools.worktree, old, new, files)
    also = f"{old!r} still stands in {', '.join(elsewhere[:_PLACES])}: leave files out to replace it there too"
    if not found:
        here = f"nothing is changed: {old!r} stands nowhere"
        raise NothingChanged(f"{here} in {files}. {also}" if elsewhere else here, hint="" if elsewhere else _GO_ON)
    for path, *_ in found:
        ctx.begin_write(path)
    told = [
        f"{await _changed(ctx, before, _as_edit(path, before, after), old)}, {count} times"
        for path, count, before, after in found
    ]
    return "\n".join([*told, *([also] if elsewhere else [])])


@skill(domain="file_ops", tier="core", needs=("filesystem.write",))
async def delete_file(ctx: Bench, path: str) -> str:
    """Delete a file.

    Args:
        path: A file, relative to the worktree.
    """
    ctx.begin_write(path)
    return (await perform(Delete(path=path), ctx.tools)).summary


@skill(domain="bash", tier="core", needs=("shell",))
async def run_command(ctx: Bench, command: str, timeout_s: Annotated[float, Field(gt=0, le=3600)] = 120.0) -> str:
    """Run a shell command in the worktree. It cannot write elsewhere, and has no network.

    Args:
        command: For /bin/sh.
        timeout_s: How long it may take.
    """
    check_command(command)
    ctx.ran.add(command)
    return await _ran(ctx, command, timeout_s)


@skill(domain="bash", keywords=["shell"], tier="specialised", only_looks=True, needs=("filesystem.read",))
async def look_with_shell(ctx: Bench, command: str) -> str:
    """Run a shell command that only looks: cat, head, tail, grep, find, ls, wc, diff, tree, file, stat, du, pwd, which.

    Args:
        command: For /bin/sh, of these alone, joined by | ; or &&.
    """
    return await _ran(ctx, looking_command(command), LOOKS_FOR_S)


async def _ran(ctx: Bench, command: str, timeout_s: float) -> str:
    done = await ctx.tools.run(("/bin/sh", "-c", command), timeout_s=timeout_s, artifact="model")
    how = f"killed by its {done.killed_by} limit" if done.killed_by else f"exit code {done.exit_code}"
    hint = f"\nhint: {done.hint}" if done.hint else ""
    return f"{how}\n{done.output.strip()}{hint}" if done.output.strip() else f"{how}, no output"


IN_A_WORKTREE = (
    *(read_file, list_files, search_files),
    *(write_file, append_to_file, edit_file, replace_in_files, delete_file),
    run_command,
)
"""Called with a Bench; which of them an agent has is for its permissions to say."""


def _as_edit(path: str, before: str, after: str) -> Write | Edit:
    """The change of a whole file that builds on what is there, and so discards nothing of what others did."""
    if not before:
        return Write(path=path, content=after)
    return Edit(path=path, old=before, new=after)


def _replaced(worktree: Path, old: str, new: str, globs: str) -> tuple[list[tuple[str, int, str, str]], list[str]]:
    """Each file that would change: how often, its text, and what that would be; and the files that it stands in and
    the globs leave out."""
    begin = r"(?<!\w)" if old[0].isidentifier() else ""
    end = r"(?!\w)" if f"_{old[-1]}".isidentifier() else ""
    pattern = re.compile(f"{begin}{re.escape(old)}{end}")
    found: list[tuple[str, int, str, str]] = []
    wanted = _readable(worktree, globs)
    for path in wanted:
        before = _text_or_nothing(worktree, path)
        after, count = pattern.subn(lambda _: new, before)
        if count:
            found.append((path, count, before, after))
    others = sorted(set(_readable(worktree, "**")) - set(wanted))
    return found, [path for path in others if pattern.search(_text_or_nothing(worktree, path))]


def _text_or_nothing(worktree: Path, path: str) -> str:
    """Of what is no text, or too large, nothing."""
    try:
        return _text(worktree, path)
    except SylkError:
        return ""


def _refuse_copies(ctx: Bench, path: str, before: str, content: str) -> None:
    """Raises ActionFailed."""
    if copied := min((defined(path, content) - defined(path, before)) & ctx.defined_elsewhere.keys(), default=""):
        there = ctx.defined_elsewhere[copied]
        raise ActionFailed(
            f"nothing is written: {copied} is defined in {there}, and a copy shows nothing of it",
            hint=f"import {copied} from there and call it, or give yours another name",
        )


def _refuse_loss(path: str, before: str, content: str) -> None:
    """A model that means to add to a file may write it anew with what it adds alone. Raises ActionFailed."""
    lines = [line for line in before.splitlines() if line.strip()]
    kept = set(content.splitlines())
    gone = [line for line in lines if line not in kept]
    if len(lines) >= _WORTH_KEEPING and len(gone) > len(lines) * _MOST_LOST:
        raise ActionFailed(
            f"nothing is written: {len(gone)} of the {len(lines)} lines of {path} would be gone, the first of them "
            f"{gone[0].strip()[:100]!r}",
            hint="append_to_file adds to a file, edit_file changes a part of it. To begin it anew, delete it first.",
        )


async def _changed(ctx: Bench, before: str, action: Write | Edit, renamed: str = "") -> str:
    """What was done, and what is wrong with the file now that was not ``before``. Where what is ``renamed`` still
    stands is told by who does that."""
    try:
        done = await perform(action, ctx.tools)
    except NothingChanged as problem:
        raise NothingChanged(f"nothing is changed: {problem.message}", hint=_GO_ON) from None

    wrong = await asyncio.to_thread(_wrong_now, ctx, action.path, before, renamed)
    return "\n".join([done.summary, *(f"but now {each}" for each in wrong)])


def _wrong_now(ctx: Bench, path: str, before: str, renamed: str) -> list[str]:
    """It cannot be read, or defines something twice, or no longer what others use, or uses what it does not import."""
    worktree = ctx.tools.worktree
    after = _text_or_nothing(worktree, path)
    if unreadable := broken(path, after):
        return [f"it cannot be read: {unreadable}"]
    known = doubled(path, before)
    found = [
        f"{name} is defined twice, in lines {first} and {last}: change the first and remove the other"
        for name, (first, last) in doubled(path, after).items()
        if name not in known
    ]
    lacking = unbound(path, after, ctx.defined_elsewhere) - unbound(path, before, ctx.defined_elsewhere)
    found += [f"it uses {each}, and does not import it from {ctx.defined_elsewhere[each]}" for each in sorted(lacking)]
    gone = sorted(defined(path, before) - bound(path, after) - {renamed})[:_NAMED] if before else []
    return found + [
        f"{name} is not defined there any more, and {', '.join(used)} uses it: call it {name} again, unless you are to "
        "give it another name"
        for name, used in _using(worktree, gone, path).items()
    ]


def _using(worktree: Path, names: list[str], besides: str) -> dict[str, list[str]]:
    """The Python files that say a name without giving it a meaning themselves, some of them; not ``besides``."""
    found: dict[str, list[str]] = {}
    if not names:
        return found
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
    for path in _readable(worktree, "**/*.py")[:_LOOKED_THROUGH]:
        text = _text_or_nothing(worktree, path) if path != besides else ""
        said = set(pattern.findall(text))
        for name in sorted(said - bound(path, text, imports=False)) if said else ():
            if len(found.setdefault(name, [])) < _NAMED:
                found[name].append(path)
    return found


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


def _matching(worktree: Path, globs: str) -> tuple[str, ...]:
    """Files that match; several globs may be given with commas or spaces between, where all of it matches nothing and
    each part something: a part of a name that is misspelt is no glob."""
    if found := files_matching(worktree, globs):
        return found
    each = [files_matching(worktree, part) for part in re.split(r"[,\s]+", globs.strip(" ,"))]
    return tuple(sorted(set[str]().union(*each))) if all(each) else ()


def _readable(worktree: Path, globs: str) -> list[str]:
    """Files that are in the worktree when their links are followed."""
    found: list[str] = []
    for path in _matching(worktree, globs):
        with contextlib.suppress(SylkError):
            resolve(worktree, path)
            found.append(path)
    return found
