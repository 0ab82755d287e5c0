"""What routing costs without an agent, and how often free text is understood: no cluster, no model."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from benchmarks.table import Row
from sylk_ray.routing import ArchivalistCache, Asked, LibrarianCache, RouteCache, classify, parse
from tests.unit.routing.labelled import NOW, Utterance, is_right, score, utterances

ROUNDS = 5

SAID = (
    '@to:librarian "find all files matching *.go"',
    '@broadcast:inspector,tester "validation complete"',
    '/task create_dashboard prompt "Focus on error handling first"',
    "/find --kind=type Mailbox",
    "where is the auth middleware",
)

T = TypeVar("T")


def each_us(do: Callable[[T], object], over: Iterable[T]) -> list[float]:
    """Microseconds of each call, sorted, over several rounds after one to warm up."""
    cases = list(over)
    for case in cases:
        do(case)
    taken: list[float] = []
    for _ in range(ROUNDS):
        for case in cases:
            started = time.perf_counter()
            do(case)
            taken.append((time.perf_counter() - started) * 1e6)
    return sorted(taken)


def classifying(said: list[Utterance]) -> list[Row]:
    taken = each_us(lambda text: classify(text, now=NOW), [each.text for each in said])
    return [
        Row("classification of free text, median", statistics.median(taken), "us", 1_000),
        Row("classification of free text, p99", taken[len(taken) * 99 // 100], "us", None),
    ]


def caches(said: list[Utterance]) -> list[Row]:
    """Hits in full caches, by a text that was said before."""
    routes = [(each.text, classify(each.text, now=NOW)) for each in said]
    seen, librarian, archivalist = (
        RouteCache(time.monotonic),
        LibrarianCache(time.monotonic),
        ArchivalistCache(time.monotonic),
    )
    for text, route in routes:
        seen.put(text, route)
    asked = {
        name: [Asked.of("s", text, route) for text, route in routes if route.target == name]
        for name in ("librarian", "archivalist")
    }
    for each in asked["librarian"]:
        librarian.put(each, b"here", sources={"a.py": "1"})
    for each in asked["archivalist"]:
        archivalist.put(each, b"so")
    confident = [text for text, route in routes if route.confident]
    return [
        Row("hit in the route cache, median", statistics.median(each_us(seen.get, confident)), "us", 1_000),
        Row(
            "hit in the librarian's intent cache, median",
            statistics.median(each_us(librarian.get, asked["librarian"])),
            "us",
            1_000,
        ),
        Row(
            "hit in the archivalist's intent cache, median",
            statistics.median(each_us(archivalist.get, asked["archivalist"])),
            "us",
            1_000,
        ),
    ]


def accuracy() -> list[Row]:
    """Of the held-out part against the bars, then of each target and intent; the tuned part to compare with."""
    tuned, held_out = score(utterances(held_out=False)), score(utterances(held_out=True))
    rows: list[Row] = []
    for part, told, bars in (("held out", held_out, (92, 88, 85)), ("tuned on", tuned, (None, None, None))):
        what = f"of {told.count} utterances {part}"
        rows += [
            Row(f"right target, {what}", told.target * 100, "%", bars[0], True),
            Row(f"right intent, {what}", told.intent * 100, "%", bars[1], True),
            Row(f"paraphrases that fold to one subject, {what}", told.paraphrase * 100, "%", bars[2], True),
            Row(f"confident (0.8 or more), {what}", told.confident * 100, "%", None, True),
            Row(f"right target and intent among the confident, {what}", told.confident_right * 100, "%", None, True),
        ]
    by_kind: dict[str, list[bool]] = {}
    for each in utterances(held_out=True):
        kind = f"{each.target}, {each.intent.upper()}" if each.intent else each.target
        by_kind.setdefault(kind, []).append(is_right(each, classify(each.text, now=NOW)))
    rows += [
        Row(f"right of the {len(right)} held out for {kind}", sum(right) / len(right) * 100, "%", None, True)
        for kind, right in by_kind.items()
    ]
    return rows


def measure() -> list[Row]:
    """All rows."""
    said = [*utterances(held_out=False), *utterances(held_out=True)]
    parsing = each_us(parse, SAID * 200)
    return [
        *classifying(said),
        Row("parsing of an utterance, median", statistics.median(parsing), "us", None),
        *caches(said),
        *accuracy(),
    ]
