"""What a skill tells a model of a codebase: the best of it, in so many tokens, and where the rest is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, SymbolFound
from sylk_ray.skills import count_tokens

MOST_TOKENS = 800
"""Of an answer, in the mean of what a model reads well at once (6.13)."""
_MORE = 16
"""Tokens that are kept for the line which says how much more there is."""

Ask = Callable[[AnyRequest], Awaitable[AnyAnswer]]
"""Answers a request about a codebase, wherever what is known of it is kept."""


class Told(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What was found, as text."""

    status: Literal["found"]
    text: str
    also_exists_in: list[str] = []
    """Other domains where words of the question occur."""
    tokens_used: int = 0
    budget: int = 0


class NoMatches(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """There is nothing; in as few tokens as can be (6.19)."""

    status: Literal["no_matches"]
    hint: str
    also_exists_in: list[str] = []


Answered = Told | NoMatches


class DomainResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one domain has of a question."""

    status: Literal["found", "no_matches"]
    count: int
    results: str = ""


Elsewhere = Mapping[str, Callable[[str, int], Awaitable[DomainResult]]]
"""Other domains by name, each asked with a question and a budget of tokens."""


class LibrarianContext(Protocol):
    """What the skills that look into a codebase need of the context that they are called with."""

    @property
    def ask(self) -> Ask: ...

    @property
    def root(self) -> str:
        """The absolute path of the codebase."""
        ...

    @property
    def elsewhere(self) -> Elsewhere:
        """The domains beside the code that can be asked."""
        ...


def found(text: str) -> Told:
    """An answer that has something."""
    return Told(status="found", text=text)


def nothing(hint: str, near: Sequence[str] = (), also_exists_in: Sequence[str] = ()) -> NoMatches:
    """An answer that has nothing; ``near`` are names that come close."""
    told = f"Did you mean {', '.join(near[:3])}?" if near else hint
    return NoMatches(status="no_matches", hint=told, also_exists_in=list(also_exists_in))


def within_budget(lines: Iterable[str], more: str, budget: int = MOST_TOKENS) -> str:
    """As many of the lines as the budget allows, and how many were left out; ``more`` says how to see them."""
    every = list(lines)
    kept: list[str] = []
    left = budget
    for number, line in enumerate(every):
        cost = count_tokens(line) + 1
        reserve = 0 if number == len(every) - 1 else _MORE
        if cost + reserve > left:
            break
        kept.append(line)
        left -= cost
    if len(kept) < len(every):
        kept.append(f"({len(every) - len(kept)} more: {more})")
    return "\n".join(kept)


def with_bodies(pieces: Sequence[tuple[str, str]], more: str, budget: int = MOST_TOKENS) -> str:
    """Headings with what stands below each: every heading first, as far as the budget goes, then bodies in order, the
    last one cut where the budget ends."""
    heads: list[str] = []
    left = budget - _MORE
    for head, _ in pieces:
        cost = count_tokens(head) + 2
        if cost > left:
            break
        heads.append(head)
        left -= cost
    told: list[str] = []
    for head, (_, body) in zip(heads, pieces, strict=False):
        fitting = _cut(body, left)
        left -= count_tokens(fitting) + 1 if fitting else 0
        told.append(f"{head}\n{fitting}" if fitting else head)
    if len(heads) < len(pieces):
        told.append(f"({len(pieces) - len(heads)} more: {more})")
    return "\n\n".join(told)


def _cut(body: str, budget: int) -> str:
    if count_tokens(body) + 1 <= budget:
        return body
    lines = body.split("\n")
    kept: list[str] = []
    left = budget - 3
    for line in lines:
        left -= count_tokens(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join([*kept, "…"]) if kept else ""


def place(path: str, start: int, end: int) -> str:
    """``path:first-last``, or the path alone for what has no lines."""
    if not start:
        return path
    return f"{path}:{start}" if end <= start else f"{path}:{start}-{end}"


def symbol_line(symbol: SymbolFound) -> str:
    """A definition in a line: where, what, its signature, and what it says of itself first."""
    where = place(symbol.path, symbol.start_line, symbol.end_line)
    told = f"{where} {symbol.kind} {symbol.symbol}".rstrip()
    if symbol.signature:
        told += f": {symbol.signature}"
    said = symbol.doc.strip().split("\n")[0]
    return f"{told}  # {said}" if said else told
