"""What one file of a package says of another: tests of functions, and documents of the code that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sylk_ray.codebase.chunks import cut
from sylk_ray.codebase.languages import GRAMMARS, PROSE
from sylk_ray.codebase.outline import Outline, SymbolKind
from sylk_ray.codebase.roles import Role, role_of
from sylk_ray.knowledge.words import pieces
from training.embedder.cleaning import prose, says_something, shortened
from training.embedder.pairs import Pair, document, of_the_file

_CALLABLE = (SymbolKind.FUNCTION, SymbolKind.METHOD)
_NAMED = re.compile(r"`{1,2}([A-Za-z_][\w.]*)(?:\([^)`]*\))?`{1,2}")
FEWEST = 2
"""Words of a name that a test may be known by."""


class Everything:
    """The files of one package."""

    def __init__(self) -> None:
        self._defined: dict[str, set[str]] = {}
        self._functions: dict[tuple[str, ...], list[tuple[Outline, str]]] = {}
        self._files: dict[str, tuple[str, str]] = {}
        self._tests: list[tuple[str, tuple[str, ...]]] = []
        self._said: list[tuple[str, str, list[str]]] = []

    def add(self, outline: Outline, text: str) -> None:
        """One of them, read."""
        role = role_of(outline.path, outline.language)
        if role is Role.TEST:
            self._tests += ((outline.path, words) for each in outline.symbols if (words := words_of_test(each.name)))
        elif outline.language in PROSE:
            self._add_sections(outline, text)
        elif role is Role.CODE and outline.language in GRAMMARS:
            self._files[outline.path] = (outline.language, of_the_file(outline, text, ""))
            for symbol in outline.symbols:
                self._defined.setdefault(symbol.name, set()).add(outline.path)
            for chunk in cut(outline, text):
                if chunk.symbol is not None and chunk.first and outline.symbols[chunk.symbol].kind in _CALLABLE:
                    name = outline.symbols[chunk.symbol].name
                    if len(words := pieces(name)) >= FEWEST:
                        code = re.sub(rf"\b{re.escape(name)}\b", " ", chunk.text)
                        self._functions.setdefault(words, []).append((outline, code))

    def pairs(self) -> Iterator[Pair]:
        """Once all are added."""
        for path, words in self._tests:
            for end in range(len(words) - 1, FEWEST - 1, -1):
                found = self._functions.get(words[:end], [])
                if len(found) == 1:
                    [(outline, code)] = found
                    kept = document("", outline.path, code)
                    yield Pair("test", " ".join(words), kept, path, outline.language)
                    break
        for path, said, names in self._said:
            places = [self._defined.get(name, set()) for name in names]
            for file in dict.fromkeys(place for each in places if len(each) == 1 for place in each):
                language, kept = self._files[file]
                yield Pair("section", said, kept, path, language)
                break

    def _add_sections(self, outline: Outline, text: str) -> None:
        lines = text.split("\n")
        for part in outline.parts:
            section = "\n".join(lines[part.start_line : part.end_line])
            names = [each.rpartition(".")[2] for each in _NAMED.findall(section)]
            said = prose(_NAMED.sub(" ", section))
            title = part.title.rpartition(" > ")[2]
            if names and says_something(said):
                self._said.append((outline.path, shortened(f"{title}. {said}"), names))


def words_of_test(name: str) -> tuple[str, ...]:
    """The words of a test's name behind ``test``; none if it is not a test's."""
    words = pieces(name)
    return words[1:] if words[:1] == ("test",) and len(words) > FEWEST + 1 else ()
