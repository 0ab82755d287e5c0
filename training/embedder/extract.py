"""All pairs of a package, as a file that is kept: reading is the longest part, and is done once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import msgspec

import sylk_ray
from sylk_ray.codebase.languages import GRAMMARS
from sylk_ray.codebase.reading import read
from training.embedder import glosses
from training.embedder.crossing import Everything
from training.embedder.fetching import archive_of
from training.embedder.harvest import files
from training.embedder.packages import COPIED, NEVER, Package, never
from training.embedder.pairs import Pair, pairs_of
from training.embedder.whole_files import named_by, whole

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Pair]).decode
_TRAINING = ("cleaning.py", "crossing.py", "extract.py", "glosses.py", "harvest.py", "packages.py", "pairs.py")
_READING = ("chunks.py", "indexing/nodes.py", "languages.py", "outline.py", "roles.py")


@cache
def reading() -> str:
    """A checksum of the code that makes pairs, and of whose code it leaves out: what others have made is made anew."""
    product = Path(sylk_ray.__file__).parent
    codebase = product / "codebase"
    made_by = [Path(__file__).with_name(name) for name in _TRAINING]
    made_by += [product / "knowledge" / "words.py", *(codebase / name for name in _READING)]
    made_by += [*sorted((codebase / "reading").rglob("*.py")), *NEVER, COPIED]
    return hashlib.sha256(b"".join(path.read_bytes() for path in made_by)).hexdigest()


def place_of(package: Package, cache: Path) -> Path:
    """Where the pairs of a package lie when they have been made."""
    return named_by(cache / "pairs" / f"{package.sha256[:16]}.msgpack", reading(), package.extensions)


def extracted(package: Package, cache: Path) -> Path:
    """As ``place_of``; made if they are not there yet."""
    made = place_of(package, cache)
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        with whole(made) as file:
            file.write(_encode(list(_pairs(package, archive_of(package, cache)))))
    return made


def extract_all(packages: list[Package], cache: Path) -> None:
    """In as many processes as there are processors."""
    processes = ProcessPoolExecutor()
    try:
        jobs = [(package, processes.submit(extracted, package, cache)) for package in packages]
        for package, job in jobs:
            job.result()
            print(f"read {package.name} {package.version}", flush=True)
    finally:
        # What ends it in the middle does not wait for those that have not begun.
        processes.shutdown(cancel_futures=True)


def pairs_in(package: Package, cache: Path) -> list[Pair]:
    """Those that ``extracted`` made."""
    return _decode(extracted(package, cache).read_bytes())


def _pairs(package: Package, archive: Path) -> Iterator[Pair]:
    if package.extensions == ("glosses",):
        yield from glosses.pairs_in(archive)
        return
    everything = Everything()
    for path, text in files(package, archive, never()):
        outline = read(path, text)
        if outline.language in GRAMMARS:
            yield from pairs_of(outline, text)
        everything.add(outline, text)
    yield from everything.pairs()
