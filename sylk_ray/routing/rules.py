"""The rules of free text, read from ``rules.toml`` and compiled."""

from __future__ import annotations

import re

import msgspec

from sylk_ray.routing.intents import Intent, intents_of
from sylk_ray.routing.tables import table

BY_NAME = "{agent}"
"""The target of a rule whose pattern captures the agent's name."""

_WORD = re.compile(r"(?<![\w\\\]])[a-z]{5,}(?![\w\[(?*+\\])")


class _Written(msgspec.Struct, forbid_unknown_fields=True):
    """A rule as it stands in the file."""

    says: str
    target: str
    weight: float
    pattern: str
    intent: Intent | None = None
    unless: str = ""


class _Normal(msgspec.Struct, forbid_unknown_fields=True):
    contractions: list[tuple[str, str]]
    openings: str
    not_typos: list[str]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    words: dict[str, str]
    rule: list[_Written]
    normal: _Normal
    confidence: list[tuple[float, float]]


class Rule(msgspec.Struct, frozen=True):
    """A sign in a text that speaks for one target."""

    says: str
    target: str
    intent: Intent | None
    weight: float
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None

    def found_in(self, text: str) -> re.Match[str] | None:
        found = self.pattern.search(text)
        return None if found is None or (self.unless is not None and self.unless.search(text)) else found


class RuleBook(msgspec.Struct, frozen=True):
    """All that ``rules.toml`` says."""

    rules: tuple[Rule, ...]
    contractions: dict[str, str]
    openings: re.Pattern[str]
    vocabulary: frozenset[str]
    """Words that patterns look for, into which a typo may be corrected."""
    not_typos: frozenset[str]
    confidence: tuple[tuple[float, float], ...]
    """(margin, confidence) in rising order: how sure it is that the best is right, by how far it is ahead."""


def rule_book() -> RuleBook:
    """Read anew. Raises msgspec.ValidationError, ValueError or re.error if the file in the package is broken."""
    written = table("rules.toml", _File)
    rules = tuple(_compiled(rule, written.words) for rule in written.rule)
    patterns = [rule.pattern.pattern for rule in rules] + list(written.words.values())
    words = {word for pattern in patterns for word in _WORD.findall(re.sub(r"\\[bwWdDsS]", " ", pattern))}
    return RuleBook(
        rules,
        dict(written.normal.contractions),
        re.compile(written.normal.openings),
        frozenset(words),
        frozenset(written.normal.not_typos),
        tuple(sorted(written.confidence)),
    )


def _compiled(rule: _Written, words: dict[str, str]) -> Rule:
    if rule.intent is not None and rule.intent not in intents_of(rule.target):
        raise ValueError(f'the rule "{rule.says}" gives {rule.target} the intent {rule.intent}')
    unless = re.compile(_filled(rule.unless, words)) if rule.unless else None
    return Rule(rule.says, rule.target, rule.intent, rule.weight, re.compile(_filled(rule.pattern, words)), unless)


def _filled(pattern: str, words: dict[str, str]) -> str:
    """With the lists in place of ``{name}``; ``{1,40}`` stays a count."""
    return re.sub(r"\{([a-z]+)\}", lambda found: words[found.group(1)], pattern)
