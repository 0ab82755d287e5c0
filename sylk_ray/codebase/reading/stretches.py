"""Stretches of lines: (first, last), both included."""

from __future__ import annotations

from collections.abc import Iterable


def touching_as_one(stretches: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """In order, those that overlap or follow each other without a gap joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(stretches):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)
