"""What a vector store costs beside the engine alone, with the same indexes in the same run; and what a gate costs."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import qdrant_edge as engine

from benchmarks.table import Row
from sylk_ray.knowledge.gate import Gate, Publisher, document_keys
from sylk_ray.knowledge.vectors import All, Equals, Point, Query, VectorSpace, VectorStore, Within, open_vectors

DIMENSIONS = 256
SCOPE = "/repo"
SIZES = (10_000, 100_000)
BATCH = 1000
SEARCHES = 200
ROUNDS = 3
WHERE = All((Equals("language", "python"), Within("src/d7")))
Vectors = np.ndarray


def payload(number: int) -> dict[str, str | int | bool]:
    return {
        "type": "function",
        "language": "python" if number % 3 else "go",
        "path": f"src/d{number % 50}/f{number % 500}.py",
        "tests": number % 5 == 0,
    }


def raw_shard(path: Path) -> engine.EdgeShard:
    """As ours is set up."""
    path.mkdir(parents=True)
    shard = engine.EdgeShard.create(
        str(path),
        engine.EdgeConfig(
            vectors={"dense": engine.EdgeVectorParams(size=DIMENSIONS, distance=engine.Distance.Cosine)},
            sparse_vectors={"lexical": engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)},
        ),
    )
    for field in ("type", "language", "session", "tests"):
        shard.update(engine.UpdateOperation.create_field_index(field, engine.PayloadSchemaType.Keyword))
    shard.update(engine.UpdateOperation.create_field_index("path", engine.KeywordIndexParams(prefix=True)))
    return shard


def raw_insert(shard: engine.EdgeShard, vectors: Vectors) -> None:
    for start in range(0, len(vectors), BATCH):
        points = []
        for number in range(start, min(start + BATCH, len(vectors))):
            told = payload(number)
            told["tests"] = "yes" if told["tests"] else "no"
            points.append(engine.Point(number + 1, {"dense": vectors[number]}, told))
        shard.update(engine.UpdateOperation.upsert_points(points))
    shard.flush()


def our_insert(store: VectorStore, vectors: Vectors) -> None:
    for start in range(0, len(vectors), BATCH):
        numbers = range(start, min(start + BATCH, len(vectors)))
        store.upsert(SCOPE, [Point(key=n + 1, dense=vectors[n], payload=payload(n)) for n in numbers])
    store.flush(SCOPE)


def raw_search(shard: engine.EdgeShard, vector: Vectors, where: engine.Filter | None) -> list[tuple[int, float]]:
    asked = engine.QueryRequest(limit=10, query=engine.Query.Nearest(vector, "dense"), filter=where, with_payload=False)
    return [(each.id, each.score) for each in shard.query(asked)]


def raw_where() -> engine.Filter:
    below = [
        engine.FieldCondition("path", match=engine.MatchValue("src/d7")),
        engine.FieldCondition("path", match=engine.MatchPrefix("src/d7/")),
    ]
    return engine.Filter(
        must=[engine.FieldCondition("language", match=engine.MatchValue("python")), engine.Filter(should=below)]
    )


def taken(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started


def medians(*each: Callable[[Vectors], object], asked: Vectors) -> list[float]:
    """Milliseconds of each, measured in turns, so that what else the machine does meets them alike."""
    times: list[list[float]] = [[] for _ in each]
    for vector in asked:
        for kept, do in zip(times, each, strict=True):
            kept.append(taken(lambda do=do, vector=vector: do(vector)) * 1e3)
    return [statistics.median(kept) for kept in times]


def of_size(home: Path, count: int) -> list[Row]:
    chance = np.random.default_rng(count)
    vectors = chance.standard_normal((count, DIMENSIONS)).astype(np.float32)
    asked = chance.standard_normal((SEARCHES, DIMENSIONS)).astype(np.float32)
    process = psutil.Process()
    raw_times: list[float] = []
    our_times: list[float] = []
    for round_ in range(ROUNDS if count <= 10_000 else 1):
        shard = raw_shard(home / f"raw{round_}")
        raw_times.append(taken(lambda shard=shard: raw_insert(shard, vectors)))
        store = open_vectors(home / f"ours{round_}", "code", VectorSpace(dimensions=DIMENSIONS))
        before = process.memory_info().rss
        our_times.append(taken(lambda store=store: our_insert(store, vectors)))
        memory = process.memory_info().rss - before
        if round_ < ROUNDS - 1 and count <= 10_000:
            shard.close()
            store.close()
    rows: list[Row] = []
    raw, ours = min(raw_times), min(our_times)
    size = f"{count:,}"
    rows += [
        Row(f"vectors: insert {size}, engine alone", raw, "s", None),
        Row(f"vectors: insert {size}", ours, "s", 10 if count <= 10_000 else 120),
        Row(f"vectors: insert {size}, of the engine alone", ours / raw, "times", 1.2),
        Row(f"vectors: memory of {size}", memory / 2**20, "MB", 50 * count / 10_000),
    ]
    raw_filter = raw_where()
    for what, where, ours_where in (("", None, None), (" with a filter", raw_filter, WHERE)):
        raw, ours = medians(
            lambda vector, where=where: raw_search(shard, vector, where),
            lambda vector, where=ours_where: store.search(SCOPE, Query(dense=vector, k=10, where=where)),
            asked=asked,
        )
        rows += [
            Row(f"vectors: search{what} among {size}, engine alone, median", raw, "ms", None),
            Row(f"vectors: search{what} among {size}, median", ours, "ms", 5 if count <= 10_000 else 20),
            Row(f"vectors: search{what} among {size}, of the engine alone", ours / raw, "times", 1.2),
        ]
    shard.close()
    store.close()
    reopened = taken(
        lambda: open_vectors(store_home(home), "code", VectorSpace(dimensions=DIMENSIONS)).search(
            SCOPE, Query(dense=asked[0], k=10)
        )
    )
    rows.append(Row(f"vectors: open {size} again and search once", reopened * 1e3, "ms", None))
    return rows


def store_home(home: Path) -> Path:
    return max(home.glob("ours*"))


def gate() -> list[Row]:
    texts = [f"def handle{number:x}(request): return answer{number * 7:x}" for number in range(100_000)]
    keys = np.fromiter({key for each in texts for key in document_keys(each)}, dtype=np.uint64)
    built = taken(lambda: Publisher(keys))
    publisher = Publisher(keys)
    for number in range(1000):
        publisher.publish(document_keys(f"later{number}"))
    asking = Gate({"code": publisher})
    letters = "abcdefghijklmnopqrstuvwxyz"
    misses = [
        f"zebra giraffe lion tiger bear{letters[n % 26]}{letters[n // 26 % 26]}{letters[n // 676]}" for n in range(9000)
    ]
    times = sorted(taken(lambda each=each: asking.check("code", each)) * 1e6 for each in misses)
    return [
        Row("gate: build a filter", built * 1e3, "ms", None),
        Row("gate: bytes a key", publisher.view.snapshot.size / len(keys), "B", 1.3),
        Row("gate: a miss with 5 words, new each time, median", statistics.median(times), "us", 20),
        Row("gate: a miss with 5 words, new each time, p99", times[len(times) * 99 // 100], "us", 50),
    ]


def measure() -> list[Row]:
    """All rows."""
    rows: list[Row] = []
    for count in SIZES:
        with tempfile.TemporaryDirectory() as home:
            rows += of_size(Path(home), count)
    return [*rows, *gate()]
