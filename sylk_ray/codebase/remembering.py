"""What was done, decided and found out while a codebase was worked on, kept and searched beside its code.

A memory is a node of the domain ``history`` or ``academic``, whose scope is the codebase's root: what is searched for
in one is found whichever session remembered it, and the gate answers for those that are certainly not there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sylk_ray.codebase.nothing import nothing_recalled
from sylk_ray.codebase.requests import (
    DomainCheck,
    Memory,
    Preflight,
    PreflightAnswer,
    ReadThroughAnswer,
    Recall,
    RecallAnswer,
    Remember,
    Remembered,
)
from sylk_ray.knowledge import Domain, KnowledgeBase, Node, NodeType, SearchFilter
from sylk_ray.knowledge.encoding import text_of
from sylk_ray.knowledge.gate import No
from sylk_ray.knowledge.vectors import Equals, Hit
from sylk_ray.knowledge.words import asked_words, words

READ = "read:"
"""Memos that begin so say how far a session's history has been read."""
BY_WORDS = 2.0
"""What saying all that is asked, without end, counts beside a cosine of 1. From 1.5 to 3 are as good. It is for the
built-in model; one whose cosines are all alike lets the words decide."""
LOOKED_AT = 4
"""Times as many are looked at as are told."""
_OTHERWISE = "Nothing has these words. Try other ones."


class Memories:
    """Of the codebases of a knowledge base. Threads may share it."""

    def __init__(self, base: KnowledgeBase, now: Callable[[], float] = time.perf_counter) -> None:
        self._base = base
        self._now = now

    def remember(self, asked: Remember) -> Remembered:
        """Keep them, all or none."""
        through = {f"{READ}{session}": str(number).encode() for session, number in asked.through.items()}
        with self._base.batch():
            changed = self._base.put([_node(each, asked.root) for each in asked.memories])
            if through:
                self._base.note(Domain.HISTORY, asked.root, through)
        return Remembered(root=asked.root, changed=len(changed))

    def read_through(self, root: str) -> ReadThroughAnswer:
        """How far each session's history has been read."""
        noted = self._base.memos(Domain.HISTORY, root, READ)
        return ReadThroughAnswer(
            root=root, through={name.removeprefix(READ): int(number) for name, number in noted.items()}
        )

    def recall(self, asked: Recall) -> RecallAnswer:
        """Those that say a word of the question, by that and by what they mean."""
        began = self._now()
        domain = Domain(asked.domain)
        only = SearchFilter(
            types=frozenset(NodeType(kind) for kind in asked.kinds),
            where=Equals("session", asked.session) if asked.session else None,
        )
        # In prose any name is in backquotes, and need not be there to the letter.
        query = asked.query.replace("`", " ")
        verdict = self._base.search.verdict(domain, query, asked.root, only)
        found: list[Memory] = []
        if not isinstance(verdict, No):
            by_words, by_meaning = self._base.search.both_ways(
                query, asked.k * LOOKED_AT, domain=domain, scope=asked.root, only=only
            )
            most = self._base.search.most_said(query, domain=domain, scope=asked.root) if by_words else 0.0
            keys = fused(by_words, by_meaning, most)[: asked.k]
            nodes = self._base.by_key(keys)
            found = [_memory(nodes[key]) for key in keys if key in nodes]
        took_ms = round((self._now() - began) * 1000, 3)
        if not found:
            return nothing_recalled(asked, verdict.hint if isinstance(verdict, No) else _OTHERWISE, took_ms)
        return RecallAnswer(query=asked.query, status="found", took_ms=took_ms, memories=found)

    def preflight(self, asked: Preflight, *, indexed: bool) -> PreflightAnswer:
        """From the gate where there is nothing, and by a few searches by words where there may be something. Whether
        there is code is not known of a codebase that is not ``indexed``."""
        there = {domain: self._has(domain, asked) for domain in Domain}
        domains = {
            domain.value: DomainCheck(exists=exists, hint=_HINTS[domain][0 if exists else 1])
            for domain, exists in there.items()
        }
        hints = [_PLANNING[domain, exists] for domain, exists in there.items() if (domain, exists) in _PLANNING]
        if not indexed:
            domains["code"] = DomainCheck(exists=False, hint=f"It is not known: {asked.root} is not indexed")
            hints[0] = "Whether there is code for it is not known: look"
        order = [name for domain, name in _WHO.items() if there[domain]]
        return PreflightAnswer(
            topic=asked.topic,
            domains=domains,
            planning_hints=[*hints, f"Suggested: {' -> '.join([*order, 'Engineer'])}"],
        )

    def _has(self, domain: Domain, asked: Preflight) -> bool:
        """Whether something there says most words of the topic, of those that say anything."""
        if isinstance(self._base.search.verdict(domain, asked.topic, asked.root), No):
            return False
        wanted = set(asked_words(asked.topic))
        found = self._base.search.by_words(asked.topic, LOOKED_AT, domain=domain, scope=asked.root, gated=False)
        return any(len(wanted & words(text_of(each.node)).keys()) > len(wanted) / 2 for each in found)


_HINTS = {
    Domain.CODE: ("There seems to be code for it", "No existing implementation"),
    Domain.HISTORY: ("Past work seems to concern it", "It was not worked on before"),
    Domain.ACADEMIC: ("It was researched before", "It was not researched"),
}
_PLANNING = {
    (Domain.CODE, False): "This is greenfield work (no existing code)",
    (Domain.CODE, True): "There is code to build on: read it before you plan",
    (Domain.HISTORY, True): "Historical context available: learn from the past",
    (Domain.ACADEMIC, True): "Best practices were found: follow them",
}
_WHO = {Domain.CODE: "Librarian", Domain.HISTORY: "Archivalist", Domain.ACADEMIC: "Academic"}


def fused(by_words: Sequence[Hit], by_meaning: Sequence[Hit], most: float) -> list[int]:
    """The keys of those found by words, by how much they say of the ``most`` there can be, and by how near they are.
    What only means something similar is not told: there always is something nearest."""
    cosines = {hit.key: hit.score for hit in by_meaning}
    # What is not among the nearest is as near as the last of them at most.
    farthest = min(cosines.values(), default=0.0)
    scores = {hit.key: BY_WORDS * hit.score / (most or 1.0) + cosines.get(hit.key, farthest) for hit in by_words}
    return sorted(scores, key=lambda key: (-scores[key], -key))


def _node(memory: Memory, root: str) -> Node:
    return Node(
        id=memory.id,
        domain=Domain(memory.domain),
        type=NodeType(memory.kind),
        scope=root,
        name=memory.title,
        content=memory.text,
        metadata={"session": memory.session, "task": memory.task, "at": memory.at},
    )


def _memory(node: Node) -> Memory:
    return Memory(
        id=node.id,
        domain="academic" if node.domain is Domain.ACADEMIC else "history",
        kind=node.type.value,  # pyright: ignore[reportArgumentType]
        title=node.name,
        text=node.content,
        session=str(node.metadata.get("session", "")),
        task=str(node.metadata.get("task", "")),
        at=float(node.metadata.get("at", 0.0)),
    )
