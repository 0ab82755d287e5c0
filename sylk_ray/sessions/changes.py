"""What a commit changed, read from a zero-context diff."""

from __future__ import annotations

import re

import msgspec

_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


class Change(msgspec.Struct, frozen=True):
    """One file: the numbers of its added lines, how many were added and removed, and whether it is gone."""

    path: str
    added_lines: list[int] = []
    added: int = 0
    removed: int = 0
    deleted: bool = False


def parse_diff(diff: str) -> list[Change]:
    """The changes of ``git diff --unified=0 --no-prefix --no-renames``; binary files count no lines."""
    changes: list[Change] = []
    for section in re.split(r"^diff --git ", diff, flags=re.MULTILINE)[1:]:
        header, *_ = section.split("\n@@", 1)
        lines: list[int] = []
        added = removed = 0
        for gone, start, come in _HUNK.findall(section):
            removed += int(gone or 1)
            count = int(come or 1)
            added += count
            lines.extend(range(int(start), int(start) + count))
        deleted = "\ndeleted file mode" in header
        changes.append(Change(_path(header), lines, added, removed, deleted))
    return changes


def _path(header: str) -> str:
    """The path of a section. Without renames both sides of the first line are the same, so half of it is a path,
    spaces and all; a path that git had to quote is unquoted."""
    first = header.split("\n", 1)[0]
    half = first[: len(first) // 2]
    if half.startswith('"') and half.endswith('"'):
        return half[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1").decode()
    return half
