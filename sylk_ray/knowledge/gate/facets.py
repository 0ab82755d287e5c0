"""Which nodes have which type, language, folder, session and scope: a Roaring bitmap of node numbers for each.

(Chambi, Lemire, Kaser and Godin, "Better bitmap performance with Roaring bitmaps", 2016.) What a condition allows is
found as two bounds, the nodes that surely and those that possibly meet it, so that a bitmap which still has what a node
was before it changed never excludes the node.
"""

from __future__ import annotations

import functools
import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from pyroaring import BitMap64

from sylk_ray.knowledge.gate.errors import SnapshotDamaged
from sylk_ray.knowledge.vectors.conditions import (
    FIELDS,
    PATH_FIELD,
    All,
    AnyOf,
    Condition,
    Equals,
    KeyIn,
    NoneOf,
    Not,
    Some,
    Value,
    Within,
    ancestors,
)

SCOPE = "scope"
FACETS = frozenset({SCOPE, *FIELDS})
"""Conditions on other fields are taken to hold for some and not for others."""
_FOLDER = "folder"

Facet: TypeAlias = tuple[str, str]
"""A field and a value of it, as text."""
_ALL: Facet = ("", "")
_LENGTHS = struct.Struct("<HHQ")


class Bounds(NamedTuple):
    """Every node that meets the condition is in ``possibly``; every node in ``surely`` meets it."""

    surely: BitMap64
    possibly: BitMap64


def facets_of(scope: str, payload: dict[str, Value]) -> tuple[Facet, ...]:
    """The bitmaps that a node is in."""
    found: list[Facet] = [(SCOPE, scope)]
    for field, value in payload.items():
        if field in FACETS:
            found.append((field, _text(value)))
            if field == PATH_FIELD and isinstance(value, str):
                found += _folders(value)
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _folders(path: str) -> tuple[Facet, ...]:
    return tuple((_FOLDER, each) for each in ancestors(path))


class Facets:
    """Bitmaps by facet, that nodes are added to. Those that were read from bytes are decoded when they are needed."""

    def __init__(self) -> None:
        self._bitmaps: dict[Facet, BitMap64] = {_ALL: BitMap64()}
        self._encoded: dict[Facet, memoryview] = {}

    @property
    def nodes(self) -> BitMap64:
        """All of them."""
        return self.of(_ALL)

    def of(self, facet: Facet) -> BitMap64:
        """Not to be changed."""
        bitmap = self._bitmaps.get(facet)
        if bitmap is None:
            encoded = self._encoded.get(facet)
            if encoded is None:
                return _NONE
            bitmap = self._bitmaps[facet] = BitMap64.deserialize(bytes(encoded))
        return bitmap

    def facets(self) -> set[Facet]:
        """Those that a node has, and one that all have."""
        return {facet for facet in {*self._bitmaps, *self._encoded} if self.of(facet)}

    def add(self, nodes: Iterable[tuple[int, Iterable[Facet]]]) -> None:
        """Each keeps what it had before."""
        members: defaultdict[Facet, list[int]] = defaultdict(list)
        for node, facets in nodes:
            for facet in (_ALL, *facets):
                members[facet].append(node)
        for facet, some in members.items():
            if facet in self._encoded and facet not in self._bitmaps:
                self.of(facet)
            self._bitmaps.setdefault(facet, BitMap64()).update(some)

    def remove(self, nodes: Iterable[int]) -> None:
        """From everything."""
        gone = BitMap64(nodes)
        for facet in {*self._bitmaps, *self._encoded}:
            self.of(facet)
            self._bitmaps[facet] -= gone

    def merged(self, later: Sequence[tuple[int, Sequence[Facet]]]) -> Facets:
        """A new one in which these nodes, the last of each, have only what is said here."""
        last = dict(later)
        merged = Facets()
        for facet in {*self._bitmaps, *self._encoded}:
            merged._bitmaps[facet] = self.of(facet).copy()
        merged.remove(last)
        merged.add(last.items())
        return merged

    def encode(self) -> bytes:
        """The portable format of each bitmap, which is the same on every machine. Empty ones are left out."""
        parts: list[bytes] = []
        for field, value in sorted(self.facets()):
            bitmap = self.of((field, value)).copy()
            bitmap.run_optimize()
            name, said, content = field.encode(), value.encode(errors="surrogatepass"), bitmap.serialize()
            parts += (_LENGTHS.pack(len(name), len(said), len(content)), name, said, content)
        return b"".join(parts)

    @classmethod
    def decode(cls, buffer: memoryview) -> Facets:
        """Raises SnapshotDamaged."""
        facets = cls()
        at = 0
        try:
            while at < len(buffer):
                name, said, content = _LENGTHS.unpack_from(buffer, at)
                at += _LENGTHS.size
                field, at = str(buffer[at : at + name], "utf-8"), at + name
                value, at = str(buffer[at : at + said], "utf-8", "surrogatepass"), at + said
                facets._encoded[field, value], at = buffer[at : at + content], at + content
        except (struct.error, UnicodeDecodeError) as error:
            raise SnapshotDamaged(f"the bitmaps cannot be read: {error}") from error
        if at != len(buffer):
            raise SnapshotDamaged("the bitmaps are cut off")
        if _ALL in facets._encoded:
            del facets._bitmaps[_ALL]
        return facets


def bounds(where: Condition, base: Facets, added: Facets) -> Bounds:
    """Over the nodes of both. Those in ``added`` may have any facet that either gives them."""
    nodes = base.nodes | added.nodes

    def leaf(facets: Iterable[Facet]) -> Bounds:
        found = BitMap64()
        for facet in facets:
            found |= base.of(facet)
            found |= added.of(facet)
        return Bounds(found - added.nodes, found)

    def negated(of: Bounds) -> Bounds:
        return Bounds(nodes - of.possibly, nodes - of.surely)

    def of(condition: Condition) -> Bounds:
        match condition:
            case Equals(field, _) | AnyOf(field, _) | NoneOf(field, _) if field not in FACETS:
                return Bounds(BitMap64(), nodes)
            case Equals(field, value):
                return leaf([(field, _text(value))])
            case AnyOf(field, values):
                return leaf([(field, _text(each)) for each in values])
            case NoneOf(field, values):
                return negated(leaf([(field, _text(each)) for each in values]))
            case KeyIn(keys):
                found = nodes & BitMap64(keys)
                return Bounds(found, found)
            case Within(path) if path.rstrip("/"):
                return leaf([(_FOLDER, path.rstrip("/"))])
            case Within():
                return Bounds(BitMap64(), nodes)
            case All(parts):
                surely = possibly = nodes
                for part in map(of, parts):
                    surely, possibly = surely & part.surely, possibly & part.possibly
                return Bounds(surely, possibly)
            case Some(parts):
                surely, possibly = BitMap64(), BitMap64()
                for part in map(of, parts):
                    surely, possibly = surely | part.surely, possibly | part.possibly
                return Bounds(surely, possibly)
            case Not(part):
                return negated(of(part))

    return of(where)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else f"\0{type(value).__name__} {value}"


_NONE = BitMap64()
