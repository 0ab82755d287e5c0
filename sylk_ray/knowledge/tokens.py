"""The identifiers of many texts at once, as numbers, so that what each word counts is looked up by arrays.

::

    tokens = tokens_of(["def parse(path)", "parse it"])
    rows = Expansion(vocabulary.rows_of).of(tokens)    # rows.values[rows.starts[n]:rows.starts[n + 1]] of the text n

The identifiers are those of ``words.identifiers``. They are found in the texts' bytes and known again by a hash of
64 bits with multipliers of the process's own; what each stands for is computed when it is first
asked, until there are too many: then all begins anew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

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
_SEED = int.from_bytes(os.urandom(8), "little")
_SECRETS = [np.uint64(int.from_bytes(os.urandom(8), "little") | 1) for _ in range(3)]
_HALF = np.uint64(32)
_ROUNDS = [(_SECRETS[1], _HALF), (_SECRETS[2], np.uint64(29))]
_SLOTS = 1 << 14
_LOAD = 4
"""Slots for each identifier, at least."""
TOGETHER, CHARACTERS = 256, 1 << 20
"""Texts, and characters of theirs, that are looked at together; a larger text by itself."""
Kind = np.int64 | np.uint64


class Tokens(NamedTuple):
    """The identifiers of texts: those of the text n are ``numbers[starts[n]:starts[n + 1]]``, in order."""

    known: Known
    numbers: Numbers
    starts: Numbers


class Spread(NamedTuple):
    """What the identifiers of texts stand for: of the text n ``values[starts[n]:starts[n + 1]]``, in order."""

    values: npt.NDArray[Kind]
    starts: Numbers

    @property
    def texts(self) -> Numbers:
        """The text of each value."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


class Known:
    """The identifiers that were seen, numbered as they came: a hash table with open addresses. Threads may share it.

    Whatever ends a call in the middle, the numbers that are given are those of the right names.
    """

    def __init__(self) -> None:
        self.spelled: list[str] = []
        self._lock = threading.Lock()
        self._every = np.zeros(_SLOTS // _LOAD, np.uint64)
        """The hashes of ``spelled``, and room for more."""
        self._table = _Table(_SLOTS)

    def numbers_of(self, hashes: Hashes, spell: Callable[[int], str]) -> Numbers:
        """Of identifiers by their hashes; ``spell`` tells the one at a place, which is asked for new ones."""
        with self._lock:
            found = self._table.look_up(hashes)
            missing = np.flatnonzero(found < 0)
            if len(missing):
                new, first = np.unique(hashes[missing], return_index=True)
                self._add(new, [spell(at) for at in missing[first].tolist()])
                found[missing] = self._table.look_up(hashes[missing])
        return found

    def _add(self, new: Hashes, spelled: list[str]) -> None:
        before, now = len(self.spelled), len(self.spelled) + len(new)
        self._every = _with_room(self._every, now)
        self._every[before:now] = new
        self.spelled += spelled
        if _LOAD * now <= self._table.slots:
            self._table.add(new, before)
            return
        larger = _Table(1 << (_LOAD * now).bit_length())
        larger.add(self._every[:now], 0)
        self._table = larger


class _Table:
    """Numbers by hashes."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._shift = np.uint64(65 - slots.bit_length())
        self._hashes = np.zeros(slots, np.uint64)
        self._numbers = np.full(slots, -1, np.int64)

    def look_up(self, hashes: Hashes) -> Numbers:
        """-1 for those that are not there."""
        slots = (hashes >> self._shift).astype(np.int64)
        found = self._numbers[slots]
        others = np.flatnonzero((self._hashes[slots] != hashes) & (found >= 0))
        while len(others):
            slots[others] = following = (slots[others] + 1) % self.slots
            found[others] = numbers = self._numbers[following]
            others = others[(self._hashes[following] != hashes[others]) & (numbers >= 0)]
        return found

    def add(self, hashes: Hashes, first: int) -> None:
        """Those that are not there yet, with numbers from the first on."""
        for number, slot in enumerate((hashes >> self._shift).tolist(), first):
            while self._numbers[slot] >= 0:
                slot = (slot + 1) % self.slots
            self._hashes[slot] = hashes[number - first]
            self._numbers[slot] = number


class _Learned:
    """What identifiers of one numbering stand for: those of the number n are ``values[begins[n]:][:lengths[n]]``."""

    def __init__(self, kind: type[Kind]) -> None:
        self.values = np.zeros(_SLOTS, kind)
        self.begins: Numbers = np.full(_SLOTS, -1, np.int64)
        """-1 where it was not asked yet."""
        self.lengths: Numbers = np.zeros(_SLOTS, np.int64)
        self._used = 0

    def learn(self, known: Known, numbers: Numbers, meant: Callable[[str], Sequence[int]]) -> None:
        """What they stand for, as far as it was not asked yet."""
        self.lengths = _with_room(self.lengths, len(known.spelled))
        self.begins = _with_room(self.begins, len(known.spelled), -1)
        new = different(numbers[self.begins[numbers] < 0])
        if not len(new):
            return
        asked: list[int] = new.tolist()
        found = [meant(known.spelled[number]) for number in asked]
        lengths = np.fromiter(map(len, found), np.int64, len(found))
        values = np.fromiter(chain.from_iterable(found), self.values.dtype, int(lengths.sum()))
        first, self._used = self._used, self._used + len(values)
        self.values = _with_room(self.values, self._used)
        self.values[first : self._used] = values
        self.lengths[new] = lengths
        self.begins[new] = first + np.cumsum(lengths) - lengths


class Expansion:
    """What identifiers stand for, in whole numbers: each is asked for once in a numbering. Threads may share it."""

    def __init__(self, meant: Callable[[str], Sequence[int]], kind: type[Kind] = np.int64) -> None:
        self._meant = meant
        self._kind: type[Kind] = kind
        self._learned: WeakKeyDictionary[Known, _Learned] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, tokens: Tokens) -> Spread:
        """Of each text, with repetitions."""
        values, ends = self._of(tokens.known, tokens.numbers)
        return Spread(values, np.concatenate([[0], ends])[tokens.starts])

    def all_of(self, tokens: Tokens) -> set[int]:
        """Of all texts together."""
        values, _ = self._of(tokens.known, different(tokens.numbers))
        return set(values.tolist())

    def _of(self, known: Known, numbers: Numbers) -> tuple[npt.NDArray[Kind], Numbers]:
        with self._lock:
            learned = self._learned.get(known)
            if learned is None:
                learned = self._learned[known] = _Learned(self._kind)
            learned.learn(known, numbers, self._meant)
            values, begins, lengths = learned.values, learned.begins[numbers], learned.lengths[numbers]
        ends = np.cumsum(lengths)
        places = np.repeat(begins - (ends - lengths), lengths)
        places += np.arange(len(places))
        return values[places], ends


def runs(ordered: npt.NDArray[Any]) -> Numbers:
    """Where in what is in order each of the different ones begins."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])


def different(numbers: Numbers) -> Numbers:
    """Small numbers in order, each once: several times as quick as ``numpy.unique``."""
    seen = np.zeros(int(numbers.max(initial=-1)) + 1, bool)
    seen[numbers] = True
    return np.flatnonzero(seen)


def _with_room(array: npt.NDArray[Any], length: int, filled: int = 0) -> npt.NDArray[Any]:
    """The same with at least such a length, twice as long where that is not so."""
    if len(array) >= length:
        return array
    return np.concatenate([array, np.full(max(length, 2 * len(array)) - len(array), filled, array.dtype)])


WORDS = Expansion(word_numbers, np.uint64)
"""The numbers of identifiers' words: what BM25 and the gate go by."""
_shared = Known()


def batches(texts: Sequence[str]) -> Iterator[slice]:
    """Texts that are worth to be looked at together, and not too large for it."""
    start = length = 0
    for number, text in enumerate(texts):
        if number > start and (number - start == TOGETHER or length + len(text) > CHARACTERS):
            yield slice(start, number)
            start, length = number, 0
        length += len(text)
    if start < len(texts):
        yield slice(start, len(texts))


def tokens_of(texts: Sequence[str]) -> Tokens:
    """The identifiers of texts; takes some 20 bytes of memory for each of theirs."""
    global _shared
    known = _shared
    if len(known.spelled) > REMEMBERED:
        known = _shared = Known()
    raws = [(text if text.isascii() else _plain(text)).encode() for text in texts]
    joined = b"".join((b" ", b" ".join(raws), b" " * _WORD.itemsize))
    inside = np.frombuffer(joined.translate(_OF_IDENTIFIERS), np.uint8)
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    edges += 1
    begins, ends = edges[::2], edges[1::2]
    hashes = _hashed(joined, begins, ends - begins)
    numbers = known.numbers_of(hashes, lambda at: joined[begins[at] : ends[at]].decode())
    lengths = np.fromiter(map(len, raws), np.int64, len(raws))
    return Tokens(known, numbers, np.searchsorted(begins, np.concatenate([[0], np.cumsum(lengths + 1)])))


def _plain(text: str) -> str:
    """A text whose characters beyond ASCII are those of identifiers. No character is one with others across lines."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.isascii():
            lines[number] = " ".join(identifiers(line))
    return "\n".join(lines)


def _hashed(joined: bytes, begins: Numbers, lengths: Numbers) -> Hashes:
    """Of the identifiers, eight bytes at once. Those of at most eight bytes share none among themselves."""
    words = np.ndarray(len(joined) - _WORD.itemsize + 1, _WORD, joined, strides=(1,))
    hashes = (words[begins] & _ITS_BYTES[np.minimum(lengths, 8)]) * _SECRETS[0]
    longer = np.flatnonzero(lengths > 8)
    for at in range(8, _LONG, 8):
        if not len(longer):
            break
        word = words[begins[longer] + at] & _ITS_BYTES[np.minimum(lengths[longer] - at, 8)]
        # Two rounds, so that nobody who does not know the secrets can tell what a difference has become.
        mixed = hashes[longer]
        for secret, shift in _ROUNDS:
            mixed = (mixed ^ (mixed >> shift)) * secret
        hashes[longer] = ((mixed ^ (mixed >> _HALF)) + word) * _SECRETS[0]
        longer = longer[lengths[longer] > at + 8]
    for number in longer.tolist():
        begin = begins[number]
        hashes[number] = xxhash.xxh3_64_intdigest(joined[begin : begin + lengths[number]], _SEED)
    return hashes
