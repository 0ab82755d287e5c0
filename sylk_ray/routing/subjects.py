"""What a text is about, in snake_case: an identifier that it names, else its first noun phrase with synonyms folded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from sylk_ray.routing.normal import QUOTED, straightened
from sylk_ray.routing.tables import table
from sylk_ray.routing.typos import Typos

LONGEST = 4
"""Words of a subject: of a longer phrase the last ones, which are its core in English."""
LONGEST_IDENTIFIER = 80
"""Characters; what is longer is no name but an encoding."""
_ARTICLES = frozenset({"the", "our", "a", "an", "this", "that", "my", "your", "all", "any"})

_IDENTIFIER = re.compile(
    r"""
      (?<![\w/.])(?P<path>[\w.-]*(?:/[\w.-]+)+\.\w{1,4}|[\w-]+\.(?:py|go|ts|tsx|js|jsx|rs|java|rb|c|h|cpp|toml|yaml|yml|json|md|sql|sh))\b
    | \b(?P<call>[A-Za-z_]\w*(?:\.\w+)*)\(\)?
    | \b(?P<dotted>[A-Z]\w*(?:\.\w+)+)
    | \b(?P<snake>[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+)\b
    | \b(?P<camel>[A-Z]?[a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|[A-Z]{2,}[a-z]{2,}[A-Za-z0-9]*)\b
    """,
    re.VERBOSE,
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")


class _Concept(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    synonyms: list[str]
    short: str = ""


class _Words(msgspec.Struct, forbid_unknown_fields=True):
    stop: str
    generic: str
    brands: list[str]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    concept: list[_Concept]
    words: _Words


class _Term(NamedTuple):
    """A word that counts, or several that stand for one concept."""

    name: str
    short: str
    generic: bool = False


class _Run(NamedTuple):
    """Terms with no stop word between them."""

    terms: list[_Term]
    after_of: bool
    """Whether it belongs to the run before: "invalidation of the cache"."""

    @property
    def content(self) -> list[_Term]:
        """Without the generic words at its end: "auth code" is about auth, "code search" about more than search."""
        last = max((index for index, term in enumerate(self.terms) if not term.generic), default=-1)
        return self.terms[: last + 1]


class Subjects:
    """Extracts subjects by the concepts and word lists of ``subjects.toml``."""

    def __init__(self, written: _File, known: frozenset[str]) -> None:
        self._stop = frozenset(written.words.stop.split())
        self._generic = frozenset(written.words.generic.split())
        self._brands = frozenset(written.words.brands)
        self._concepts: dict[tuple[str, ...], _Term] = {}
        for concept in written.concept:
            term = _Term(concept.name, concept.short or concept.name)
            for synonym in (*concept.synonyms, concept.name.replace("_", " ")):
                self._concepts.setdefault(tuple(synonym.split()), term)
        self._longest = max(map(len, self._concepts))
        words = frozenset(word for key in self._concepts for word in key)
        self.words = words | self._stop | self._generic
        """All words that are known, and so are no typos."""
        self._typos = Typos(words, self.words | known)

    def of(self, original: str, normal: str) -> str:
        """``original`` as it was written, ``normal`` without openings and without what names a time."""
        text = straightened(original)
        identifier = self._identifier(text)
        if identifier:
            return identifier
        quoted = QUOTED.search(text)
        if quoted is not None and len(_WORD.findall(quoted.group())) <= LONGEST:
            subject = self._phrase(quoted.group().lower())
            if subject:
                return subject
        return self._phrase(normal)

    def _identifier(self, text: str) -> str:
        for found in _IDENTIFIER.finditer(text):
            if found.group() not in self._brands and found["camel"] not in self._brands:
                name = found["call"] or found.group()
                snake = re.sub(r"\W+", "_", _HUMP.sub("_", name)).strip("_").lower()
                if snake and not snake.isdecimal() and len(snake) <= LONGEST_IDENTIFIER:
                    return snake
        return ""

    def _phrase(self, text: str) -> str:
        """The first run with a word that is not generic, and what belongs to it by an "of"."""
        runs = self._runs([self._typos.corrected(word) for word in _WORD.findall(text)])
        for index, run in enumerate(runs):
            if run.content:
                owner = runs[index + 1].content if index + 1 < len(runs) and runs[index + 1].after_of else []
                return _joined(owner + run.content)
        return ""

    def _runs(self, words: Sequence[str]) -> list[_Run]:
        runs: list[_Run] = []
        between: list[str] = []
        open_run = False
        index = 0
        while index < len(words):
            length, term = self._term_at(words, index)
            if term is None:
                between.append(words[index])
                open_run = False
            elif open_run:
                runs[-1].terms.append(term)
            else:
                after_of = bool(runs) and between[:1] == ["of"] and _ARTICLES.issuperset(between[1:])
                runs.append(_Run([term], after_of))
                between = []
                open_run = True
            index += length
        return runs

    def _term_at(self, words: Sequence[str], index: int) -> tuple[int, _Term | None]:
        """How many words make the longest concept here, and that; else one, and the word, or None for a stop word."""
        for length in range(min(self._longest, len(words) - index), 0, -1):
            concept = self._concepts.get(tuple(words[index : index + length]))
            if concept is not None:
                return length, concept
        word = words[index].removesuffix("'s")
        if word in self._stop or len(word) == 1 or word.isdecimal():
            return 1, None
        if word in self._generic:
            return 1, _Term(word, word, generic=True)
        single = _singular(word)
        name = re.sub(r"\W", "_", single)
        return 1, self._concepts.get((single,), _Term(name, name))


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "ics")):
        return word[:-1]
    return word


def _joined(terms: Sequence[_Term]) -> str:
    if len(terms) == 1:
        return terms[0].name
    return "_".join(term.short for term in terms[-LONGEST:])


def subjects(known: frozenset[str]) -> Subjects:
    """Read anew. ``known`` are words that are no typos of a synonym. Raises msgspec.ValidationError."""
    return Subjects(table("subjects.toml", _File), known)
