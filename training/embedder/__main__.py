"""Make the model's file: fetch, read, choose words, train, quantise, measure. What is done is not done again."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from sylk_ray.knowledge.embedding.model_file import SHIPPED, name_of
from sylk_ray.knowledge.embedding.vocabulary import Vocabulary
from training.embedder import preparing, vocabulary
from training.embedder.asking import answered
from training.embedder.comparing import compared, ways
from training.embedder.extract import extract_all
from training.embedder.fetching import archive_of
from training.embedder.packages import packages
from training.embedder.quantise import as_file
from training.embedder.written import whole

Made = TypeVar("Made")
CACHE = Path(__file__).parents[2] / ".cache" / "train-embedder"


def main() -> int:
    """Everything, or only the table of how good the shipped model is."""
    parser = argparse.ArgumentParser(prog="python -m training.embedder", description=__doc__)
    parser.add_argument("--cache", type=Path, default=CACHE, help="where what is fetched and made is kept")
    parser.add_argument("--to", type=Path, default=SHIPPED, help="the file to write")
    parser.add_argument("--measure", action="store_true", help="only measure the file, beside other embedders")
    parser.add_argument("--questions", type=Path, help="only answer the questions by hand about work trees in there")
    parser.add_argument("--ablations", action="store_true", help="only tell what helps, with what has been fetched")
    given = parser.parse_args()
    if given.questions:
        print(answered(given.questions, ways(given.to)))
        return 0
    if given.ablations:
        from training.embedder.helping import helps

        print(helps(given.cache))
        return 0
    if not given.measure:
        _make(given.cache, given.to)
    print(compared(packages(), given.cache, given.to))
    return 0


def _make(cache: Path, to: Path) -> None:
    every = packages()
    for package in every:
        _timed(f"fetch {package.name}", partial(archive_of, package, cache))
    _timed("read", lambda: extract_all(every, cache))
    words = _timed("choose words", lambda: _words(cache))
    arrays = cache / "training.npz"
    if not arrays.exists():
        made = preparing.as_training(preparing.training_pairs(every, cache), Vocabulary(words))
        with whole(arrays) as file:
            preparing.saved(made, file)
    from training.embedder.starting import reduced, start_of_words
    from training.embedder.train import Recipe, trained

    recipe = Recipe()
    first = reduced(_timed("start", lambda: start_of_words(words, cache)), recipe.dimensions)
    learned = _timed("train", lambda: trained(preparing.loaded(arrays), first, recipe))
    told = {key: value if isinstance(value, str) else json.dumps(value) for key, value in recipe._asdict().items()}
    file = as_file(learned, words, told)
    with whole(to) as written:
        written.write(file)
    print(f"{to}: {len(file):,} bytes; NAME = {name_of(file)!r}")


def _words(cache: Path) -> list[str]:
    path = cache / "words.txt"
    if not path.exists():
        found: Counter[str] = Counter()
        for pairs in preparing.training_pairs(packages(), cache):
            found.update(vocabulary.counted(pairs))
        with whole(path) as file:
            file.write("\n".join(vocabulary.chosen(found)).encode())
    return path.read_text("utf-8").split("\n")


def _timed(what: str, make: Callable[[], Made]) -> Made:
    began = time.monotonic()
    made = make()
    print(f"{what}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return made


if __name__ == "__main__":
    sys.exit(main())
