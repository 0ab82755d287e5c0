"""Reading and searching files: what Engineer, Inspector and Tester can all do. Nothing is changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from ast_grep_py import SgRoot

from actors.skills.bench import Role, bench
from sylk_ray.errors import InputError
from sylk_ray.skills import skill
from sylk_ray.speech import SkillCall
from sylk_ray.tools import ActionFailed, PathRefused, ToolContext
from sylk_ray.tools.beneath import read_beneath
from sylk_ray.tools.files import is_binary, text_of
from sylk_ray.tools.languages import language_of
from sylk_ray.tools.paths import files_matching, resolve

Call = SkillCall[Any]

LONGEST = 200_000
"""Characters of a file that are shown."""
LARGEST = 16 << 20
"""Bytes of a file that is read at all."""
MOST = 500
"""Places or files that are listed."""


class Place(msgspec.Struct, frozen=True):
    """A line of a file, counted from 1."""

    path: str
    line: int
    text: str


@skill(domain="file_ops", keywords=["read", "content"], tier="core", only_looks=True)
async def read_file(ctx: Call, path: str) -> str:
    """Read a file.

    Args:
        path: The file, relative to the worktree.
    """
    return await _read(ctx, path)


@skill(domain="file_ops", keywords=["cat", "display", "print"], only_looks=True)
async def cat_file(ctx: Call, path: str, from_line: int = 1, to_line: int = 0) -> str:
    """Show lines of a file with their numbers.

    Args:
        path: The file, relative to the worktree.
        from_line: The first, counted from 1.
        to_line: The last; 0 for the file's.
    """
    lines = (await _read(ctx, path)).splitlines()
    last = to_line or len(lines)
    if from_line < 1 or last < from_line:
        raise InputError(f"there are no lines {from_line} to {to_line}", hint=f"{path} has {len(lines)}")
    return "\n".join(f"{number:>6}  {line}" for number, line in list(enumerate(lines, 1))[from_line - 1 : last])


@skill(domain="search", keywords=["glob"], only_looks=True)
async def glob_search(ctx: Call, pattern: str, path: str = "") -> list[str]:
    """Find files by a glob, as in .gitignore.

    Args:
        pattern: For example **/*.py.
        path: Only beneath this folder.
    """
    async with bench(ctx.ctx, _role(ctx)) as here:
        found = await asyncio.to_thread(files_matching, here.tools.worktree, pattern)
        folder = _folder(here.tools.worktree, path)
    return [name for name in found if not folder or name == folder or name.startswith(f"{folder}/")][:MOST]


@skill(domain="search", keywords=["find files", "locate"], only_looks=True)
async def find_files(
    ctx: Call, path: str = "", name: str = "", type: Literal["f", "d", "l"] = "f", maxdepth: int = 0
) -> list[str]:
    """Find files, folders or links by name.

    Args:
        path: The folder to begin in; the whole worktree when nothing is said.
        name: A glob that the name, without folders, must match.
        type: f for files, d for folders, l for links.
        maxdepth: How deep to look; 0 for all.
    """
    arguments = ["-type", type, "-not", "-path", "*/.git/*", "-not", "-path", "./.git"]
    if name:
        arguments += ["-name", name]
    if maxdepth > 0:
        arguments = ["-maxdepth", str(maxdepth), *arguments]
    output = await _run(ctx, ["find", "PATH", *arguments], path)
    return sorted(line.removeprefix("./") for line in output.splitlines() if line not in (".", ""))[:MOST]


@skill(domain="search", keywords=["grep", "regex", "search"], only_looks=True)
async def grep_search(ctx: Call, pattern: str, path: str = "", case_insensitive: bool = False) -> list[Place]:
    """Find the lines that match a regular expression (POSIX extended).

    Args:
        pattern: The regular expression.
        path: Only in this file, or beneath this folder.
        case_insensitive: Whether capitals do not count.
    """
    options = ["-i"] if case_insensitive else []
    command = ["grep", "-rnIE", "--null", "--exclude-dir=.git", *options, "-e", pattern, "--", "PATH"]
    output = await _run(ctx, command, path, also_well=(1,))
    return [_place(line) for line in output.splitlines() if "\0" in line][:MOST]


@skill(domain="search", keywords=["ast", "structural", "syntax"], only_looks=True)
async def ast_grep(ctx: Call, pattern: str, language: str, path: str = "**") -> list[Place]:
    """Find code by its structure.

    Args:
        pattern: Code with $NAME for what may differ, and $$$NAME for any number of those.
        language: For example python.
        path: A glob of the files to look in.
    """
    known = language_of(language)
    async with bench(ctx.ctx, _role(ctx)) as here:
        return await asyncio.to_thread(_matches, here.tools.worktree, pattern, known, path)


def _matches(worktree: Path, pattern: str, language: str, globs: str) -> list[Place]:
    found: list[Place] = []
    for name in files_matching(worktree, globs):
        try:
            data = read_beneath(worktree, name, LARGEST)
        except (ActionFailed, PathRefused, FileNotFoundError):
            continue  # too large, or not there any more
        if is_binary(data):
            continue
        root = SgRoot(text_of(data, name), language).root()
        for node in root.find_all(cast("Any", {"rule": {"pattern": pattern}})):
            found.append(Place(name, node.range().start.line + 1, node.text().splitlines()[0]))
            if len(found) == MOST:
                return found
    return found


async def _read(ctx: Call, path: str) -> str:
    async with bench(ctx.ctx, _role(ctx)) as here:
        return await asyncio.to_thread(_text, here.tools, path)


def _text(tools: ToolContext, path: str) -> str:
    file = resolve(tools.worktree, path)
    if not file.is_file():
        raise InputError(f"there is no file {path}", hint="find_files and glob_search tell which there are")
    if file.stat().st_size > LARGEST:
        raise InputError(f"{path} is larger than {LARGEST >> 20} MB", hint="grep_search finds lines in it")
    text = text_of(read_beneath(tools.worktree, path, LARGEST), path)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... {len(text) - LONGEST} more characters"


async def _run(ctx: Call, command: list[str], path: str, also_well: tuple[int, ...] = ()) -> str:
    """A program of the system, confined as all tools are; ``PATH`` in it is the checked path."""
    async with bench(ctx.ctx, _role(ctx)) as here:
        where = f"./{_folder(here.tools.worktree, path)}"
        filled = [where if part == "PATH" else part for part in command]
        result = await here.tools.run(filled, timeout_s=60, artifact=command[0])
    if result.exit_code not in (0, *also_well):
        raise InputError(f"{command[0]} could not do that: {result.output.strip()[-400:]}")
    return result.output


def _folder(worktree: Path, path: str) -> str:
    """Of a checked path; empty for the whole worktree."""
    if path.strip("./") == "":
        return ""
    return f"{resolve(worktree, path).relative_to(worktree).as_posix()}"


def _place(line: str) -> Place:
    path, _, rest = line.partition("\0")
    number, _, text = rest.partition(":")
    return Place(path.removeprefix("./"), int(number), text[:400])


def _role(ctx: Call) -> Role:
    return cast("Role", ctx.address.role)


LOOKING = (read_file, cat_file, glob_search, find_files, grep_search, ast_grep)
