"""What is shown of a file: the lines around what was found, within a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from sylk_ray.knowledge.words import asked_words, words

MOST_LINES = 40
"""Of one snippet, as long as the budget allows."""
LEAST_LINES = 3
WIDEST, NARROW, NARROWEST = 1200, 80, 16
"""Characters of a line: as it is cut first, as it is cut before a line less is shown, and at the least."""
NEAR = 3
"""Lines between two chunks that are shown as one."""

_TOKEN = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]|_+|\n\s*")


class Window(msgspec.Struct, frozen=True):
    """Lines of a file, counted from 1, both ends included."""

    start: int
    end: int

    @property
    def lines(self) -> int:
        return self.end - self.start + 1


def tokens_of(text: str) -> int:
    """About how many tokens a model makes of a text, rather too many than too few: a word is one for each 6 letters."""
    return sum(1 + (len(part) - 1) // 6 if part[0].isalpha() else 1 for part in _TOKEN.findall(text))


def merged(windows: Sequence[Window]) -> Window:
    """The first window, with those of the others that touch it."""
    start, end = windows[0].start, windows[0].end
    for other in windows[1:]:
        if (
            other.start <= end + NEAR
            and other.end >= start - NEAR
            and max(end, other.end) - min(start, other.start) < MOST_LINES
        ):
            start, end = min(start, other.start), max(end, other.end)
    return Window(start, end)


def narrowed(lines: Sequence[str], window: Window, question: str, most: int = MOST_LINES) -> Window:
    """At most so many lines of a window: from its beginning, where a definition says what it is, unless the words of
    the question stand further down."""
    if window.lines <= most:
        return window
    asked = set(asked_words(question))
    hits = [
        number
        for number in range(window.start, min(window.end, len(lines)) + 1)
        if asked & words(lines[number - 1]).keys()
    ]
    best, most_hits = window.start, sum(number < window.start + most for number in hits)
    for hit in hits:
        start = min(max(window.start, hit - 2), window.end - most + 1)
        inside = sum(start <= number < start + most for number in hits)
        if inside > most_hits + 1:
            best, most_hits = start, inside
    return Window(best, best + most - 1)


def fitted(lines: Sequence[str], window: Window, question: str, budget: int) -> tuple[Window, str, int] | None:
    """A window that costs at most ``budget`` tokens, its text and what it costs. Where not even a few lines do, long
    ones are cut; None if the budget is for nothing."""
    most = min(window.lines, MOST_LINES)
    while most >= 1:
        chosen = narrowed(lines, window, question, most)
        text = "\n".join(lines[chosen.start - 1 : chosen.end])
        cost = tokens_of(text)
        if cost <= budget:
            return chosen, text, cost
        if most <= LEAST_LINES:
            break
        most = max(LEAST_LINES, min(most - 1, int(most * budget / cost)))
    return _cut(lines, narrowed(lines, window, question, most), budget)


def _cut(lines: Sequence[str], window: Window, budget: int) -> tuple[Window, str, int] | None:
    width = WIDEST
    while width >= NARROWEST:
        some = lines[window.start - 1 : window.end]
        text = "\n".join(line if len(line) <= width else f"{line[:width]} …" for line in some)
        cost = tokens_of(text)
        if cost <= budget:
            return window, text, cost
        if window.lines > 1 and width < NARROW:
            window, width = Window(window.start, window.end - 1), WIDEST
        else:
            width //= 2
    return None
