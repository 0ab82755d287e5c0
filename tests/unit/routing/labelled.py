"""The labelled utterances, and how well they are classified."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec

from sylk_ray.routing import Intent, Route, classify

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
"""A Wednesday."""


class Utterance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One text, and what a person says it is."""

    text: str
    target: str
    intent: Intent | None = None
    subject: str | None = None
    time_scope: str | None = None
    paraphrase: bool = False
    held_out: bool = False


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of what was understood rightly; ``count`` utterances in all."""

    count: int
    target: float
    intent: float
    """Of those for the librarian and the archivalist: target and intent are both right."""
    paraphrase: float
    """Of the paraphrases: those that fold to the subject of their group."""
    subject: float
    time_scope: float
    confident: float
    """The share that is confident."""
    confident_right: float
    """Of the confident ones: target and intent are both right."""


@cache
def utterances(*, held_out: bool) -> tuple[Utterance, ...]:
    """One part of the file."""
    content = Path(__file__).with_name("utterances.yaml").read_bytes()
    return tuple(each for each in msgspec.yaml.decode(content, type=list[Utterance]) if each.held_out == held_out)


def is_right(said: Utterance, route: Route) -> bool:
    return said.target == route.target and said.intent in (None, route.intent)


def score(said: Iterable[Utterance]) -> Score:
    """Classify them all."""
    routes = [(each, classify(each.text, now=NOW)) for each in said]
    confident = [(each, route) for each, route in routes if route.confident]
    return Score(
        count=len(routes),
        target=_share(each.target == route.target for each, route in routes),
        intent=_share(is_right(each, route) for each, route in routes if each.intent is not None),
        paraphrase=_share(each.subject == route.subject for each, route in routes if each.paraphrase),
        subject=_share(each.subject == route.subject for each, route in routes if each.subject is not None),
        time_scope=_share(each.time_scope == route.time_scope for each, route in routes if each.time_scope),
        confident=len(confident) / len(routes),
        confident_right=_share(is_right(each, route) for each, route in confident),
    )


def _share(verdicts: Iterable[bool]) -> float:
    listed = list(verdicts)
    return sum(listed) / len(listed) if listed else 1.0
