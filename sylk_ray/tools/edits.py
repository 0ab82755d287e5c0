"""Change one file exactly, write one whole, delete: refused rather than guessed when it does not fit."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import SequenceMatcher, get_close_matches
from heapq import nlargest
from itertools import accumulate
from pathlib import Path

from sylk_ray.tools import files
from sylk_ray.tools.beneath import delete_beneath, read_beneath, write_beneath
from sylk_ray.tools.context import ActionResult, ToolContext
from sylk_ray.tools.errors import ActionFailed, ChangesProtected, NothingChanged
from sylk_ray.tools.paths import real_parts, resolve, walk
from sylk_ray.tools.specs import Delete, Edit, Write

_ALIKE = 0.4
"""Of what is shown as the nearest to a text that is not there, as difflib measures it."""
_AFTER = 2
_FEW = 30
_WORD = re.compile(r"\w+")
_MOST_LINES = 60
_COMPARED = 400
_LONGEST = 20_000
"""Lines of a file that is looked through for it."""


def edit(action: Edit, context: ToolContext) -> ActionResult:
    """Replace one exact text; in a file with Windows line endings, those of the new one become so. Blocks."""
    text = files.text_of(_existing_file(context.worktree, action.path), action.path)
    ending = files.line_ending(text)
    old, new = action.old, action.new
    if ending != "\n":
        windows = files.with_line_ending(old, ending)
        if old not in text:
            old = windows
        if old == windows:  # else it has other ones itself, which are not to be changed unasked
            new = files.with_line_ending(new, ending)
    count = text.count(old)
    if count > 1:
        lines = ", ".join(str(line) for line in _lines_of(text, old))
        raise ActionFailed(
            f"the text to replace in {action.path} is not unique: it starts on the lines {lines}",
            hint="Give more of the surrounding text in old, so that it is found once.",
        )
    if count == 0:
        if action.allow_no_change and new in text:
            return ActionResult(f"{action.path} was as it should be")
        raise ActionFailed(f"the text to replace is not in {action.path}", hint=_nearest(text, old))
    if old == new:
        return _unchanged(action.allow_no_change, f"{action.path} was as it should be")
    write_beneath(context.worktree, action.path, text.replace(old, new).encode())
    return ActionResult(f"edited {action.path}", (action.path,))


def write(action: Write, context: ToolContext) -> ActionResult:
    """Write a whole file; blocks."""
    path = resolve(context.worktree, action.path)
    name = path.relative_to(context.worktree).as_posix()
    if path.is_dir():
        raise ActionFailed(f"{action.path} is a folder", hint="Delete it first, or write to another path.")
    data = action.content.encode()
    exists = path.exists()
    executable_already = exists and bool(path.stat().st_mode & 0o100)
    if exists and _holds(context.worktree, action.path, data) and (executable_already or not action.executable):
        return _unchanged(action.allow_no_change, f"{action.path} was as it should be")
    refuse_protected(context, {name, _real_name(context, path)})
    try:
        write_beneath(context.worktree, action.path, data, executable=action.executable)
    except OSError as error:
        raise ActionFailed(
            f"{action.path} cannot be written: {error.strerror}", hint="Is one of its folders a file?"
        ) from error
    return ActionResult(f"{'rewrote' if exists else 'wrote'} {action.path}", (name,))


def delete(action: Delete, context: ToolContext) -> ActionResult:
    """Delete a file, a link, or a folder with all in it; blocks."""
    path = resolve(context.worktree, action.path)
    name = path.relative_to(context.worktree).as_posix()
    if path.is_symlink() or path.is_file():
        refuse_protected(context, {name})
        delete_beneath(context.worktree, action.path)
        return ActionResult(f"deleted {action.path}", (name,))
    if path.is_dir():
        gone = tuple(sorted(f"{name}/{each}" for each in walk(path)))
        refuse_protected(context, gone)
        delete_beneath(context.worktree, action.path)
        return ActionResult(f"deleted the folder {action.path} with {len(gone)} files", gone)
    return _unchanged(action.allow_no_change, f"{action.path} does not exist")


def refuse_protected(context: ToolContext, names: set[str] | tuple[str, ...]) -> None:
    """ChangesProtected if one of the files has changes that are not this action's to discard."""
    protected = sorted(context.protected.intersection(names))
    if protected:
        raise ChangesProtected(
            f"this would discard changes that are not its own, in {', '.join(protected)}",
            hint="Use edit or rewrite, which keep what others did, or start from the newest state.",
        )


def _existing_file(worktree: Path, name: str) -> bytes:
    if resolve(worktree, name).is_file():
        with suppress(FileNotFoundError):
            return read_beneath(worktree, name)
    near = get_close_matches(name, list(walk(worktree)), n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "Use write to make a new file."
    raise ActionFailed(f"{name} is not a file of the worktree", hint=hint)


def _holds(worktree: Path, name: str, data: bytes) -> bool:
    with suppress(FileNotFoundError):
        return read_beneath(worktree, name) == data
    return False


def _real_name(context: ToolContext, path: Path) -> str:
    return "/".join(real_parts(context.worktree, path.relative_to(context.worktree).as_posix()))


def _unchanged(allowed: bool, summary: str) -> ActionResult:
    if not allowed:
        raise NothingChanged(summary, hint="If that is fine, set allow_no_change: true.")
    return ActionResult(summary)


def _lines_of(text: str, old: str) -> list[int]:
    found: list[int] = []
    position = text.find(old)
    while position >= 0 and len(found) < 10:
        found.append(text.count("\n", 0, position) + 1)
        position = text.find(old, position + len(old))
    return found


def _nearest(text: str, old: str) -> str:
    """What to look at: as many lines as were asked for, where they are most alike, and what follows them."""
    lines = text.splitlines()
    asked = [line.strip() for line in old.strip().splitlines()]
    if not asked or len(asked) > _MOST_LINES or len(lines) > _LONGEST:
        return "Look at the file again: it may have changed."
    best, at = _ALIKE, -1
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(" ".join(asked)[:_COMPARED])
    for number in _worth_comparing(lines, asked):
        matcher.set_seq1(" ".join(line.strip() for line in lines[number : number + len(asked)])[:_COMPARED])
        # The quick one is never less than the other.
        if matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, at = ratio, number
    if at < 0:
        return "Look at the file again: it may have changed."
    shown = enumerate(lines[at : at + len(asked) + _AFTER], at + 1)
    near = "\n".join(f"{number:>5} {line[:200]}" for number, line in shown)
    return f"It has to be in the file word for word, spaces too. The nearest is:\n{near}"


def _worth_comparing(lines: list[str], asked: list[str]) -> list[int]:
    """Where so many lines begin that share most words with those that were asked for, or else the line that is most
    like their first; all of a short text."""
    if len(lines) <= _FEW:
        return list(range(len(lines)))
    wanted = set(_WORD.findall(" ".join(asked)))
    shared = [0, *accumulate(len(wanted.intersection(_WORD.findall(line))) for line in lines)]
    count = len(asked)
    scores = [shared[min(number + count, len(lines))] - shared[number] for number in range(len(lines))]
    best = nlargest(_FEW, (number for number, score in enumerate(scores) if score), key=scores.__getitem__)
    return sorted(best) or [lines.index(line) for line in get_close_matches(asked[0], lines, n=1)]
