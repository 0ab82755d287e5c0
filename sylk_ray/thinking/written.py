"""What a model has written into a file: line numbers that it took over, and what cannot be read any more."""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from collections.abc import Collection
from functools import lru_cache
from pathlib import PurePosixPath

_ANY = "*"
LONGEST = 1 << 20
"""Characters of a file that is looked at."""
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def numbered(number: int, line: str) -> str:
    """A line as it is shown to a model."""
    return f"{number:>5} {line}"


def without_numbers(text: str) -> str:
    """A text whose lines all have the numbers with which they were shown, without these; any other as it is."""
    lines = text.split("\n")
    end = [""] if lines[-1] == "" else []
    lines = lines[: len(lines) - len(end)]
    first = lines[0][:5].strip() if lines else ""
    if not (first.isascii() and first.isdigit()):
        return text
    if any(line[:6].rstrip() != f"{number:>5}" for number, line in enumerate(lines, int(first))):
        return text
    return "\n".join([*(line[6:] for line in lines), *end])


def defined(path: str, text: str) -> set[str]:
    """The functions and classes that a Python file defines for others; none where it cannot be read."""
    tree = parsed(path, text)
    return {node.name for node in tree.body if isinstance(node, DEFINITION)} if tree is not None else set()


def bound(path: str, text: str, *, imports: bool = True) -> set[str]:
    """All names that a Python file gives a meaning to at its top level, also under a condition; with those that it
    imports, or without."""
    tree = parsed(path, text)
    found: set[str] = set()
    waiting: list[ast.AST] = list(tree.body) if tree is not None else []
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Import() | ast.ImportFrom():
                if imports:
                    found |= {(each.asname or each.name).partition(".")[0] for each in node.names}
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
            case ast.Lambda():
                pass
            case _:
                waiting += ast.iter_child_nodes(node)
    return found


def unbound(path: str, text: str, names: Collection[str]) -> set[str]:
    """Those of the names that a Python file uses and nowhere gives a meaning to."""
    tree = parsed(path, text)
    used: set[str] = set()
    given: set[str] = set()
    for node in ast.walk(tree) if tree is not None else ():
        match node:
            case ast.Name():
                (used if isinstance(node.ctx, ast.Load) else given).add(node.id)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                given.add(node.name)
            case ast.arg():
                given.add(node.arg)
            case ast.alias():
                given.add(_ANY if node.name == "*" else (node.asname or node.name).partition(".")[0])
            case _:
                pass
    return set() if _ANY in given else (used - given).intersection(names)


def doubled(path: str, text: str) -> dict[str, tuple[int, int]]:
    """The functions and classes of a Python file that are plainly defined twice in the same place, each with the lines
    of its last two definitions: the first of them is dead. What a decorator or a condition may be the reason for is
    not meant."""
    tree = parsed(path, text)
    if tree is None:
        return {}
    found: dict[str, tuple[int, int]] = {}
    for place in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
        within = f"{place.name}." if isinstance(place, ast.ClassDef) else ""
        seen: dict[str, int] = {}
        for node in place.body:
            if isinstance(node, DEFINITION) and not node.decorator_list:
                if node.name in seen:
                    found[within + node.name] = seen[node.name], node.lineno
                seen[node.name] = node.lineno
    return found


@lru_cache(maxsize=4)
def parsed(path: str, text: str) -> ast.Module | None:
    """A Python file as it is read; None for what is none, cannot be read, or is longer than ``LONGEST``."""
    if PurePosixPath(path).suffix != ".py" or len(text) > LONGEST:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def broken(path: str, text: str) -> str:
    """Why a file cannot be read as what its name says it is; empty when it can, or when that is not looked at."""
    if not text.strip() or len(text) > LONGEST:
        return ""
    try:
        match PurePosixPath(path).suffix:
            case ".py":
                with warnings.catch_warnings(action="ignore"):
                    ast.parse(text)
            case ".json":
                json.loads(text)
            case ".toml":
                tomllib.loads(text)
            case _:
                pass
    except SyntaxError as problem:
        return f"line {problem.lineno}: {problem.msg}"
    except (ValueError, RecursionError, MemoryError) as problem:
        return str(problem)
    return ""
