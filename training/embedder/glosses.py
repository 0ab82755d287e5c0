"""WordNet as pairs: what a word means in other words, so that a question may use other words than the code.

Miller, WordNet: a lexical database for English (1995). The format of its files is described in its wninput(5).
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from training.embedder.pairs import Pair

_MEANING = re.compile(r"^\{(?P<before>[^(]*)\((?P<gloss>.*)\)\s*\}\s*$")
_WORD = re.compile(r"(?:^|[\s\[])([a-z][a-z_.'-]*)\d*,(?=\s)")
"""What is followed by a comma and a space; the comma after another synset's name is followed by the kind of pointer."""


def pairs_in(archive: Path) -> Iterator[Pair]:
    """A meaning's gloss, for the words that have it."""
    with tarfile.open(archive) as packed:
        for entry in sorted(packed.getmembers(), key=lambda each: each.name):
            if "/dict/dbfiles/" in entry.name and entry.isreg():
                file = packed.extractfile(entry)
                assert file is not None
                for line in file.read().decode("ascii", "replace").splitlines():
                    yield from pairs_of_line(line)


def pairs_of_line(line: str) -> Iterator[Pair]:
    """``{ word, word1, other,@ (gloss; "example") }``; names of people and places are left out."""
    found = _MEANING.match(line)
    if not found:
        return
    words = [word.replace("_", " ") for word in _WORD.findall(found["before"])]
    meaning = found["gloss"].partition('"')[0].strip(" ;")
    if words and len(meaning.split()) >= 3:
        yield Pair("gloss", meaning, " ".join(words), "", "english")
