"""Whether a model goes round in circles: the same call, with the same answer, in a world that has not changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

_Key = tuple[str, str, str]


class Repeats:
    """Counts within one conversation, at most once a reply: what a reply asks twice it asked before it was told."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: Counter[_Key] = Counter()
        self._counted: dict[_Key, int] = {}
        """The last reply in which each was."""
        self.hopeless = False
        """Whether it went on although it was told."""
        self.tired: set[str] = set()
        """The tools that it called over and over with the same arguments."""

    def begin_anew(self) -> None:
        """In another conversation."""
        self._seen.clear()
        self.tired.clear()

    def world_changed(self, name: str, arguments: Mapping[str, Any], answer: str) -> None:
        """By a call: what was asked before may have another answer now, but for the same change that is made again."""
        key = _key(name, arguments, answer)
        self._seen = Counter({key: self._seen[key]})
        self.tired.clear()

    def told(
        self, name: str, arguments: Mapping[str, Any], answer: str, *, number: int, whatever_asked: bool = False
    ) -> str:
        """What to say to a call of the reply of that number, besides its answer; empty for one that is worth its while.
        ``whatever_asked``: the answer tells nothing new also where it was asked for with other arguments."""
        times = self._count(_key(name, arguments, answer), number)
        if times >= self._most:
            self.hopeless |= times >= 2 * self._most
            self.tired.add(name)
        elif whatever_asked:
            times = self._count((name, "", answer), number)
            self.hopeless |= times >= 3 * self._most
        if times < self._most:
            return ""
        return f"You have called this {times} times, and the answer is the same. Do something else, or finish."

    def _count(self, key: _Key, number: int) -> int:
        if self._counted.get(key) != number:
            self._counted[key] = number
            self._seen[key] += 1
        return self._seen[key]


def _key(name: str, arguments: Mapping[str, Any], answer: str) -> _Key:
    return name, json.dumps(arguments, sort_keys=True, default=str), answer
