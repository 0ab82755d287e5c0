"""What the Guide learns, that it stays small, and that nothing of it is lost in a compaction."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.context_window import (
    Bounds,
    FailedRouting,
    GuideSummary,
    Moment,
    RequestPattern,
    Routing,
    RoutingKnowledge,
    RoutingMatch,
    policy_of,
)
from sylk_ray.context_window.routing_knowledge import OTHERS
from tests.unit.context_window.world import World

MOMENT = Moment("s-1", "guide", 3, 7.0, 0.5, "checkpoint")


def knowledge_of(*routings: Routing, **bounds: int) -> RoutingKnowledge:
    made = RoutingKnowledge(Bounds(**bounds))
    for each in routings:
        made.observe(each)
    return made


def test_what_worked_is_known_and_counted():
    summary = knowledge_of(
        Routing("where is auth", "librarian", kind="LOCATE", confidence=0.8, seconds=2.0),
        Routing("where is auth", "librarian", kind="LOCATE", confidence=1.0, cached=True),
        Routing("plan it", "architect"),
    ).summary(MOMENT)
    assert (summary.session_id, summary.timestamp, summary.context_usage, summary.checkpoint_index) == (
        "s-1",
        7.0,
        0.5,
        3,
    )
    assert summary.known_routings == {"where is auth": "librarian", "plan it": "architect"}
    assert summary.frequent_matches[0] == RoutingMatch("where is auth", "librarian", 2, pytest.approx(0.9))
    assert summary.agent_capabilities == {"librarian": ("LOCATE",)}
    assert summary.request_patterns == (RequestPattern("LOCATE", 2, "where is auth"),)
    stats = summary.session_routing_stats
    assert (stats.routed, stats.failed, stats.cached, stats.by_agent) == (3, 0, 1, {"librarian": 2, "architect": 1})
    assert stats.mean_seconds == pytest.approx(2 / 3)


def test_what_failed_is_no_longer_known_until_it_works_again():
    knowledge = knowledge_of(
        Routing("plan it", "architect"),
        Routing("plan it", "architect", failure="no such agent", at=5.0),
        Routing("plan it", "architect", failure="timed out", at=6.0),
    )
    summary = knowledge.summary(MOMENT)
    assert summary.known_routings == {}
    assert summary.failed_routings == (FailedRouting("plan it", "architect", "timed out", 2, 6.0),)
    assert summary.session_routing_stats.failed == 2
    knowledge.observe(Routing("plan it", "architect"))
    assert knowledge.summary(MOMENT).failed_routings == ()


def test_a_failure_elsewhere_leaves_what_is_known():
    knowledge = knowledge_of(Routing("plan it", "architect"), Routing("plan it", "tester", failure="not mine"))
    assert knowledge.summary(MOMENT).known_routings == {"plan it": "architect"}


def test_agents_beyond_the_bound_are_counted_together():
    summary = knowledge_of(*(Routing("p", f"agent-{number}") for number in range(5)), agents=2).summary(MOMENT)
    assert summary.session_routing_stats.by_agent == {"agent-0": 1, "agent-1": 1, OTHERS: 3}


async def test_what_is_known_survives_a_compaction_and_a_crash():
    world = World()
    knowledge = knowledge_of(Routing("where is auth", "librarian", kind="LOCATE"), Routing("x", "y", failure="no"))
    memory = world.memory(policy_of("guide"), summarise=knowledge.summarise)
    await memory.observe(960)
    ((_, checkpoint),) = world.compacted
    in_context = msgspec.convert(checkpoint.summary, GuideSummary)
    assert in_context == knowledge.summary(checkpoint.moment)
    assert RoutingKnowledge(summary=in_context).summary(checkpoint.moment) == in_context


texts = st.sampled_from(["a", "b", "c", "d", "e", "long" * 10])
routings = st.lists(
    st.builds(
        Routing,
        texts,
        texts,
        kind=st.sampled_from(["", "LOCATE", "PATTERN", "EXPLAIN"]),
        confidence=st.floats(0, 1),
        cached=st.booleans(),
        failure=st.sampled_from(["", "", "", "no"]),
    ),
    max_size=80,
)
SMALL = Bounds(known=3, frequent=4, failed=2, patterns=2, agents=3, capabilities=2, characters=5)


@given(routings)
def test_it_stays_within_its_bounds(routings):
    knowledge = RoutingKnowledge(SMALL)
    for each in routings:
        knowledge.observe(each)
    summary = knowledge.summary(MOMENT)
    assert len(summary.known_routings) <= 3
    assert len(summary.frequent_matches) <= 4
    assert len(summary.failed_routings) <= 2
    assert len(summary.request_patterns) <= 2
    assert len(summary.agent_capabilities) <= 3
    assert all(len(shown) <= 2 for shown in summary.agent_capabilities.values())
    assert len(summary.session_routing_stats.by_agent) <= 4
    assert all(len(pattern) <= 5 for pattern in summary.known_routings)
    assert summary.session_routing_stats.routed == len(routings)


@given(routings)
def test_frequent_matches_miss_nothing_frequent_and_never_count_too_low(routings):
    knowledge = RoutingKnowledge(SMALL)
    for each in routings:
        knowledge.observe(each)
    exact = Counter((each.pattern[:5], each.agent[:5]) for each in routings if not each.failure)
    kept = {(each.pattern, each.agent): each for each in knowledge.summary(MOMENT).frequent_matches}
    for key, count in exact.items():
        assert key in kept or count <= exact.total() / 4
    for key, match in kept.items():
        assert match.count - match.overcount <= exact[key] <= match.count
        assert -1e-9 <= match.confidence <= 1 + 1e-9


@given(routings, routings)
def test_built_again_from_its_summary_it_goes_on_as_before(before, after):
    one = RoutingKnowledge()
    for each in before:
        one.observe(each)
    written = msgspec.json.encode(one.summary(MOMENT))
    other = RoutingKnowledge(summary=msgspec.json.decode(written, type=GuideSummary))
    for each in after:
        one.observe(each)
        other.observe(each)
    assert other.summary(MOMENT) == one.summary(MOMENT)
