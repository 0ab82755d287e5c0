"""Which changed statements were run: imported, and also a program by itself, which is told in JSON of what files there
are and what changed in them, reads what coverage.py or LCOV left of it, and writes what it found in JSON.

Tools wrote what it reads, so as a program it is confined and limited, and whatever befalls it is no one else's.
"""

import ast
import json
import os
import re
import resource
import sqlite3
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeAlias

    Found: TypeAlias = "dict[str, tuple[list[tuple[int, int]], set[int]]]"

LARGEST = 4 << 20
"""Bytes of a Python file that is looked at."""
MEMORY, SECONDS = 2 << 30, 20
PYTEST = "_pytest/main.py"
"""What each process of pytest runs that measures: where it was not seen, something else has measured instead."""
OWN = re.compile(r"\.coverage(\.[^/]*)?")
"""Where tests that measure themselves leave what they found, unless they say otherwise."""
PLACES, NAMED, SEEN = 1_000, 20, 20_000
"""Lines and files that are named, and files that are looked at for those that tests have left."""
_EXCLUDED = re.compile(r"#\s*pragma[:\s]?\s*no\s*cover", re.IGNORECASE)
_DATA = re.compile(r"DA:(\d{1,9}),(-?\d{1,18})(,|$)")


def statements(source: "bytes | str") -> "list[tuple[int, int]]":
    """Those of a Python file that run, in order: the first line of each and its last; of one that holds others, only
    what comes before them. No docstrings, nothing only for type checkers, and nothing that is excluded by ``# pragma:
    no cover``. Raises ValueError for what this Python cannot read."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, RecursionError, MemoryError) as problem:
        raise ValueError(str(problem)) from problem
    text = source if isinstance(source, str) else source.decode("utf-8", "replace")
    excluded = {number for number, line in enumerate(text.splitlines(), 1) if _EXCLUDED.search(line)}
    found: dict[int, int] = {}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        blocks = _blocks(node)
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            begin = _begin(node)
            inner = [_begin(each) for block in blocks.values() for each in block]
            end = max(begin, min(inner) - 1) if inner else getattr(node, "end_lineno", None) or begin
            if not excluded.isdisjoint(range(begin, end + 1)) or _never_runs(node):
                blocks.pop("body", None)
            elif not _leaves_no_trace(node):
                found[begin] = min(found.get(begin, end), end)
        before = 0
        for block in blocks.values():
            # What is before a block, and after the one before it, is its ``else:`` or ``finally:``.
            if not before or excluded.isdisjoint(range(before + 1, _begin(block[0]))):
                waiting += block
            before = max(getattr(each, "end_lineno", None) or _begin(each) for each in block)
    return sorted(found.items())


def _blocks(node: ast.AST) -> "dict[str, list[ast.AST]]":
    fields = ("body", "cases", "handlers", "orelse", "finalbody")
    found: Any = {field: getattr(node, field, None) for field in fields}
    # The body of a lambda is an expression.
    return {field: block for field, block in found.items() if block and isinstance(block, list)}


def _begin(node: ast.AST) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([each.lineno for each in decorators] + [getattr(node, "lineno", 1)])


def _never_runs(node: ast.AST) -> bool:
    if not isinstance(node, (ast.If, ast.While)):
        return False
    match node.test:
        case ast.Name("TYPE_CHECKING") | ast.Attribute(_, "TYPE_CHECKING"):
            return True
        case ast.Constant(value):
            return not value
        case _:
            return False


def _leaves_no_trace(node: ast.AST) -> bool:
    match node:
        case ast.Global() | ast.Nonlocal() | ast.Expr(ast.Constant()):
            return True
        case ast.AnnAssign(value=None):
            return True
        case _:
            return False


def lcov(text: str) -> "dict[str, dict[int, int]]":
    """How often each line was run, by the file's path as it stands there: the records SF and DA of ``geninfo``."""
    found: dict[str, dict[int, int]] = {}
    counts: dict[int, int] = {}
    for line in text.splitlines():
        if line.startswith("SF:"):
            counts = found.setdefault(line[3:].strip(), {})
        elif line.startswith("end_of_record"):
            counts = {}
        elif data := _DATA.match(line):
            number = int(data[1])
            counts[number] = counts.get(number, 0) + max(0, int(data[2]))
    return found


def lines_of(file: Path) -> "dict[str, set[int]] | None":
    """The lines that ran, by the path of their file, of a data file of coverage.py; None for what is none, as whoever
    was ended while writing it has left."""
    found: dict[str, set[int]] = {}
    try:
        database = sqlite3.connect(file)
        for name, bits in database.execute("SELECT path, numbits FROM file LEFT JOIN line_bits ON file.id = file_id"):
            lines = found.setdefault(name, set())
            for at, byte in enumerate(bits or b""):
                lines.update(8 * at + bit for bit in range(8) if byte >> bit & 1)
        for name, *jump in database.execute("SELECT path, fromno, tono FROM file JOIN arc ON file.id = file_id"):
            found[name].update(jump)
    except (sqlite3.Error, OSError, TypeError, ValueError):
        return None
    return found


def found_of(asked: "dict[str, Any]") -> "dict[str, Any]":
    """What ``coverage.Coverage`` is made of, of what ``coverage.Measurement`` asks."""
    root, changed = Path(asked["worktree"]), {path: frozenset(lines) for path, lines in asked["changed"].items()}
    if asked["report"]:
        measured, unknown = _reported(root, changed, asked["report"], asked["since"])
    else:
        measured, unknown = _measured(root, changed, asked)
    total = done = 0
    missed: dict[str, list[int]] = {}
    for path, (every, run) in sorted(measured.items()):
        of = [(begin, end) for begin, end in every if not changed[path].isdisjoint(range(begin, end + 1))]
        not_run = [begin for begin, end in of if run.isdisjoint(range(begin, end + 1))]
        total += len(of)
        done += len(of) - len(not_run)
        if not_run and (room := PLACES - sum(map(len, missed.values()))) > 0:
            missed[path] = not_run[:room]
    return {"statements": total, "run": done, "missed": missed, "unknown": unknown}


def _measured(root: Path, changed: "dict[str, frozenset[int]]", asked: "dict[str, Any]") -> "tuple[Found, str]":
    """By path the statements of what has changed and the lines that were run; and of what that is not known."""
    ours, theirs = dict[str, set[int]](), dict[str, set[int]]()
    read = [
        _read_data(ours, root, Path(asked["folder"]).glob("data.*")),
        _read_data(theirs, root, _left(root, asked["since"])),
    ]
    if not ours and not theirs:
        return {}, asked["absent"]
    themselves = asked["themselves"] or (asked["pytest"] and not any(path.endswith(PYTEST) for path in ours))
    if themselves and not theirs:
        return {}, "the tests measure themselves and left nothing that was found, or were ended before they could"
    found: Found = {}
    unknown = [] if all(read) else ["a process of the tests was ended before it could say what it ran"]
    for path in sorted(changed):
        run = ours.get(path, set()) | theirs.get(path, set())
        if theirs and path not in theirs:
            unknown.append(f"{path} is not in what the tests measured")
        elif not run and (elsewhere := next((each for each in ours if _is_copy(each, path)), "")):
            unknown.append(f"{path} was run as {elsewhere}")
        else:
            try:
                found[path] = statements(_content(root, path, LARGEST)), run
            except (OSError, ValueError) as problem:
                unknown.append(f"{path} cannot be read: {problem}")
    return found, "; ".join(unknown[:NAMED])


def ends_of(path: str) -> "list[str]":
    """What a file may be called where it is installed: ``a/b.py``, ``b.py``."""
    parts = path.split("/")
    return ["/".join(parts[at:]) for at in range(len(parts))]


def _is_copy(other: str, path: str) -> bool:
    _, installed, name = other.rpartition("-packages/")
    return bool(installed) and name in ends_of(path)


def _read_data(run: "dict[str, set[int]]", root: Path, files: "Iterable[Path]") -> bool:
    """Whether all of them could be read."""
    whole = True
    for file in files:
        lines_by_name = lines_of(file)
        whole = whole and lines_by_name is not None
        for name, lines in (lines_by_name or {}).items():
            # One that is relative was seen from where the tests were, and have left it.
            run.setdefault(os.path.relpath(file.parent / name, root), set()).update(lines)
    return whole


def _left(root: Path, since: int) -> "Iterator[Path]":
    """Data files that the tests have left in their worktree after ``since``, in nanoseconds."""
    seen = 0
    for folder, folders, files in os.walk(root):
        folders[:] = [each for each in folders if each not in (".git", "node_modules")]
        seen += len(files)
        if seen > SEEN:
            return
        for file in (Path(folder, name) for name in files if OWN.fullmatch(name)):
            if file.lstat().st_mtime_ns >= since:
                yield file


def _reported(root: Path, changed: "dict[str, frozenset[int]]", report: str, since: int) -> "tuple[Found, str]":
    """As ``_measured``."""
    try:
        if (root / report).stat().st_mtime_ns < since:
            raise FileNotFoundError
        told = lcov(_content(root, report, 16 * LARGEST).decode("utf-8", "replace"))
    except FileNotFoundError:
        return {}, f"the tests have not written {report}"
    except (OSError, ValueError) as problem:
        return {}, f"{report} cannot be read: {problem}"
    # Where the tests may have been: most often one above the folder that the report is in.
    own, *others = Path(report).parents
    above = [root / folder for folder in (*others[:1], own, *others[1:])]
    counted: dict[str, dict[int, int]] = {}
    for name, counts in told.items():
        paths = (os.path.relpath(folder / name, root) for folder in above)
        if path := next((path for path in paths if path in changed), ""):
            for line, times in counts.items():
                counted.setdefault(path, {}).setdefault(line, 0)
                counted[path][line] += times
    found: Found = {
        path: ([(line, line) for line in sorted(counts)], {line for line in counts if counts[line]})
        for path, counts in counted.items()
    }
    kinds = {Path(name).suffix for name in told}
    lacking = [path for path in sorted(changed) if path not in found and Path(path).suffix in kinds]
    return found, "; ".join(f"{path} is not in {report}" for path in lacking[:NAMED])


def _content(root: Path, path: str, largest: int) -> bytes:
    real = (root / path).resolve()
    if not real.is_relative_to(root) or not real.is_file():
        raise ValueError("it is no file of the worktree")
    with real.open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"it is larger than {largest >> 20} MB")
    return content


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    json.dump(found_of(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    _main()
