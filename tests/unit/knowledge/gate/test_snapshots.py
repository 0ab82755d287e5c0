"""One stretch of bytes holds all that is published, and nothing else is taken for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.knowledge.gate import Facets, KeyFilter, Snapshot, SnapshotDamaged, facets_of
from sylk_ray.knowledge.gate.facets import bounds
from sylk_ray.knowledge.gate.snapshots import encode
from sylk_ray.knowledge.vectors import Within

EPOCH = bytes(range(16))
keys = st.sets(st.integers(0, 2**64 - 1), max_size=50)


def facets() -> Facets:
    made = Facets()
    made.add([(2**40, facets_of("/r", {"path": "src/größe.py", "language": "python"}))])
    return made


@given(keys, keys)
def test_a_snapshot_is_read_as_it_was_written(built, pending):
    content = encode(EPOCH, 7, KeyFilter.build(np.array(sorted(built), dtype=np.uint64)), pending, facets())
    read = Snapshot(np.frombuffer(content, dtype=np.uint8))
    assert (read.epoch, read.version, read.size) == (EPOCH, 7, len(content))
    assert all(key in read for key in built | pending)
    assert set(bounds(Within("src"), read.facets, Facets()).possibly) == {2**40}


def test_pending_keys_are_held_exactly():
    read = Snapshot(encode(EPOCH, 0, KeyFilter.build(np.empty(0, dtype=np.uint64)), range(0, 1000, 2), Facets()))
    assert [key in read for key in range(1001)] == [key % 2 == 0 and key < 1000 for key in range(1001)]


@given(st.integers(0, 400), st.integers(1, 255))
def test_a_snapshot_with_a_wrong_byte_is_refused(at, change):
    content = bytearray(encode(EPOCH, 7, KeyFilter.build(np.arange(9, dtype=np.uint64)), [5], facets()))
    at %= len(content)
    if 16 <= at < 40:
        return  # Who made it and which version it is are compared with what was granted.
    content[at] ^= change
    with pytest.raises(SnapshotDamaged):
        Snapshot(bytes(content))


@pytest.mark.parametrize("length", [0, 20, 79, -1])
def test_a_snapshot_that_is_cut_off_is_refused(length):
    with pytest.raises(SnapshotDamaged):
        Snapshot(encode(EPOCH, 7, KeyFilter.build(np.arange(9, dtype=np.uint64)), [5], facets())[:length])
