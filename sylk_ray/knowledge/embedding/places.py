"""How far into a text a word first stands: what comes first says more of what it is about."""

from __future__ import annotations

PLACES = 12
"""How many are told apart."""


def place_of(number: int) -> int:
    """Of the word with so many different ones before it: 0, 1, 2 and 3, 4 to 7, and so on by powers of two."""
    return min(number.bit_length(), PLACES - 1)
