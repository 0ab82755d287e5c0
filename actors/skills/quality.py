"""Checking code with the tools that a repository's languages have: for Engineer and Inspector."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from actors.skills.bench import Role, bench
from sylk_ray.skills import skill
from sylk_ray.speech import Heard, SkillCall
from sylk_ray.tools import ChangedFile, Issue, inspect
from sylk_ray.tools.paths import files_matching, resolve
from sylk_ray.tools.specs import Check, Inspection

Call = SkillCall[Any]

SHOWN = 50

_UNFORMATTED = re.compile(r"^(?:would reformat:? (.+)|\s*--> (.+?):\d+:\d+)$", re.MULTILINE | re.IGNORECASE)
"""How ruff, in its versions, and black name a file."""


@skill(domain="quality", keywords=["lint", "linter", "ruff", "style"], tier="core", only_looks=True)
async def run_linter(ctx: Call, path: str = "**", linter: str = "ruff") -> Heard:
    """Run a linter and list what it finds.

    Args:
        path: A file, a folder or a glob; everything when nothing is said.
        linter: The linter.
    """
    return await _check(ctx, Check(name=linter), path)


@skill(domain="quality", keywords=["type check", "types", "mypy"], only_looks=True)
async def run_type_checker(ctx: Call, path: str = "**", checker: str = "mypy", strict: bool = False) -> Heard:
    """Run a static type checker and list what it finds.

    Args:
        path: A file, a folder or a glob; everything when nothing is said.
        checker: The type checker.
        strict: Whether it is to be strict.
    """
    return await _check(ctx, Check(name=checker, arguments=("--strict",) if strict else ()), path)


@skill(domain="quality", keywords=["format", "formatting"], only_looks=True)
async def run_formatter_check(ctx: Call, path: str = ".", formatter: Literal["ruff", "black"] = "ruff") -> Heard:
    """Tell which files a formatter would change, and change none.

    Args:
        path: A file or a folder; everything when nothing is said.
        formatter: The formatter.
    """
    check = ["black", "--check"] if formatter == "black" else [formatter, "format", "--check", "--no-cache"]
    async with bench(ctx.ctx, _role(ctx)) as here:
        if path != ".":
            resolve(here.tools.worktree, path)
        result = await here.tools.run([*check, "--", path], timeout_s=120, artifact=formatter)
    files = [found[1] or found[2] for found in _UNFORMATTED.finditer(result.output)]
    well = result.exit_code == 0
    told = "everything is formatted" if well else "\n".join([f"{len(files)} file(s) are not formatted:", *files])
    if not well and not files:
        told = f"{formatter} ended with exit code {result.exit_code}: {result.output.strip()[-800:]}"
    return Heard(told, {"formatted": well, "files": files})


async def _check(ctx: Call, check: Check, path: str) -> Heard:
    async with bench(ctx.ctx, _role(ctx)) as here:
        names = await asyncio.to_thread(files_matching, here.tools.worktree, path)
        changed = await asyncio.to_thread(_as_changed, here.tools.worktree, names)
        issues = await inspect(Inspection(tools=(check,)), changed, here.tools)
    return told(issues)


def told(issues: tuple[Issue, ...]) -> Heard:
    """Issues for people and programs."""
    if not issues:
        return Heard("no issues", {"issues": []})
    lines = [f"{len(issues)} issue(s):", *(_line(issue) for issue in issues[:SHOWN])]
    if len(issues) > SHOWN:
        lines.append(f"... and {len(issues) - SHOWN} more")
    return Heard("\n".join(lines), {"issues": msgspec.to_builtins(issues)})


def _line(issue: Issue) -> str:
    place = f"{issue.file}:{issue.line}: " if issue.line else f"{issue.file}: " if issue.file else ""
    return f"{place}{issue.severity}: {issue.message}"


def _as_changed(worktree: Path, names: tuple[str, ...]) -> list[ChangedFile]:
    """Every file as if it were new: checkers look at what was changed."""
    return [ChangedFile(name, frozenset(), 0, 0) for name in names]


def _role(ctx: Call) -> Role:
    return cast("Role", ctx.address.role)
