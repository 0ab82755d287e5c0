"""What is published of a domain, as one stretch of bytes that any number of processes read where it is.

Header, filter, keys that came since the filter was built (sorted uint64), bitmaps; each part begins at a multiple of 8.
The filter and the keys are read in place; a bitmap is decoded, which copies it, when a condition first asks for it.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable

import numpy as np
import xxhash

from sylk_ray.knowledge.gate.errors import SnapshotDamaged
from sylk_ray.knowledge.gate.facets import Facets
from sylk_ray.knowledge.gate.filters import KeyFilter

FORMAT = 1
_MAGIC = b"SYLKGATE"
_HEADER = struct.Struct("<8sQ16sQQQQQ")
"""Magic, format, epoch, version, lengths of filter, keys and bitmaps in bytes, and xxh3-64 of all that follows."""


def encode(epoch: bytes, version: int, keys: KeyFilter, pending: Iterable[int], facets: Facets) -> bytes:
    """``epoch`` is of 16 bytes."""
    added = np.sort(np.fromiter(pending, dtype=np.uint64)).tobytes()
    parts = (bytes(keys.buffer), added, facets.encode())
    body = b"".join(each + bytes(-len(each) % 8) for each in parts)
    return _HEADER.pack(_MAGIC, FORMAT, epoch, version, *map(len, parts), xxhash.xxh3_64_intdigest(body)) + body


def restamped(snapshot: bytes, epoch: bytes) -> bytes:
    """The same as the first version of another epoch."""
    magic, form, _, _, *rest = _HEADER.unpack_from(snapshot)
    return _HEADER.pack(magic, form, epoch, 0, *rest) + snapshot[_HEADER.size :]


class Snapshot:
    """Over a buffer that is kept alive and must not change, such as a read-only uint8 array of numpy.

    Raises SnapshotDamaged for anything that ``encode`` did not make.
    """

    __slots__ = ("_bitmaps", "_facets", "_pending", "epoch", "keys", "size", "version")

    def __init__(self, buffer: object) -> None:
        view = memoryview(buffer).cast("B")  # pyright: ignore[reportArgumentType]
        if len(view) < _HEADER.size:
            raise SnapshotDamaged("the snapshot is cut off")
        magic, form, epoch, version, *lengths, digest = _HEADER.unpack_from(view)
        if magic != _MAGIC or form != FORMAT:
            raise SnapshotDamaged(f"these bytes are no snapshot of format {FORMAT}")
        parts: list[memoryview] = []
        at = _HEADER.size
        for length in lengths:
            parts.append(view[at : at + length])
            at += length + -length % 8
        if at != len(view) or xxhash.xxh3_64_intdigest(view[_HEADER.size :]) != digest:
            raise SnapshotDamaged("the snapshot is not as it was written")
        self.epoch: bytes = epoch
        self.version: int = version
        self.size = len(view)
        """In bytes."""
        self.keys = KeyFilter(parts[0])
        self._pending = parts[1].cast("Q")
        self._bitmaps = parts[2]
        self._facets: Facets | None = None

    @property
    def facets(self) -> Facets:
        """Looked through when they are first asked for. Not to be changed."""
        if self._facets is None:
            self._facets = Facets.decode(self._bitmaps)
        return self._facets

    def __contains__(self, key: int) -> bool:
        if key in self.keys:
            return True
        pending = self._pending
        at = bisect_left(pending, key)
        return at < len(pending) and pending[at] == key
