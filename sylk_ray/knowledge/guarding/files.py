"""What the gate knows of a domain, in a file: the snapshot, and the keys that its filter cannot tell again.

Written beside the file and put in its place when it is on the disk, so it is there whole or as it was before.
"""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path

import msgspec
import numpy as np
import xxhash

from sylk_ray.knowledge.gate.filters import Keys

_MAGIC = b"SYLKKEPT"
_HEADER = struct.Struct("<8sQQQQQQ")
"""Magic, format, generation, nodes gone, lengths of snapshot and keys in bytes, and xxh3-64 of the keys."""
FORMAT = 1


class Kept(msgspec.Struct, frozen=True, eq=False):
    """What is in a file."""

    generation: int
    gone: int
    """How many nodes it still has that are not there any more."""
    snapshot: bytes
    keys: Keys


def write(path: Path, kept: Kept) -> None:
    """Raises OSError; then what was there before still is."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    keys = kept.keys.tobytes()
    header = _HEADER.pack(
        _MAGIC, FORMAT, kept.generation, kept.gone, len(kept.snapshot), len(keys), xxhash.xxh3_64_intdigest(keys)
    )
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("wb") as file:
            file.write(header)
            file.write(kept.snapshot)
            file.write(keys)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def read(path: Path, generation: int) -> Kept | None:
    """What is there of a generation; None for another one, and for what is no such file or damaged. The snapshot has a
    checksum of its own, that is looked at when it is used."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
            if len(header) < _HEADER.size:
                return None
            magic, form, of, gone, snapshot, keys, digest = _HEADER.unpack(header)
            if (magic, form, of) != (_MAGIC, FORMAT, generation):
                return None
            content = file.read()
    except OSError:
        return None
    if len(content) != snapshot + keys or keys % 8 or xxhash.xxh3_64_intdigest(content[snapshot:]) != digest:
        return None
    return Kept(generation, gone, content[:snapshot], np.frombuffer(content, np.uint64, offset=snapshot))
