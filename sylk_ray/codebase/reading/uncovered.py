"""The parts of a source file that no symbol covers: a script's body, a long list of registrations."""

from __future__ import annotations

from sylk_ray.codebase.outline import Part
from sylk_ray.codebase.reading.source import CommentStyle

SUBSTANCE = 4
"""Lines of code that a stretch must have to be a part."""
MOST_LINES = 60


def uncovered_parts(lines: list[str], covered: list[tuple[int, int]], style: CommentStyle) -> tuple[Part, ...]:
    """Stretches outside the covered lines (from 1, ends included) that have substance, in order."""
    parts: list[Part] = []
    at = 1
    for first, last in [*sorted(covered), (len(lines) + 1, len(lines) + 1)]:
        if first > at:
            parts.extend(_parts_of(lines, at, first - 1, style))
        at = max(at, last + 1)
    return tuple(parts)


def _parts_of(lines: list[str], first: int, last: int, style: CommentStyle) -> list[Part]:
    marks = (*style.line, "/*", "*")
    code = [n for n in range(first, last + 1) if _is_code(lines[n - 1].strip(), marks)]
    if len(code) < SUBSTANCE:
        return []
    first, last = code[0], code[-1]
    return [
        Part(start_line=start, end_line=min(start + MOST_LINES - 1, last))
        for start in range(first, last + 1, MOST_LINES)
    ]


def _is_code(stripped: str, marks: tuple[str, ...]) -> bool:
    return len(stripped) > 3 and not stripped.startswith(marks)
