"""The checkers that are known by name: how to ask them, and how to read their answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from sylk_ray.tools.issues import Issue, severity_of
from sylk_ray.tools.paths import name_of
from sylk_ray.tools.specs import Check


class _Location(msgspec.Struct):
    row: int = 0


class _Fix(msgspec.Struct):
    message: str | None = None


class _RuffIssue(msgspec.Struct):
    filename: str
    message: str
    code: str | None = None
    location: _Location | None = None
    fix: _Fix | None = None
    url: str | None = None


class _MypyIssue(msgspec.Struct):
    file: str
    line: int
    message: str
    severity: str = "error"
    code: str | None = None
    hint: str | None = None


def ruff_arguments(check: Check, names: Sequence[str], report: Path) -> list[str]:
    """The command that lints the files; its report goes to a file, apart from its warnings."""
    fixed = ["--output-format=json", "--no-cache", "--force-exclude", f"--output-file={report}"]
    return ["ruff", "check", *fixed, *check.arguments, "--", *names]


def ruff_issues(check: Check, report: str, worktree: Path) -> tuple[Issue, ...] | None:
    """The issues in a report of ruff; None if it is none."""
    try:
        found = msgspec.json.decode(report, type=list[_RuffIssue])
    except msgspec.DecodeError:
        return None
    return tuple(
        Issue(
            file=name_of(worktree, each.filename),
            line=each.location.row if each.location else 0,
            category=check.category,
            severity="error" if each.code in (None, "invalid-syntax") else check.severity,
            message=f"{each.code} {each.message}" if each.code else each.message,
            suggestion=(each.fix.message if each.fix else None) or each.url or "",
        )
        for each in found
    )


def mypy_arguments(check: Check, names: Sequence[str], private_dir: Path) -> list[str]:
    """The command that checks the types, its cache outside of the worktree."""
    fixed = ["--output=json", "--no-error-summary", f"--cache-dir={private_dir / 'mypy-cache'}"]
    return ["mypy", *fixed, *check.arguments, "--", *names]


def mypy_issues(check: Check, output: str, worktree: Path) -> tuple[Issue, ...]:
    """The issues among the lines that mypy printed; other lines are warnings about its configuration."""
    issues: list[Issue] = []
    for line in output.splitlines():
        try:
            each = msgspec.json.decode(line, type=_MypyIssue)
        except msgspec.DecodeError:
            continue
        issues.append(
            Issue(
                file=name_of(worktree, each.file),
                line=max(0, each.line),
                category=check.category if "category" in check.model_fields_set else "types",
                severity="info" if each.severity == "note" else severity_of("", check.severity),
                message=f"{each.message} [{each.code}]" if each.code else each.message,
                suggestion=each.hint or "",
            )
        )
    return tuple(issues)
