"""What the knowledge base costs, beside the vector engine and SQLite alone in the same run."""

from __future__ import annotations

import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
import qdrant_edge as engine

from benchmarks.table import Row
from benchmarks.vectors import raw_search, raw_shard, taken
from sylk_ray.codebase.requests import Memory, Preflight, Recall, Remember
from sylk_ray.codebase.service import CodeService
from sylk_ray.knowledge import Domain, Edge, EdgeType, KnowledgeBase, Node, NodeType, QueryConstraints
from sylk_ray.knowledge.embedding.embedder import Vectors
from sylk_ray.knowledge.gate import No
from sylk_ray.knowledge.vectors.edge import EdgeVectors

DIMENSIONS = 256
SCOPE = "/repo"
BATCH = 1000
SEARCHES = 200
MEMORIES = 4000
WORDS = (
    *("alpha", "beta", "gamma", "delta", "order", "total", "store", "parse"),
    *("read", "write", "open", "close", "index", "search", "find", "make"),
)

_OPENED = """
import sys
from pathlib import Path
import numpy as np
import psutil
from benchmarks.knowledge import DIMENSIONS, SCOPE, Prepared
from sylk_ray.knowledge import KnowledgeBase
vectors = np.ones((1, DIMENSIONS), np.float32)
with KnowledgeBase(Path(sys.argv[1]), embedder=Prepared(vectors)) as base:
    base.graph.load_all()
    for _ in range(20):
        base.search.by_vector(vectors[0], 10, scope=SCOPE)
    memory = psutil.Process().memory_info()
    print(memory.rss / 2**20, (memory.rss - memory.shared) / 2**20)
"""


class Prepared:
    """An embedder that costs nothing: a vector for each text, made before."""

    name = "prepared"
    dimensions = DIMENSIONS

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._at = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        chosen = np.arange(self._at, self._at + len(texts)) % len(self._vectors)
        self._at += len(texts)
        return self._vectors[chosen]

    def embed_query(self, text: str) -> Vectors:
        return self._vectors[hash(text) % len(self._vectors)]


def nodes(count: int) -> list[Node]:
    """As many as stand in 500 files, each with a few words."""
    return [
        Node(
            id=f"{SCOPE}!src/d{n % 50}/f{n % 500}.py#f{n}",
            domain=Domain.CODE,
            type=NodeType.FUNCTION,
            scope=SCOPE,
            name=f"f{n}",
            path=f"src/d{n % 50}/f{n % 500}.py",
            content=f"def f{n}(): {WORDS[n % 16]} {WORDS[n // 16 % 16]} {WORDS[n // 256 % 16]} number{n}",
            metadata={"language": "python", "tests": n % 5 == 0, "start": 1, "end": 9},
        )
        for n in range(count)
    ]


def edges(given: Sequence[Node]) -> list[Edge]:
    """Two from each node: to the next, and to one far away."""
    count = len(given)
    return [
        Edge(source=given[n].id, target=given[end % count].id, type=EdgeType.CALLS, weight=0.9)
        for n in range(count)
        for end in (n + 1, n * 7 + 3)
        if end % count != n
    ]


def raw_insert(home: Path, given: Sequence[Node], ends: Sequence[Edge], vectors: Vectors) -> engine.EdgeShard:
    """The same rows, indexes and points, written as plainly as can be; words as sparse vectors are made before."""
    from sylk_ray.knowledge.encoding import text_of
    from sylk_ray.knowledge.lexical import document_vector
    from sylk_ray.knowledge.store.schema import migrate

    shard = raw_shard(home / "shard")
    database = sqlite3.connect(home / "raw.db", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    migrate(database, home / "raw.db")
    for start in range(0, len(given), BATCH):
        some = given[start : start + BATCH]
        points: list[engine.Point] = []
        for n, node in enumerate(some, start):
            words = document_vector(text_of(node))
            sparse = engine.SparseVector(words.indices.tolist(), words.values.tolist())
            payload = {"type": "function", "path": node.path, "language": "python", "tests": "no"}
            points.append(engine.Point(n + 1, {"dense": vectors[n], "lexical": sparse}, payload))
        shard.update(engine.UpdateOperation.upsert_points(points))
        database.execute("BEGIN IMMEDIATE")
        database.executemany(
            "INSERT INTO nodes VALUES (?, ?, 'code', 'function', ?, ?, ?, ?, '', '{}', 1, 0, 0, 0)",
            [(n + 1, node.id, SCOPE, node.name, node.path, node.content) for n, node in enumerate(some, start)],
        )
        database.execute("COMMIT")
    keys = {node.id: n + 1 for n, node in enumerate(given)}
    for start in range(0, len(ends), BATCH):
        database.execute("BEGIN IMMEDIATE")
        database.executemany(
            "INSERT INTO edges(source, target, type, weight, metadata, across, created_at)"
            " VALUES (?, ?, 'calls', 0.9, '{}', 0, 0) ON CONFLICT DO NOTHING",
            [(keys[each.source], keys[each.target]) for each in ends[start : start + BATCH]],
        )
        database.execute("COMMIT")
    shard.flush()
    database.close()
    return shard


def our_insert(base: KnowledgeBase, given: Sequence[Node], ends: Sequence[Edge]) -> None:
    for start in range(0, len(given), BATCH):
        base.insert(given[start : start + BATCH])
    for start in range(0, len(ends), BATCH):
        base.connect(ends[start : start + BATCH])
    base.flush()


def medians(*each: Callable[[int], object], rounds: int = SEARCHES) -> list[float]:
    """Milliseconds of each, measured in turns, so that what else the machine does meets them alike."""
    times: list[list[float]] = [[] for _ in each]
    for number in range(rounds):
        for kept, do in zip(times, each, strict=True):
            kept.append(taken(lambda do=do, number=number: do(number)) * 1e3)
    return [statistics.median(kept) for kept in times]


def resident(directory: Path) -> tuple[float, float]:
    """Megabytes of a new process that has opened a knowledge base, loaded its graph and searched it: in all, and
    without the pages of files that are mapped, which the system takes back when it needs them."""
    everything, own = map(float, run_apart(_OPENED, str(directory)).split())
    return everything, own


def run_apart(script: str, *arguments: str) -> str:
    """What a script says, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    ).stdout


def of_size(count: int, home: Path) -> list[Row]:
    chance = np.random.default_rng(count)
    vectors = chance.standard_normal((count, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = chance.standard_normal((SEARCHES, DIMENSIONS)).astype(np.float32)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    given = nodes(count)
    ends = edges(given)
    size = f"{count:,}"
    began = time.perf_counter()
    shard = raw_insert(home, given, ends, vectors)
    raw = time.perf_counter() - began
    base = KnowledgeBase(home / "ours", embedder=Prepared(vectors))
    ours = taken(lambda: our_insert(base, given, ends))
    base.graph.load_all()
    raw_ms, our_ms = medians(
        lambda n: raw_search(shard, asked[n], None),
        lambda n: base.search.by_vector(asked[n], 10, scope=SCOPE),
    )
    one = nodes(count + 100)[count:]
    single = statistics.median(taken(lambda node=node: base.insert([node])) for node in one) * 1e3
    keys = [node.key for node in base.select(scope=SCOPE, limit=SEARCHES)]
    [walk] = medians(lambda n: base.graph.neighbours(keys[n % len(keys)], depth=3))
    [hybrid] = medians(lambda n: base.search.hybrid(f"word{n}", QueryConstraints(scope=SCOPE)))
    base.close()
    shard.close()
    (mapped, own), (mapped_before, own_before) = resident(home / "ours"), resident(home / "empty")
    return [
        Row(f"knowledge: insert {size} nodes with edges, engine and SQLite alone", raw, "s", None),
        Row(f"knowledge: insert {size} nodes with edges", ours, "s", 10 if count <= 10_000 else 120),
        Row(f"knowledge: insert {size}, of engine and SQLite alone", ours / raw, "times", 2),
        Row(f"knowledge: insert one more into {size}, median", single, "ms", 1),
        Row(
            f"knowledge: memory of {size} nodes in a new process, graph and all",
            own - own_before,
            "MB",
            50 * count / 10_000,
        ),
        Row(f"knowledge: ... with the pages of files that are mapped, for {size}", mapped - mapped_before, "MB", None),
        Row(f"knowledge: search k=10 among {size}, engine alone, median", raw_ms, "ms", None),
        Row(f"knowledge: search k=10 among {size}, median", our_ms, "ms", 5 if count <= 10_000 else 20),
        Row(f"knowledge: search among {size}, of the engine alone", our_ms / raw_ms, "times", 1.5),
        Row(f"knowledge: neighbours to depth 3 among {size}, median", walk, "ms", 10 if count <= 10_000 else None),
        Row(f"knowledge: hybrid query among {size}, median", hybrid, "ms", 50 if count <= 10_000 else None),
    ]


def gate(home: Path) -> list[Row]:
    """Questions about what is not there: what a No costs, and how seldom there is a Maybe instead."""
    vectors = np.random.default_rng(1).standard_normal((100, DIMENSIONS)).astype(np.float32)
    letters = "abcdefghijklmnopqrstuvwxyz"
    misses = [f"zebra giraffe lion {letters[n % 26]}{letters[n // 26 % 26]}{letters[n // 676]}q" for n in range(5000)]
    with KnowledgeBase(home / "gate", embedder=Prepared(vectors)) as base:
        base.insert(nodes(10_000))
        times = {text: taken(lambda text=text: base.allows(Domain.CODE, text)) * 1e6 for text in misses}
        denied = [text for text in misses if isinstance(base.allows(Domain.CODE, text), No)]
        with mock.patch.object(EdgeVectors, "search", autospec=True, side_effect=EdgeVectors.search) as search:
            for text in denied:
                base.search.by_words(text, 10, scope=SCOPE)
    return [
        Row("knowledge: a miss at the gate, new each time, median", statistics.median(times.values()), "us", 50),
        Row("knowledge: misses that the gate lets through", 100 * (1 - len(denied) / len(misses)), "%", 3),
        Row("knowledge: searches of the vectors for what the gate denies", search.call_count, "", 0),
    ]


def memories(home: Path) -> list[Row]:
    """What was done on a repository, of many sessions: to remember it, to find it, and to see what a planner has."""
    with KnowledgeBase(home / "memories") as base:
        service = CodeService(base)
        given = [
            Memory(
                id=f"s-{number // 40}#{number}",
                domain="history",
                kind="pattern",
                title=f"{WORDS[number % 16]} {WORDS[number // 16 % 16]}: done",
                text=f"{WORDS[number % 7]} was made to {WORDS[number % 13]} the {WORDS[number % 11]} {number}.",
                session=f"s-{number // 40}",
            )
            for number in range(MEMORIES)
        ]
        began = time.perf_counter()
        for start in range(0, MEMORIES, 500):
            service.handle(Remember(root=SCOPE, memories=given[start : start + 500]))
        kept = time.perf_counter() - began
        recall, nothing, preflight = medians(
            lambda n: service.handle(Recall(query=f"how was {WORDS[n % 16]} {n} done", root=SCOPE)),
            lambda n: service.handle(Recall(query=f"zyxwv {'q' * (n % 40 + 3)}", root=SCOPE)),
            lambda n: service.handle(Preflight(topic=f"{WORDS[n % 16]} {WORDS[n % 5]}", root=SCOPE)),
        )
    return [
        Row(f"memories: {MEMORIES:,} are remembered", MEMORIES / kept, "a second", None, more_is_better=True),
        Row("memories: recall, median", recall, "ms", None),
        Row("memories: ... of what was never done, median", nothing, "ms", None),
        Row("memories: preflight over three domains, median", preflight, "ms", 50),
    ]


def measure() -> list[Row]:
    """All rows."""
    rows: list[Row] = []
    for count in (10_000, 100_000):
        with tempfile.TemporaryDirectory() as home:
            rows += of_size(count, Path(home))
    with tempfile.TemporaryDirectory() as home:
        rows += [*gate(Path(home)), *memories(Path(home))]
    return rows
