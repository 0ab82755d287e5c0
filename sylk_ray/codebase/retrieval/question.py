"""What a query asks for: words, names of definitions, paths, and kinds of files."""

from __future__ import annotations

import re

import msgspec

from sylk_ray.codebase.roles import Role
from sylk_ray.knowledge.words import asked_words, pieces

_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->|/)[A-Za-z_$][\w$]*)*")
_SEPARATOR = re.compile(r"\.|::|#|->")
_PATH = re.compile(r"[\w.\-]+(?:/[\w.\-]+)+|[\w\-]+\.[A-Za-z]{1,5}\b")
_ROLE_SIGNS = {
    Role.TEST: "test tests tested testing spec specs fixture fixtures unittest mock mocks",
    Role.EXAMPLE: "example examples sample samples demo demos benchmark benchmarks tutorial",
    Role.DOCUMENT: "doc docs documentation documented readme changelog guide manual",
    Role.CONFIGURATION: "yaml yml toml json ini makefile dockerfile cmake ci workflow pyproject package.json cargo",
}
_ROLE_WORDS = {role: frozenset(signs.split()) for role, signs in _ROLE_SIGNS.items()}


class Question(msgspec.Struct, frozen=True):
    """A query, read."""

    text: str
    words: tuple[str, ...]
    """Stemmed, without those that say nothing."""
    names: tuple[str, ...]
    """What is written as the name of a definition is: the last part of each, as written."""
    qualified: tuple[str, ...]
    """The same, with what stands before it, joined by dots."""
    paths: tuple[str, ...]
    roles: frozenset[Role]
    """Kinds of files that it speaks of."""
    is_name: bool
    """Whether it is nothing but a name."""


def read_question(text: str) -> Question:
    """What a query asks for."""
    stripped = text.strip().strip("`'\"")
    is_name = bool(_NAME.fullmatch(stripped)) and "/" not in stripped
    written = [found for found in _NAME.findall(text) if is_name or _is_code(found)]
    qualified = [".".join(part for part in _SEPARATOR.split(each) if part) for each in written]
    words = frozenset(text.lower().split())
    return Question(
        text=text,
        words=tuple(asked_words(text)),
        names=tuple(dict.fromkeys(each.rpartition(".")[2] for each in qualified)),
        qualified=tuple(dict.fromkeys(qualified)),
        paths=tuple(dict.fromkeys(_PATH.findall(text))),
        roles=frozenset(role for role, signs in _ROLE_WORDS.items() if words & signs),
        is_name=is_name,
    )


def _is_code(written: str) -> bool:
    """Whether a word of a sentence is the name of a definition: no sentence has camelCase, underscores or ``::``."""
    last = _SEPARATOR.split(written)[-1]
    if "_" in last.strip("_") or "::" in written or "#" in written or "->" in written:
        return True
    return len(pieces(last)) > 1 and not last.isupper() and last[1:] != last[1:].lower()
