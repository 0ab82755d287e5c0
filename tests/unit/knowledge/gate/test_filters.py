"""Filters never lack a key, and seldom have one too many."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.knowledge.gate import KeyFilter, SnapshotDamaged

RANDOM = np.random.default_rng(5)


def keys(count: int) -> np.ndarray:
    return RANDOM.integers(0, 2**64, count, dtype=np.uint64)


def test_an_empty_filter_holds_nothing():
    empty = KeyFilter.build(keys(0))
    assert not any(key in empty for key in range(10_000))
    assert empty.size == 0


@given(st.lists(st.integers(0, 2**64 - 1), max_size=200))
def test_a_filter_holds_every_key_that_it_was_built_of(some):
    made = KeyFilter.build(np.array(some * 2, dtype=np.uint64))
    assert all(key in made for key in some)
    assert made.size == len(set(some))


@pytest.mark.parametrize("count", [1000, 200_000])
def test_one_other_key_in_256_is_taken_to_be_in_it(count):
    made = KeyFilter.build(keys(count))
    wrong = sum(int(key) in made for key in keys(100_000)) / 100_000
    assert 0.003 < wrong < 0.005


def test_a_large_filter_takes_nine_bits_a_key():
    assert len(KeyFilter.build(keys(200_000)).buffer) * 8 / 200_000 < 9.5


def test_a_filter_is_read_where_its_bytes_are():
    some = keys(1000)
    shared = np.frombuffer(bytes(KeyFilter.build(some).buffer), dtype=np.uint8)
    assert not shared.flags.writeable
    made = KeyFilter(memoryview(shared))
    assert all(int(key) in made for key in some)
    zeroed = bytearray(shared.tobytes())
    over = KeyFilter(memoryview(zeroed))
    zeroed[32:] = bytes(len(zeroed) - 32)
    assert sum(int(key) in over for key in some) < 50


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:31],
        lambda whole: whole[:-1],
        lambda whole: whole + b"\0",
        lambda whole: whole[:12] + b"\xff\xff\xff\xff" + whole[16:],
        lambda whole: whole[:24] + b"\xff\xff\xff\x7f" + whole[28:],
    ],
)
def test_bytes_that_are_no_filter_are_refused(damage):
    with pytest.raises(SnapshotDamaged):
        KeyFilter(damage(bytes(KeyFilter.build(keys(100)).buffer)))


_GARBAGE = """
import gc
import numpy as np
from sylk_ray.knowledge.gate import KeyFilter

class Cycle:
    pass

def leave() -> None:
    filter = KeyFilter(memoryview(KeyFilter.build(np.arange(1000, dtype=np.uint64)).buffer))
    cycle = Cycle()
    cycle.filter = filter
    cycle.itself = cycle

for _ in range(20):
    leave()
    assert gc.collect()
"""


def test_a_filter_in_a_cycle_of_garbage_is_collected():
    done = subprocess.run([sys.executable, "-c", _GARBAGE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
