"""An immutable set of 64-bit keys that may say yes by mistake, and never no.

A binary fuse filter (Graf and Lemire, "Binary fuse filters: fast and smaller than xor filters", 2022) of 8 bits a key,
about 1.13 bytes for large sets: one in 256 keys that are not in it is taken to be. It is read where its bytes are, also
in read-only memory that processes share; the library's own deserializing would copy them.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
from pyfusefilter import pyfusefilter as _library

from sylk_ray.knowledge.gate.errors import FilterNotBuilt, SnapshotDamaged

_module: Any = _library
"""The C functions, by what the package is made with: its own classes would hash every key again."""
_lib, _ffi = _module.lib, _module.ffi

Keys = npt.NDArray[np.uint64]
_HEADER = struct.Struct("<QIIIIII")
_FIELDS = ("Seed", "Size", "SegmentLength", "SegmentLengthMask", "SegmentCount", "SegmentCountLength", "ArrayLength")


def distinct(keys: Keys) -> Keys:
    """Sorted. Several times as quick as ``numpy.unique``."""
    ordered = np.sort(np.ascontiguousarray(keys, dtype=np.uint64))
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


class KeyFilter:
    """Over ``buffer``, which is kept alive and must not change: what ``build`` gave. Raises SnapshotDamaged."""

    __slots__ = ("_bytes", "_contain", "_filter", "buffer", "size")

    def __init__(self, buffer: bytes | memoryview) -> None:
        if len(buffer) < _HEADER.size:
            raise SnapshotDamaged("the filter is cut off")
        values = dict(zip(_FIELDS, _HEADER.unpack_from(buffer), strict=True))
        length, segments = values["SegmentLength"], values["SegmentCount"]
        sound = (
            length > 0
            and length & (length - 1) == 0
            and values["SegmentLengthMask"] == length - 1
            and values["SegmentCountLength"] == segments * length
            and values["ArrayLength"] == (segments + 2) * length == len(buffer) - _HEADER.size
        )
        if not sound:
            raise SnapshotDamaged("the filter's lengths do not fit each other")
        self.buffer = buffer
        self.size = values["Size"]
        """How many keys are in it."""
        # Of an array, not of the buffer: up to 3.12 the garbage collector may clear a memoryview whose buffer another
        # object has, and the interpreter then crashes (CPython issue 77894).
        self._bytes = _ffi.from_buffer("uint8_t[]", np.frombuffer(buffer, np.uint8))
        self._filter = _ffi.new("binary_fuse8_t *", {**values, "Fingerprints": self._bytes + _HEADER.size})
        self._contain = _lib.binary_fuse8_contain

    def __contains__(self, key: int) -> bool:
        return self.size > 0 and self._contain(key, self._filter)

    @classmethod
    def build(cls, keys: Keys) -> KeyFilter:
        """Of any keys, in any order and more than once. Other threads run meanwhile. Raises FilterNotBuilt."""
        every = distinct(keys)
        made = _ffi.new("binary_fuse8_t *")
        if not _lib.binary_fuse8_allocate(len(every), made):
            raise FilterNotBuilt(f"there is no memory for a filter of {len(every)} keys")
        try:
            if not _lib.binary_fuse8_populate(_ffi.from_buffer("uint64_t[]", every), len(every), made):
                raise FilterNotBuilt(f"no seed separates these {len(every)} keys")
            header = _HEADER.pack(*(getattr(made, name) for name in _FIELDS))
            return cls(header + bytes(_ffi.buffer(made.Fingerprints, made.ArrayLength)))
        finally:
            _lib.binary_fuse8_free(made)
