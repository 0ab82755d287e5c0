"""In front of every search: whether there can be anything to find at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from sylk_ray.knowledge.gate.keys import query_keys
from sylk_ray.knowledge.gate.views import Readable
from sylk_ray.knowledge.vectors.conditions import Condition


class No(msgspec.Struct, frozen=True):
    """There is nothing; searching would be in vain."""

    reason: str
    hint: str


class Maybe(msgspec.Struct, frozen=True):
    """Search."""


Verdict: TypeAlias = No | Maybe

MAYBE = Maybe()
NO_WORD = No("no document has any of these words", "use other words, or a part of the name")
NO_NAME = No("no document has a name that is in quotes", "leave out the quotes, or see how it is spelled")
NO_NODE = No("nothing meets the conditions", "leave out a condition, or look in a wider folder")


@dataclass
class Counts:
    """What became of the questions about a domain."""

    noes: int = 0
    maybes: int = 0
    unknown: int = 0
    """Let through because nothing could be said: no snapshot, no valid lease."""
    in_vain: int = 0
    """Of ``maybes``, those whose search then found nothing, as far as ``found_nothing`` was told."""


class Gate:
    """Asks what is published of each domain. Cheap enough to ask before every search: microseconds."""

    def __init__(self, domains: Mapping[str, Readable]) -> None:
        self._domains = domains
        self.counts = {domain: Counts() for domain in domains}

    def check(self, domain: str, text: str, where: Condition | None = None) -> Verdict:
        """No only if it is certain, as ``keys`` and ``facets`` say; a domain that is not known is let through."""
        readable = self._domains.get(domain)
        if readable is None:
            return MAYBE
        counts = self.counts[domain]
        verdict = self._judged(readable, text, where)
        # In this order: a lease that is valid after the view was asked was so when it was.
        if verdict is None or (verdict is not MAYBE and not readable.may_say_no()):
            counts.unknown += 1
            return MAYBE
        if verdict is MAYBE:
            counts.maybes += 1
        else:
            counts.noes += 1
        return verdict

    def _judged(self, readable: Readable, text: str, where: Condition | None) -> Verdict | None:
        view = readable.view
        if view is None:
            return None
        keys = query_keys(text)
        if not keys.says_nothing and not view.may_match(keys):
            return NO_NAME if keys.exact and not all(key in view for key in keys.exact) else NO_WORD
        if where is not None and not view.may_allow(where):
            return NO_NODE
        return MAYBE

    def has(self, domain: str, where: Condition) -> bool:
        """Whether a node seems to meet a condition. Neither answer is certain."""
        readable = self._domains.get(domain)
        view = readable.view if readable is not None else None
        return view is not None and view.may_allow(where)

    def also_exists_in(self, text: str, besides: str) -> list[str]:
        """Other domains that seem to have all of the words: worth a hint."""
        keys = query_keys(text)
        if keys.says_nothing:
            return []
        wanted = keys.any | keys.exact
        return [
            name
            for name, readable in self._domains.items()
            if name != besides and (view := readable.view) is not None and all(key in view for key in wanted)
        ]

    def found_nothing(self, domain: str) -> None:
        """The search that a ``Maybe`` let through was in vain."""
        if domain in self.counts:
            self.counts[domain].in_vain += 1

    def size(self) -> dict[str, int]:
        """Bytes of the snapshots, by domain."""
        return {name: each.view.snapshot.size for name, each in self._domains.items() if each.view is not None}
