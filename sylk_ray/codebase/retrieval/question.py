"""What a query asks for: words, names of definitions, paths, and kinds of files."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from sylk_ray.codebase.roles import Role
from sylk_ray.knowledge.words import asked_words, pieces

_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->|/)[A-Za-z_$][\w$]*)*")
_SEPARATOR = re.compile(r"\.|::|#|->")
_PATH = re.compile(r"[\w.\-]+(?:/[\w.\-]+)+|[\w\-]+\.[A-Za-z]{1,5}\b")
_TESTS = "(?:(?:unit |integration )?tests?|test cases?|specs?|fixtures?|mocks?)"
_EXAMPLES = "(?:examples?|samples?|demos?|benchmarks?)"
_OF_SOMETHING = "(?= (?:for|of|that|which|covering|cover|about|showing|how)\\b)"
_SIGNS = {
    Role.TEST: rf"\b{_TESTS}{_OF_SOMETHING}|^{_TESTS}\b|\btested\b",
    Role.EXAMPLE: rf"\b{_EXAMPLES}{_OF_SOMETHING}|^{_EXAMPLES}\b|\btutorial\b",
    Role.DOCUMENT: r"\b(?:docs?|documentation|documented|readme|changelog|guide|manual)\b",
    Role.CONFIGURATION: r"\b(?:ini|makefile|dockerfile|cmake|ci|workflow|pyproject|package\.json|cargo)\b",
}
_ROLE_SIGNS = {role: re.compile(sign, re.I) for role, sign in _SIGNS.items()}
"""What in a question speaks of a kind of file. That something is read from JSON, or done in tests, does not."""


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
    roles: dict[Role, str]
    """Kinds of files that it speaks of, with the stem of the word that does."""
    is_name: bool
    """Whether it is nothing but a name."""


def read_question(text: str) -> Question:
    """What a query asks for."""
    stripped = text.strip().strip("`'\"")
    is_name = bool(_NAME.fullmatch(stripped)) and "/" not in stripped
    written = [found for found in _NAME.findall(text) if is_name or _is_code(found)]
    qualified = [".".join(part for part in _SEPARATOR.split(each) if part) for each in written]
    return Question(
        text=text,
        words=tuple(asked_words(text)),
        names=tuple(dict.fromkeys(each.rpartition(".")[2] for each in qualified)),
        qualified=tuple(dict.fromkeys(qualified)),
        paths=tuple(dict.fromkeys(_PATH.findall(text))),
        roles=dict(_roles(text)),
        is_name=is_name,
    )


def _roles(text: str) -> Iterator[tuple[Role, str]]:
    for role, sign in _ROLE_SIGNS.items():
        if found := sign.search(text):
            yield role, asked_words(found[0])[-1]


def _is_code(written: str) -> bool:
    """Whether a word of a sentence is the name of a definition: no sentence has camelCase, underscores or ``::``."""
    last = _SEPARATOR.split(written)[-1]
    if "_" in last.strip("_") or "::" in written or "#" in written or "->" in written:
        return True
    return len(pieces(last)) > 1 and not last.isupper() and last[1:] != last[1:].lower()
