"""Whether a model goes round in circles: the same call, with the same answer, in a world that has not changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

_LONG = 200
"""Characters of an answer."""


class Repeats:
    """Counts within one matter."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: Counter[tuple[str, str, str]] = Counter()
        self.hopeless = False
        """Whether it went on although it was told."""
        self.tired: set[str] = set()
        """The tools of which it was told."""

    def begin_anew(self) -> None:
        """In another conversation."""
        self._seen.clear()
        self.tired.clear()

    def world_changed(self, name: str, arguments: Mapping[str, Any], answer: str) -> None:
        """By a call: what was asked before may have another answer now, but for the same change that is made again."""
        key = _key(name, arguments, answer)
        self._seen = Counter({key: self._seen[key]})
        self.tired.clear()

    def told(self, name: str, arguments: Mapping[str, Any], answer: str) -> str:
        """What to say to a call, besides its answer; empty for one that is worth its while."""
        key = _key(name, arguments, answer)
        self._seen[key] += 1
        times = self._seen[key]
        if times < self._most:
            return ""
        self.hopeless = times >= 2 * self._most
        self.tired.add(name)
        return f"You have called this {times} times, and the answer is the same. Do something else, or finish."


def _key(name: str, arguments: Mapping[str, Any], answer: str) -> tuple[str, str, str]:
    """A long answer that comes twice tells nothing new, whatever was asked; a short one may."""
    asked = json.dumps(arguments, sort_keys=True, default=str) if len(answer) < _LONG else ""
    return name, asked, answer
