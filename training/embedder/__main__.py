"""Make the model's file: fetch, read, choose words, train, quantise, measure. What is done is not done again."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sylk_ray.knowledge.embedding.model_file import SHIPPED, name_of
from training.embedder import preparing, vocabulary
from training.embedder.comparing import compared, ways
from training.embedder.extract import extract_all
from training.embedder.fetching import Changed, fetch_all
from training.embedder.file_questions import answered
from training.embedder.packages import Package, packages
from training.embedder.quantise import as_file, softened
from training.embedder.recipe import RECIPES, SOFTENED, WAY, Recipe
from training.embedder.whole_files import named_by, whole

Made = TypeVar("Made")
CACHE = Path(__file__).parents[2] / ".cache" / "train-embedder"
NAMING = SHIPPED.with_name("shipped.py")
"""Where the name of the shipped model stands."""


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
        from training.embedder.ablations import helps

        print(helps(given.cache))
        return 0
    every = packages()
    try:
        if not given.measure:
            every = _timed("fetch", lambda: fetch_all(every, given.cache))
            _make(every, given.cache, given.to)
        print(compared(every, given.cache, given.to))
    except (Changed, ChildProcessError) as error:
        print(f"train-embedder: {error}\nWhat is done already is kept: run it again.", file=sys.stderr)
        return 1
    return 0


def _make(every: list[Package], cache: Path, to: Path) -> None:
    _timed("read", lambda: extract_all(every, cache))
    words = _timed("choose words", lambda: vocabulary.of_packages(every, cache))
    training = _timed("pairs", lambda: preparing.of_packages(every, words, cache))
    from training.embedder.starting import reduced, start_of_words
    from training.embedder.train import trained

    first = reduced(_timed("start", lambda: start_of_words(words, cache)), Recipe().dimensions)
    kept = named_by(cache / "model.pt", preparing.choice_of(every), words)
    learned = _timed("train", lambda: trained(training, first, kept=kept))
    recipes = [recipe._asdict() for recipe in RECIPES]
    told = {"recipes": json.dumps(recipes), "way": json.dumps(WAY), "softened": json.dumps(SOFTENED)}
    file = as_file(softened(learned, *SOFTENED), words, told)
    with whole(to) as written:
        written.write(file)
    if to == SHIPPED:
        named = re.sub(r'^NAME = ".*"$', f'NAME = "{name_of(file)}"', NAMING.read_text("utf-8"), flags=re.MULTILINE)
        with whole(NAMING) as naming:
            naming.write(named.encode())
    print(f"{to}: {len(file):,} bytes, {name_of(file)}")


def _timed(what: str, make: Callable[[], Made]) -> Made:
    began = time.monotonic()
    made = make()
    print(f"{what}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return made


if __name__ == "__main__":
    sys.exit(main())
