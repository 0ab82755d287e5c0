"""Which words the model has rows for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from sylk_ray.knowledge.words import identifiers, pieces
from training.embedder import preparing
from training.embedder.packages import Package
from training.embedder.pairs import Pair
from training.embedder.whole_files import named_by, whole

SIZE = 40_000
LONGEST = 24
"""Characters of a word with a row of its own."""
SAMPLED = 4
"""Every so-manieth pair's document is counted; questions are counted all."""


def of_packages(packages: Sequence[Package], cache: Path) -> list[str]:
    """Those of all pairs that are learned from, kept until these are others."""
    path = named_by(cache / "words.txt", preparing.choice_of(packages), SIZE, LONGEST, SAMPLED)
    if not path.exists():
        found: Counter[str] = Counter()
        for pairs in preparing.training_pairs(packages, cache):
            found.update(counted(pairs))
        with whole(path) as file:
            file.write("\n".join(chosen(found)).encode())
    return path.read_text("utf-8").split("\n")


def counted(pairs: Iterable[Pair]) -> Counter[str]:
    """In how many questions and documents each word is."""
    found: Counter[str] = Counter()
    for number, pair in enumerate(pairs):
        found.update({word for each in identifiers(pair.query) for word in pieces(each)})
        if number % SAMPLED == 0:
            found.update({word for each in identifiers(pair.document) for word in pieces(each)})
    return found


def chosen(found: Counter[str], size: int = SIZE) -> list[str]:
    """The most frequent words, the most frequent first, and every letter and digit of ASCII, which any other word of it
    can be cut into."""
    characters = set("abcdefghijklmnopqrstuvwxyz0123456789")
    fit = [(count, word) for word, count in found.items() if len(word) <= LONGEST and _is_a_word(word)]
    fit.sort(key=lambda each: (-each[0], each[1]))
    words = [word for _, word in fit if word in characters or len(word) > 1]
    rare = characters.difference(words[: size - len(characters)])
    frequent = [word for word in words if word not in rare]
    return [*frequent[: size - len(rare)], *sorted(rare)]


def _is_a_word(word: str) -> bool:
    """Long numbers, and random letters with digits, are data."""
    return not (word.isdigit() and len(word) > 4) and (word.isascii() or word.isalpha())
