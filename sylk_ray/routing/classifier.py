"""Free text to a route by rules: no model is asked, nothing is read, and the same text gives the same route."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import NamedTuple, TypeVar

from sylk_ray.routing.intents import ARCHITECT, ARCHIVALIST, GUIDE, LIBRARIAN, TARGETS, Intent, Route, intents_of
from sylk_ray.routing.normal import Normal
from sylk_ray.routing.rules import BY_NAME, Rule, RuleBook, rule_book
from sylk_ray.routing.subjects import Subjects, subjects
from sylk_ray.routing.time_scope import time_scope
from sylk_ray.routing.typos import Typos

K = TypeVar("K")

UNKNOWN = 0.3
"""The confidence when no rule speaks for any agent."""

_QUESTION = re.compile(r"^(?:what|which|where|who|whose|why|how|when|is|are|does|do|can|could|has|have)\b|\?\W*$")


def classify(text: str, *, agents: Collection[str] = tuple(TARGETS), now: datetime) -> Route:
    """Who should get this text, and what it asks.

    ``agents`` are those that can take it now; the Guide can always. ``now`` tells dates ("on monday"), in its own time
    zone. Never fails: a text that says nothing goes to the Guide, or on to a guess, with a confidence that says so.
    """
    return _classifier().route(text, agents, now)


class _Decision(NamedTuple):
    target: str
    intent: Intent
    confidence: float
    reasons: tuple[str, ...]


class Classifier:
    """One book of rules, ready to be asked."""

    def __init__(self, book: RuleBook, subjects_of: Subjects) -> None:
        self._book = book
        self._normal = Normal(book, Typos(book.vocabulary, book.not_typos | subjects_of.words))
        self._subjects = subjects_of

    def route(self, text: str, agents: Collection[str], now: datetime) -> Route:
        """As ``classify``."""
        plain = self._normal.of(text)
        target, intent, confidence, reasons = self._decision(plain, frozenset(agents) | {GUIDE})
        time = time_scope(plain, now)
        return Route(
            target=target,
            intent=intent,
            subject=self._subjects.of(text, f"{plain[: time.start]} , {plain[time.end :]}"),
            time_scope=time.scope if target == ARCHIVALIST else "",
            confidence=confidence,
            reasons=reasons,
        )

    def _decision(self, plain: str, here: frozenset[str]) -> _Decision:
        signs = list(self._signs(plain, here))
        totals = _totals((target, rule.weight) for target, rule in signs)
        present = {target: weight for target, weight in totals.items() if target in here}
        most = max(present.values(), default=0.0)
        absent = [target for target, weight in totals.items() if target not in here and weight > most]
        missing = tuple(f"the {target} would have got it, and is not here" for target in absent)
        if not present:
            target, reason = (GUIDE, "nobody else can take it") if absent else _guess(plain, here)
            return _Decision(target, Intent.GENERAL, UNKNOWN, (reason, *missing))
        target, margin = _best(present)
        own = sorted((rule for named, rule in signs if named == target), key=lambda rule: -rule.weight)
        intent, intent_margin = _intent(target, own)
        confidence = UNKNOWN if absent else self._confidence(min(margin, intent_margin))
        return _Decision(target, intent, confidence, (*(rule.says for rule in own), *missing))

    def _signs(self, plain: str, here: Collection[str]) -> Iterable[tuple[str, Rule]]:
        for rule in self._book.rules:
            found = rule.found_in(plain)
            if found is None:
                continue
            if rule.target != BY_NAME:
                yield rule.target, rule
            elif found["agent"] in here or found["agent"] in TARGETS:
                yield found["agent"], rule

    def _confidence(self, margin: float) -> float:
        return max((told for least, told in self._book.confidence if margin >= least), default=UNKNOWN)


def _intent(target: str, rules: Iterable[Rule]) -> tuple[Intent, float]:
    """The intent with the most weight, and how far it is ahead; an agent with one intent is always sure of it."""
    if len(intents_of(target)) == 1:
        return Intent.GENERAL, float("inf")
    totals = _totals((rule.intent, rule.weight) for rule in rules if rule.intent is not None)
    return _best(totals) if totals else (Intent.GENERAL, 0.0)


def _guess(plain: str, here: Collection[str]) -> tuple[str, str]:
    """Whom a text is for that no rule knows, and why."""
    if _QUESTION.search(plain):
        return (LIBRARIAN if LIBRARIAN in here else GUIDE), "a question that no rule knows"
    wish = len(plain.split()) > 2 and ARCHITECT in here
    return (ARCHITECT if wish else GUIDE), "no rule knows it"


def _totals(weights: Iterable[tuple[K, float]]) -> dict[K, float]:
    totals: dict[K, float] = defaultdict(float)
    for key, weight in weights:
        totals[key] += weight
    return totals


def _best(totals: Mapping[K, float]) -> tuple[K, float]:
    """The key with the most, the first of equals, and how far it is ahead of the next."""
    ranked = sorted(totals, key=lambda key: -totals[key])
    second = totals[ranked[1]] if len(ranked) > 1 else 0.0
    return ranked[0], totals[ranked[0]] - second


@cache
def _classifier() -> Classifier:
    book = rule_book()
    return Classifier(book, subjects(book.vocabulary | book.not_typos))
