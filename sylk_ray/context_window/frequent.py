"""Counting the most frequent of many things in little memory."""

from __future__ import annotations

from typing import Protocol, TypeVar


class Counted(Protocol):
    """Something with a count."""

    @property
    def count(self) -> int: ...


KeyT = TypeVar("KeyT", str, tuple[str, str])
CountedT = TypeVar("CountedT", bound=Counted)


def make_room(items: dict[KeyT, CountedT], size: int) -> int:
    """Remove the least frequent of a full table; returns the count that the newcomer takes over, 0 if there was room.

    Space-Saving (Metwally, Agrawal, El Abbadi, ICDT 2005): with that, whatever makes up more than 1/size of all that
    was counted is in the table, and no count is too low.
    """
    least = 0
    while len(items) >= size:
        least = items.pop(min(items, key=lambda key: (items[key].count, key))).count
    return least
