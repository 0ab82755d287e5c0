"""What it costs to index a repository, to search it meanwhile, and to embed what is in it."""

from __future__ import annotations

import shutil
import statistics
import sysconfig
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.knowledge import WORDS, medians, run_apart
from benchmarks.table import Row
from benchmarks.vectors import taken
from sylk_ray.codebase.indexing import Indexer
from sylk_ray.codebase.requests import Index, Search
from sylk_ray.codebase.service import CodeService
from sylk_ray.knowledge import KnowledgeBase
from sylk_ray.knowledge.embedding import StaticEmbedder

FILES = 1000
ASKED = (
    *("how is a lock released", "retry after an error", "parse the command line", "where is the configuration read"),
    *("encode a string as bytes", "print progress", "remove what is old", "a connection is closed by the other side"),
)

_ONE_CHANGE = """
import sys, time
from pathlib import Path
began = time.perf_counter()
from sylk_ray.codebase.indexing import Indexer
from sylk_ray.knowledge import KnowledgeBase
with KnowledgeBase(Path(sys.argv[1])) as base:
    Indexer(base, Path(sys.argv[2])).sync([sys.argv[3]])
    found = base.search.by_words(sys.argv[4], 1, scope=str(Path(sys.argv[2]).resolve()))
    assert found, "the change is not found"
    print(time.perf_counter() - began)
"""


_FIRST_QUESTION = """
import time
from sylk_ray.knowledge.embedding import StaticEmbedder
began = time.perf_counter()
StaticEmbedder().embed_query("how is a lock released")
print(time.perf_counter() - began)
"""


def repository(home: Path, count: int = FILES) -> Path:
    """Sources of packages that are installed here, copied: the same for every run with the same environment."""
    installed = Path(sysconfig.get_paths()["purelib"])
    root = home / "repository"
    found = (path for path in sorted(installed.rglob("*.py")) if 500 < path.stat().st_size < 60_000)
    wanted = (path for path in found if not {"tests", "test", "ray", "__pycache__"} & set(path.parts))
    for path, _ in zip(wanted, range(count), strict=False):
        to = root / path.relative_to(installed)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
    return root


def indexing(home: Path) -> list[Row]:
    root = repository(home)
    paths = sorted(root.rglob("*.py"))
    with KnowledgeBase(home / "index") as base:
        indexer = Indexer(base, root)
        began = time.perf_counter()
        report = indexer.sync()
        cold = time.perf_counter() - began
        changed = [_change(root, paths[n * 31 % len(paths)], n) for n in range(9)]
        resident: list[float] = []
        for path, word, write in changed:
            write()
            began = time.perf_counter()
            indexer.sync([path])
            found = base.search.by_words(word, 1, scope=indexer.scope)
            resident.append(time.perf_counter() - began)
            assert found, f"{word} is not found"
            assert found[0].node.path == path, f"{word} is found in {found[0].node.path}"
        unchanged = taken(indexer.sync)
        size = sum(path.stat().st_size for path in paths)
    fresh: list[float] = []
    for n in range(9, 14):
        path, word, write = _change(root, paths[n * 31 % len(paths)], n)
        write()
        fresh.append(float(run_apart(_ONE_CHANGE, str(home / "index"), str(root), path, word)))
    files = report.files
    return [
        Row(f"indexing: {files:,} files ({size / 2**20:.1f} MB) for the first time", cold, "s", 3),
        Row("indexing: for the first time", files / cold, "files/s", None, more_is_better=True),
        Row(f"indexing: look for changes in {files:,} files", unchanged * 1e3, "ms", None),
        Row("indexing: one changed file is found, median", statistics.median(resident) * 1e3, "ms", 300),
        Row("indexing: one changed file is found by a new process, median", statistics.median(fresh) * 1e3, "ms", 300),
    ]


def embedding(home: Path) -> list[Row]:
    lines = [path.read_text("utf-8", "replace").split("\n") for path in sorted(repository(home).rglob("*.py"))]
    texts = ["\n".join(each[n : n + 60]) for each in lines for n in range(0, len(each) - 59, 60)]
    loading = statistics.median(float(run_apart(_FIRST_QUESTION)) for _ in range(5))
    embedder = StaticEmbedder()
    embedder.embed(texts[:5])
    of_processor: list[float] = []
    for _ in range(2):
        began = time.process_time()
        embedder.embed(texts)
        of_processor.append(len(texts) / (time.process_time() - began))
    [question] = medians(lambda n: embedder.embed_query(f"{ASKED[n % len(ASKED)]} {WORDS[n % 16]}"))
    return [
        Row("embedding: documents of 60 lines, one core", of_processor[1], "a second", 20_000, more_is_better=True),
        Row("embedding: ... of new identifiers", of_processor[0], "a second", None, more_is_better=True),
        Row("embedding: loading, with the first question, median", loading * 1e3, "ms", 50),
        Row("embedding: a question, median", question, "ms", 0.2),
    ]


def meanwhile(home: Path) -> list[Row]:
    """Searches with pauses of 50 ms, in quiet and while another repository is indexed by the same process."""
    known, other = repository(home / "known"), repository(home / "other")
    with KnowledgeBase(home / "base") as base:
        service = CodeService(base)
        service.handle(Index(root=str(known)))

        def search(number: int) -> float:
            time.sleep(0.05)
            return taken(lambda: service.handle(Search(query=ASKED[number % len(ASKED)], root=str(known))))

        for number in range(len(ASKED)):
            search(number)
        quiet = [search(number) for number in range(10 * len(ASKED))]
        busy: list[float] = []
        with ThreadPoolExecutor(1) as threads:
            indexing = threads.submit(service.handle, Index(root=str(other)))
            while not indexing.done():
                busy.append(search(len(busy)))
        indexing.result()
    one, two = statistics.median(quiet), statistics.median(busy)
    return [
        Row("searching: in quiet, median", one * 1e3, "ms", None),
        Row("searching: while another repository is indexed, of that", two / one, "x", 2),
    ]


def _change(root: Path, path: Path, number: int) -> tuple[str, str, Callable[[], object]]:
    """A function more in a file, with a word that is nowhere else."""
    word = f"zyxwv{number}quux"
    text = path.read_text("utf-8", "replace") + f"\n\ndef {word}():\n    return {number}\n"
    return path.relative_to(root).as_posix(), word, lambda: path.write_text(text)


def measure() -> list[Row]:
    """All rows."""
    with tempfile.TemporaryDirectory() as home:
        parts = (indexing, meanwhile, embedding)
        return [row for part in parts for row in part(Path(home) / part.__name__)]
