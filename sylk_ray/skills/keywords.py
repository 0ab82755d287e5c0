"""Which skills a text mentions, by an index from the first word of each keyword: the cost is that of the text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

_TOKEN = re.compile(r"\w+|[^\w\s]")
_GLUED = "\0"


class KeywordIndex:
    """Keywords are words, phrases or signs ("import", "what changed", "@to"), matched whole and in any case.

    A sign that follows a letter is another token than one that begins a word: "/" is in "/plan", and not in "src/auth".
    """

    def __init__(self) -> None:
        self._by_first: defaultdict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)

    def add(self, keyword: str, name: str) -> None:
        tokens = _tokens(keyword)
        if tokens:
            self._by_first[tokens[0]].append((tokens, name))

    def matches(self, text: str) -> list[str]:
        """The names of which a keyword is in the text: those with the longest first, then those with the most."""
        tokens = _tokens(text)
        found: set[tuple[tuple[str, ...], str]] = set()
        for position, token in enumerate(tokens):
            for entry in self._by_first.get(token, ()):
                if tokens[position : position + len(entry[0])] == entry[0]:
                    found.add(entry)
        counts = Counter(name for _, name in found)
        longest: Counter[str] = Counter()
        for keyword, name in found:
            longest[name] = max(longest[name], len(keyword))
        return sorted(counts, key=lambda name: (-longest[name], -counts[name], name))


def _tokens(text: str) -> tuple[str, ...]:
    folded = text.casefold()
    return tuple(_GLUED + token[0] if _glued(folded, token) else token[0] for token in _TOKEN.finditer(folded))


def _glued(text: str, token: re.Match[str]) -> bool:
    before = text[token.start() - 1] if token.start() else " "
    return not _is_word(token[0][0]) and _is_word(before)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
