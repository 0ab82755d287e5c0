"""The embedded engine, in a directory: who owns it, what a kill leaves, and what is damaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from sylk_ray.knowledge.vectors import (
    Equals,
    Point,
    Quantisation,
    Query,
    RebuildUnderWay,
    StoreDamaged,
    StoreInUse,
    StoreUnavailable,
    VectorSpace,
    VectorStoreFailed,
)
from sylk_ray.knowledge.vectors.edge import EdgeVectors
from sylk_ray.knowledge.vectors.edge_folders import RECORD, folder_of
from tests.disks import small_disk

SPACE = VectorSpace(dimensions=64)
VECTORS = np.random.default_rng(7).standard_normal((4000, 64)).astype(np.float32)


def opened(home: Path, **options) -> EdgeVectors:
    return EdgeVectors(home, "code", options.pop("space", SPACE), **options)


def points(*numbers: int) -> list[Point]:
    return [Point(key=n + 1, dense=VECTORS[n], payload={"type": "function", "tests": n % 2 == 0}) for n in numbers]


def shard_of(home: Path, scope: str = "r") -> Path:
    (shard,) = folder_of(home / "code", scope).glob("g*")
    return shard


def child(program: str, home: Path) -> subprocess.Popen[str]:
    """Another process that works on the store."""
    script = f"""
import sys, numpy as np
from pathlib import Path
from sylk_ray.knowledge.vectors import Point, VectorSpace
from sylk_ray.knowledge.vectors.edge import EdgeVectors
store = EdgeVectors(Path(sys.argv[1]), "code", VectorSpace(dimensions=64))
def points(keys):
    return [Point(key=key, dense=np.full(64, key, dtype=np.float32)) for key in keys]
def tell(text):
    print(text, flush=True)
{program}
"""
    root = str(Path(__file__).parents[4])
    environment = {**os.environ, "PYTHONPATH": root}
    return subprocess.Popen(
        [sys.executable, "-c", script, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_a_second_process_is_told_who_has_the_store(tmp_path):
    with opened(tmp_path), pytest.raises(StoreInUse, match=f"process {os.getpid()} "):
        opened(tmp_path)


def test_a_store_whose_folder_cannot_be_used_is_told(tmp_path):
    opened(tmp_path).close()
    owner = next(tmp_path.rglob("owner"))
    owner.unlink()
    owner.mkdir()
    with pytest.raises(StoreUnavailable, match="cannot be used: Is a directory"):
        opened(tmp_path)


def test_a_store_whose_owner_was_killed_can_be_opened_and_has_all_that_was_acknowledged(tmp_path):
    process = child(
        """
for start in range(1, 2001, 100):
    store.upsert("r", points(range(start, start + 100)))
    tell(start + 99)
store.delete("r", [5, 6])
tell("deleted")
sys.stdin.read()
""",
        tmp_path,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "deleted":
            break
    with pytest.raises(StoreInUse, match=f"process {process.pid} "):
        opened(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()

    with opened(tmp_path) as store:
        assert list(store.keys("r")) == [key for key in range(1, 2001) if key not in (5, 6)]


def test_a_kill_in_the_midst_of_writing_loses_nothing_that_was_acknowledged(tmp_path):
    process = child("for key in range(1, 10**6):\n    store.upsert('r', points([key]))\n    tell(key)", tmp_path)
    assert process.stdout is not None
    acknowledged = 0
    for line in process.stdout:
        acknowledged = int(line)
        if acknowledged == 300:
            process.send_signal(signal.SIGKILL)
    process.wait()
    with opened(tmp_path) as store:
        kept = list(store.keys("r"))
        assert kept[:acknowledged] == list(range(1, acknowledged + 1))
        assert len(kept) <= acknowledged + 1
        assert store.search("r", Query(dense=VECTORS[0], k=1))


def test_a_rebuild_that_was_killed_leaves_the_old_vectors_and_no_files(tmp_path):
    process = child(
        """
store.upsert("r", points([1, 2]))
rebuild = store.begin_rebuild("r")
rebuild.upsert(points(range(1, 50)))
tell("built")
sys.stdin.read()
""",
        tmp_path,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "built"
    process.send_signal(signal.SIGKILL)
    process.wait()
    with opened(tmp_path) as store:
        assert list(store.keys("r")) == [1, 2]
        assert shard_of(tmp_path).name == "g1"


def test_only_so_many_shards_stay_open_and_all_can_be_searched(tmp_path):
    with opened(tmp_path, max_open=2) as store:
        for n in range(6):
            store.upsert(f"r{n}", points(n))
        for n in range(6):
            assert [each.key for each in store.search(f"r{n}", Query(dense=VECTORS[n]))] == [n + 1]
        # A shard that was closed is sealed.
        assert len(list((tmp_path / "code").rglob("sealed.json"))) == 4


def test_building_an_index_keeps_what_is_written_and_searched_meanwhile(tmp_path):
    with opened(tmp_path, optimize_from=1000) as store:
        store.upsert("r", points(*range(2000)))
        asked = [Query(dense=VECTORS[n], k=1) for n in range(0, 2000, 97)]
        over: list[bool] = []
        building = threading.Thread(target=lambda: over.append(store.optimize("r")))
        building.start()
        written = 2000
        while building.is_alive() and written < 2400:
            store.upsert("r", points(written))
            store.delete("r", [written - 1990])
            assert store.search("r", asked[written % len(asked)])
            written += 1
        building.join()

        assert over == [True]
        assert shard_of(tmp_path).name == "g2"
        # The key of point n is n + 1; each turn stored one and deleted one, from key 10 on.
        assert list(store.keys("r")) == [*range(1, 10), *range(10 + written - 2000, written + 1)]
        assert [each.key for each in store.search("r", Query(dense=VECTORS[written - 1], k=1))] == [written]
        assert not store.optimize("r")
        assert store.stats("r").indexed >= 1500
    with opened(tmp_path) as store:
        assert store.count("r") == 2000


def test_other_threads_run_while_an_index_is_built(tmp_path):
    with opened(tmp_path, optimize_from=1000) as store:
        store.upsert("r", points(*range(4000)))
        building = threading.Thread(target=store.optimize, args=("r",))
        building.start()
        turns = 0
        while building.is_alive():
            turns += 1
        assert turns > 1000


def test_an_index_and_a_rebuild_are_not_built_at_once(tmp_path):
    with opened(tmp_path, optimize_from=10) as store:
        store.upsert("r", points(*range(100)))
        with store.begin_rebuild("r"), pytest.raises(RebuildUnderWay):
            store.optimize("r")
        assert store.optimize("r")


@pytest.mark.parametrize("quantisation", [Quantisation.INT8, Quantisation.BINARY])
def test_quantised_vectors_find_nearly_the_same(tmp_path, quantisation):
    space = VectorSpace(dimensions=64, quantisation=quantisation)
    with opened(tmp_path, space=space, optimize_from=1000) as store:
        store.upsert("r", points(*range(2000)))
        before = [store.search("r", Query(dense=VECTORS[n] + VECTORS[n + 1], k=10)) for n in range(30)]
        assert store.optimize("r")
        after = [store.search("r", Query(dense=VECTORS[n] + VECTORS[n + 1], k=10)) for n in range(30)]
    same = sum(len({x.key for x in one} & {x.key for x in two}) for one, two in zip(before, after, strict=True))
    assert same >= {Quantisation.INT8: 285, Quantisation.BINARY: 150}[quantisation]


def closed_with(home: Path) -> None:
    with opened(home) as store:
        store.upsert("r", points(*range(50)))
        store.upsert("well", points(1))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


DAMAGES = {
    "the shard is missing": lambda shard: shard.rename(shard.with_name("elsewhere")),
    "its vectors are cut off": lambda shard: cut(next(shard.rglob("vector_storage-dense/**/chunk_0*"))),
    "its payloads are missing": lambda shard: next(shard.rglob("payload_storage/page_0.dat")).unlink(),
    "its configuration is no JSON": lambda shard: cut(shard / "edge_config.json"),
    "its seal is no JSON": lambda shard: cut(shard / "sealed.json"),
    "its record is cut off": lambda shard: cut(shard.parent / RECORD),
    "its record is of a later format": lambda shard: (shard.parent / RECORD).write_text(
        (shard.parent / RECORD).read_text().replace('"format":1', '"format":2')
    ),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_a_damaged_scope_says_so_and_can_be_dropped_and_filled_again(tmp_path, damage):
    closed_with(tmp_path)
    DAMAGES[damage](shard_of(tmp_path))
    with opened(tmp_path) as store:
        assert store.count("well") == 1
        for use in (lambda: store.search("r", Query(dense=VECTORS[0])), lambda: store.upsert("r", points(1))):
            with pytest.raises(StoreDamaged) as raised:
                use()
            assert str(tmp_path) in raised.value.message
            assert "drop the scope" in raised.value.hint
        store.drop("r")
        store.upsert("r", points(3))
        assert [each.key for each in store.search("r", Query(dense=VECTORS[3]))] == [4]


def test_truth_values_are_told_from_numbers_and_words(tmp_path):
    with opened(tmp_path) as store:
        store.upsert(
            "r",
            [Point(key=1, payload={"x": True}), Point(key=2, payload={"x": 1}), Point(key=3, payload={"x": "true"})],
        )
        assert [store.count("r", Equals("x", each)) for each in (True, False, 1, "true")] == [1, 0, 1, 1]
        assert [each.payload["x"] for each in store.get("r", [1, 2, 3])] == [True, 1, "true"]


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", 120) as disk:
        yield disk


def test_where_a_disk_has_no_room_nothing_is_written_and_nothing_lost(disk):
    filler = disk / "filler"
    with opened(disk) as store:
        store.upsert("r", points(0, 1))
        rebuild = store.begin_rebuild("r")
        filler.write_bytes(bytes(60 << 20))
        writes = (
            *(
                lambda: store.upsert("r", points(2)),
                lambda: store.upsert("new", points(2)),
                lambda: store.delete("r", [1]),
            ),
            *(lambda: rebuild.upsert(points(2)), lambda: rebuild.delete([1]), lambda: store.begin_rebuild("other")),
        )
        for write in writes:
            with pytest.raises(VectorStoreFailed, match="no room") as raised:
                write()
            assert "make room" in raised.value.hint
        rebuild.abandon()
        assert store.count("r") == 2
        assert store.scopes() == ["r"]
        assert [each.key for each in store.search("r", Query(dense=VECTORS[1], k=1))] == [2]
    with opened(disk) as store:
        for _ in range(2):
            with pytest.raises(VectorStoreFailed, match="no room"):
                store.search("r", Query(dense=VECTORS[1]))
            # It was closed in order, and is still known to have been.
            assert (shard_of(disk) / "sealed.json").exists()
            filler.write_bytes(bytes(90 << 20))
    filler.unlink()
    with opened(disk) as store:
        assert [each.key for each in store.search("r", Query(dense=VECTORS[1], k=1))] == [2]
