"""Look at what was changed: linters, type checkers, any command, forbidden files, and size.

A tool that did not do its work is an error: its silence must not pass for approval.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from sylk_ray.errors import InputError
from sylk_ray.tools.beneath import read_own
from sylk_ray.tools.context import ToolContext, last_lines, limit_hit, where_kept
from sylk_ray.tools.errors import ActionFailed, CheckFailed, PathRefused
from sylk_ray.tools.issues import ChangedFile, Issue, severity_of
from sylk_ray.tools.linters import mypy_arguments, mypy_issues, ruff_arguments, ruff_issues
from sylk_ray.tools.paths import matches, matching, name_of
from sylk_ray.tools.process import Command, ProcessResult
from sylk_ray.tools.specs import Check, Inspection

_PYTHON = ("*.py", "*.pyi")
_FILES = "{files}"


async def inspect(inspection: Inspection, changed: Sequence[ChangedFile], context: ToolContext) -> tuple[Issue, ...]:
    """All issues, sorted by file and line. Raises CheckFailed, ToolMissing, InputError."""
    issues = [*_forbidden(inspection, changed), *_too_large(inspection, changed)]
    for check in inspection.tools:
        concerned = matching(check.files, (each.path for each in changed))
        found = await _run_check(check, concerned, context) if concerned else ()
        issues += _in_scope(check, found, changed)
    return tuple(sorted(issues, key=lambda issue: (issue.file, issue.line)))


async def _run_check(check: Check, concerned: Sequence[str], context: ToolContext) -> tuple[Issue, ...]:
    names = [name for name in concerned if (context.worktree / name).is_file()]  # the others were deleted
    if check.run is None:
        return await _run_known(check, matching(_PYTHON, names), context)
    if _FILES in check.run and not names:
        return ()
    return await _run_command(check, check.run, names, context)


async def _run_known(check: Check, names: Sequence[str], context: ToolContext) -> tuple[Issue, ...]:
    if check.name not in ("ruff", "mypy"):
        raise InputError(
            f"the check {check.name!r} is not known by name",
            hint="Known are ruff and mypy; for any other give the command in run.",
        )
    if not names:
        return ()
    if check.name == "ruff":
        report = context.private_dir / "ruff.json"
        report.unlink(missing_ok=True)
        result = await _run(check, ruff_arguments(check, names, report), context)
        text = await asyncio.to_thread(_read, check, report)
        issues = ruff_issues(check, text, context.worktree) if result.exit_code in (0, 1) and text else None
    else:
        result = await _run(check, mypy_arguments(check, names, context.private_dir), context)
        issues = mypy_issues(check, await _whole_output(check, result), context.worktree)
        if result.exit_code not in (0, 1) and not issues:
            issues = None
    if issues is None:
        raise _crashed(check, result)
    return issues


async def _run_command(check: Check, command: str, names: Sequence[str], context: ToolContext) -> tuple[Issue, ...]:
    result = await _run(check, command.replace(_FILES, shlex.join(names)), context)
    if check.pattern is None:
        if result.exit_code == 0:
            return ()
        text = f"{check.name} ended with exit code {result.exit_code}{_said(result)}"
        return (Issue("", 0, check.category, check.severity, text, ""),)
    issues = _matched(check, check.pattern, await _whole_output(check, result), context.worktree)
    if result.exit_code != 0 and not issues:
        raise _crashed(check, result)
    return issues


async def _run(check: Check, command: Command, context: ToolContext) -> ProcessResult:
    result = await context.run(command, timeout_s=check.timeout_s, artifact=check.name)
    if limit := limit_hit(result, context.limits, check.timeout_s):
        raise CheckFailed(
            f"the check {check.name} was ended by {limit}{_said(result)}",
            hint="Raise the limit for this check, or let it look at fewer files.",
        )
    if result.output_problem:
        raise CheckFailed(
            f"what the check {check.name} found was lost: {where_kept(result)}",
            hint="Make room on the disk, then try again.",
        )
    return result


def _matched(check: Check, pattern: str, output: str, worktree: Path) -> tuple[Issue, ...]:
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise InputError(
            f"the pattern of the check {check.name} is no regular expression: {error}",
            hint=r"For example: ^(?P<file>[^:]+):(?P<line>\d+): (?P<message>.*)$",
        ) from error
    issues: list[Issue] = []
    for found in compiled.finditer(output):
        groups = {name: value or "" for name, value in found.groupdict().items()}
        line = groups.get("line", "")
        issues.append(
            Issue(
                file=name_of(worktree, groups["file"]) if groups.get("file") else "",
                line=int(line) if line.isdecimal() else 0,
                category=groups.get("category") or check.category,
                severity=severity_of(groups.get("severity", ""), check.severity),
                message=groups.get("message") or found[0].strip(),
                suggestion="",
            )
        )
    return tuple(issues)


def _in_scope(check: Check, issues: Sequence[Issue], changed: Sequence[ChangedFile]) -> list[Issue]:
    """Those of the changed files (or lines); one that names no file concerns all of them."""
    by_name = {each.path: each for each in changed}
    kept: list[Issue] = []
    for issue in issues:
        file = by_name.get(issue.file)
        if issue.file and file is None:
            continue
        if check.scope == "changed_lines" and file and issue.line and issue.line not in file.added_lines:
            continue
        kept.append(issue)
    return kept


def _forbidden(inspection: Inspection, changed: Sequence[ChangedFile]) -> list[Issue]:
    return [
        Issue(each.path, 0, "forbidden", "error", f"no change is allowed here ({glob})", "Take it back.")
        for each in changed
        for glob in inspection.forbid
        if matches(glob, each.path)
    ]


def _too_large(inspection: Inspection, changed: Sequence[ChangedFile]) -> list[Issue]:
    limit = inspection.max_changed_lines
    lines = sum(each.added + each.removed for each in changed)
    if limit is None or lines <= limit:
        return []
    text = f"{lines} lines were changed, and {limit} are allowed"
    return [Issue("", 0, "size", "error", text, "Make the change smaller, or split the task.")]


async def _whole_output(check: Check, result: ProcessResult) -> str:
    return await asyncio.to_thread(_read, check, result.output_path) if result.output_path else result.output


def _said(result: ProcessResult) -> str:
    last = last_lines(result.output)
    return f": {last}" if last else ", and printed nothing"


def _read(check: Check, path: Path) -> str:
    """Nothing when there is none. A report is a tool's own, and may be anything: CheckFailed when it cannot be read."""
    try:
        return read_own(path).decode(errors="replace")
    except FileNotFoundError:
        return ""
    except (ActionFailed, PathRefused) as error:
        raise CheckFailed(
            f"what the check {check.name} found cannot be read: {error}",
            hint="Let it print less, or look at fewer files; its report is to be a plain file.",
        ) from error


def _crashed(check: Check, result: ProcessResult) -> CheckFailed:
    return CheckFailed(
        f"the check {check.name} did not do its work (exit code {result.exit_code}){_said(result)}",
        hint=result.hint or "Try the command by hand; its configuration or its arguments may be wrong.",
    )
