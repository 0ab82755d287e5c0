"""The identifiers of many texts at once, as numbers, so that what each word counts is looked up by arrays.

::

    tokens = tokens_of(["def parse(path)", "parse it"])
    rows = Expansion(vocabulary.rows_of).of(tokens)    # rows.values[rows.starts[n]:rows.starts[n + 1]] of the text n

The identifiers are those of ``words.identifiers``. They are found in the texts' bytes and known again by a hash of
64 bits with multipliers of the process's own; what each stands for is computed once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from sylk_ray.knowledge.words import REMEMBERED, identifiers, word_numbers

Numbers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_OF_IDENTIFIERS = bytes(number >= 128 or chr(number).isalnum() or number == ord("_") for number in range(256))
"""Of each byte, whether an identifier may have it; those of UTF-8 beyond ASCII are only there within one."""
_WORD = np.dtype("<u8")
_ITS_BYTES = np.array([(1 << 8 * length) - 1 for length in range(9)], np.uint64)
_LONG = 256
"""Bytes of an identifier that is hashed by itself."""
_FIRST, _NEXT = (np.uint64(int.from_bytes(os.urandom(8), "little") | 1) for _ in range(2))
_HALF = np.uint64(32)
_SLOTS = 1 << 14
_LOAD = 4
"""Slots for each identifier, at least."""


class Tokens(NamedTuple):
    """The identifiers of texts: those of the text n are ``numbers[starts[n]:starts[n + 1]]``, in order."""

    known: Known
    numbers: Numbers
    starts: Numbers


class Spread(NamedTuple):
    """What the identifiers of texts stand for: of the text n ``values[starts[n]:starts[n + 1]]``, in order."""

    values: npt.NDArray[np.int64 | np.uint64]
    starts: Numbers

    @property
    def texts(self) -> Numbers:
        """The text of each value."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


class Known:
    """The identifiers that were seen, numbered as they came: a hash table with open addresses. Threads may share it."""

    def __init__(self) -> None:
        self.spelled: list[str] = []
        self._lock = threading.Lock()
        self._every = np.zeros(0, np.uint64)
        self._make(_SLOTS)

    def numbers_of(self, hashes: Hashes, spell: Callable[[int], str]) -> Numbers:
        """Of identifiers by their hashes; ``spell`` tells the one at a place, which is asked for new ones."""
        with self._lock:
            found = self._looked_up(hashes)
            missing = np.flatnonzero(found < 0)
            if len(missing):
                new, first = np.unique(hashes[missing], return_index=True)
                self.spelled += map(spell, missing[first].tolist())
                self._add(new)
                found[missing] = self._looked_up(hashes[missing])
        return found

    def _looked_up(self, hashes: Hashes) -> Numbers:
        """-1 for those that are not known."""
        slots = (hashes >> self._shift).astype(np.int64)
        found = self._numbers[slots]
        others = np.flatnonzero((self._hashes[slots] != hashes) & (found >= 0))
        while len(others):
            slots[others] = following = (slots[others] + 1) % len(self._hashes)
            found[others] = numbers = self._numbers[following]
            others = others[(self._hashes[following] != hashes[others]) & (numbers >= 0)]
        return found

    def _add(self, new: Hashes) -> None:
        first = len(self._every)
        self._every = np.concatenate([self._every, new])
        slots = len(self._hashes)
        while slots < _LOAD * len(self._every):
            slots *= 2
        if slots > len(self._hashes):
            self._make(slots)
            first = 0
        at = (self._every[first:] >> self._shift).tolist()
        for number, slot in enumerate(at, first):
            while self._numbers[slot] >= 0:
                slot = (slot + 1) % slots
            self._hashes[slot] = self._every[number]
            self._numbers[slot] = number

    def _make(self, slots: int) -> None:
        self._shift = np.uint64(65 - slots.bit_length())
        self._hashes = np.zeros(slots, np.uint64)
        self._numbers = np.full(slots, -1, np.int64)


class Expansion:
    """What identifiers stand for, in whole numbers: each is asked for once. Threads may share it."""

    def __init__(self, meant: Callable[[str], Sequence[int]], kind: type[np.int64 | np.uint64] = np.int64) -> None:
        self._meant = meant
        self._kind = kind
        self._lock = threading.Lock()
        self._known: Known | None = None

    def of(self, tokens: Tokens) -> Spread:
        """Of each text, with repetitions."""
        values, ends = self._of(tokens.known, tokens.numbers)
        return Spread(values, np.concatenate([[0], ends])[tokens.starts])

    def all_of(self, tokens: Tokens) -> set[int]:
        """Of all texts together."""
        seen = np.zeros(len(tokens.known.spelled), bool)
        seen[tokens.numbers] = True
        values, _ = self._of(tokens.known, np.flatnonzero(seen))
        return set(values.tolist())

    def _of(self, known: Known, numbers: Numbers) -> tuple[npt.NDArray[np.int64 | np.uint64], Numbers]:
        with self._lock:
            self._learn(known)
            values, begins, lengths = self._values, self._begins[numbers], self._lengths[numbers]
        ends = np.cumsum(lengths)
        places = np.repeat(begins - (ends - lengths), lengths)
        places += np.arange(len(places))
        return values[places], ends

    def _learn(self, known: Known) -> None:
        if known is not self._known:
            self._known = known
            self._values = np.zeros(0, self._kind)
            self._begins = self._lengths = np.zeros(0, np.int64)
        new = [self._meant(identifier) for identifier in known.spelled[len(self._lengths) :]]
        if new:
            lengths = np.fromiter(map(len, new), np.int64, len(new))
            self._begins = np.concatenate([self._begins, len(self._values) + np.cumsum(lengths) - lengths])
            self._lengths = np.concatenate([self._lengths, lengths])
            flat = np.fromiter((value for values in new for value in values), self._kind, int(lengths.sum()))
            self._values = np.concatenate([self._values, flat])


WORDS = Expansion(word_numbers, np.uint64)
"""The numbers of identifiers' words: what BM25 and the gate go by."""
_lately = Known()


def tokens_of(texts: Sequence[str]) -> Tokens:
    """The identifiers of texts."""
    global _lately
    known = _lately
    if len(known.spelled) > REMEMBERED:
        known = _lately = Known()
    raws = [(text if text.isascii() else " ".join(identifiers(text))).encode() for text in texts]
    joined = b"".join((b" ", b" ".join(raws), b" " * _WORD.itemsize))
    inside = np.frombuffer(joined.translate(_OF_IDENTIFIERS), np.uint8)
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    edges += 1
    begins, ends = edges[::2], edges[1::2]
    hashes = _hashed(joined, begins, ends - begins)
    numbers = known.numbers_of(hashes, lambda at: joined[begins[at] : ends[at]].decode())
    lengths = np.fromiter(map(len, raws), np.int64, len(raws))
    return Tokens(known, numbers, np.searchsorted(begins, np.concatenate([[0], np.cumsum(lengths + 1)])))


def _hashed(joined: bytes, begins: Numbers, lengths: Numbers) -> Hashes:
    """Of the identifiers, eight bytes at once; different ones of at most eight have different hashes."""
    words = np.ndarray(len(joined) - _WORD.itemsize + 1, _WORD, joined, strides=(1,))
    hashes = (words[begins] & _ITS_BYTES[np.minimum(lengths, 8)]) * _FIRST
    longer = np.flatnonzero(lengths > 8)
    for at in range(8, _LONG, 8):
        if not len(longer):
            break
        before = hashes[longer]
        word = words[begins[longer] + at] & _ITS_BYTES[np.minimum(lengths[longer] - at, 8)]
        hashes[longer] = ((before ^ (before >> _HALF)) * _NEXT + word) * _FIRST
        longer = longer[lengths[longer] > at + 8]
    for number in longer.tolist():
        begin = begins[number]
        hashes[number] = xxhash.xxh3_64_intdigest(joined[begin : begin + lengths[number]])
    return hashes
