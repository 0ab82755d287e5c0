"""What a model has written into a file: line numbers that it took over, and what cannot be read any more."""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from pathlib import PurePosixPath

LONGEST = 1 << 20
"""Characters of a file that is looked at."""


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
