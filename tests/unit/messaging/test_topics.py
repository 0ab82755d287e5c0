"""Topics, patterns, and the trie that finds one by the other."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.messaging import Event
from sylk_ray.messaging.topics import (
    InvalidTopic,
    TopicTrie,
    matches,
    pattern_segments,
    reaches,
    session_topic,
    topic_segments,
)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("session.*.status", ["session.a.status"], ["session.status", "session.a.b.status", "session.a.state"]),
        ("*.requests", ["librarian.requests"], ["requests", "session.librarian.requests"]),
        ("session.a.#", ["session.a", "session.a.b", "session.a.b.c"], ["session", "session.b.c"]),
        ("#", ["a", "a.b.c"], []),
        ("session.*.*.#", ["session.a.b", "session.a.b.c"], ["session.a"]),
        ("a.b", ["a.b"], ["a", "a.b.c", "a.c"]),
    ],
)
def test_what_a_pattern_matches(pattern, matching, others):
    trie = TopicTrie[str]()
    trie.add(pattern, "it")
    assert [trie.match(topic) for topic in matching] == [["it"]] * len(matching)
    assert [trie.match(topic) for topic in others] == [[]] * len(others)


@pytest.mark.parametrize("topic", ["", ".", "a..b", "a.", ".a", "a b", "a/b", "é", ".".join("abcdefghijklmnopq")])
def test_what_is_no_topic(topic):
    with pytest.raises(InvalidTopic, match="is not a topic"):
        topic_segments(topic)
    with pytest.raises(InvalidTopic, match="is not a pattern"):
        pattern_segments(topic)


@pytest.mark.parametrize("pattern", ["#.a", "a.#.b", "a*", "a.b#", "**"])
def test_what_is_no_pattern(pattern):
    with pytest.raises(InvalidTopic, match="is not a pattern"):
        pattern_segments(pattern)


@pytest.mark.parametrize("topic", ["session.*.status", "a.#"])
def test_wildcards_are_for_subscribers(topic):
    with pytest.raises(InvalidTopic) as refused:
        topic_segments(topic)
    assert "only a pattern" in refused.value.hint


def test_a_sessions_topic():
    assert session_topic("s-7f3a", "engineer", "status") == "session.s-7f3a.engineer.status"


def test_one_pattern_gives_a_value_once_and_another_gives_it_again():
    trie = TopicTrie[str]()
    assert (trie.add("a.*", "x"), trie.add("a.*", "x"), trie.add("a.b", "x"), len(trie)) == (True, False, True, 2)
    assert trie.match("a.b") == ["x", "x"]
    assert (trie.discard("a.*", "x"), trie.discard("a.*", "x"), trie.discard("no.such", "x")) == (True, False, False)
    assert (trie.match("a.b"), len(trie)) == (["x"], 1)


names = st.sampled_from(["a", "b", "c"])
topics = st.lists(names, min_size=1, max_size=4).map(".".join)
patterns = st.builds(
    lambda parts, tail: ".".join([*parts, "#"] if tail or not parts else parts),
    st.lists(names | st.just("*"), max_size=4),
    st.booleans(),
)


def expression_of(pattern: str) -> str:
    """A pattern as a regular expression, written another way than the trie."""
    parts = ["[^.]+" if part == "*" else part for part in pattern.split(".")]
    if parts[-1] != "#":
        return r"\.".join(parts)
    return r"\.".join(parts[:-1]) + r"(\..+)?" if len(parts) > 1 else ".+"


@given(st.lists(st.tuples(patterns, st.integers(0, 3))), st.lists(st.integers(0, 50)), topics)
def test_it_finds_what_a_regular_expression_finds_and_nothing_is_left_of_what_was_taken_out(added, removed, topic):
    trie = TopicTrie[int]()
    there: set[tuple[str, int]] = set()
    for pattern, value in added:
        assert trie.add(pattern, value) is ((pattern, value) not in there)
        there.add((pattern, value))
    for index in removed:
        if index < len(added):
            assert trie.discard(*added[index]) is (added[index] in there)
            there.discard(added[index])
    expected = [value for pattern, value in there if re.fullmatch(expression_of(pattern), topic)]
    assert sorted(trie.match(topic)) == sorted(expected)
    assert len(trie) == len(there)
    for pattern, value in there:
        trie.discard(pattern, value)
    assert trie._root.empty


@given(patterns, topics)
def test_one_pattern_alone_is_matched_as_the_trie_does(pattern, topic):
    assert matches(pattern, topic) is (re.fullmatch(expression_of(pattern), topic) is not None)


@pytest.mark.parametrize(
    ("pattern", "reached"),
    [
        ("#", True),
        ("session.#", True),
        ("session.*.status", True),
        ("session.s-1.#", True),
        ("*.s-1.status", True),
        ("session.s-2.status", False),
        ("guide.sessions", False),
        ("session", False),
        ("*", False),
    ],
)
def test_which_patterns_could_match_something_of_a_session(pattern, reached):
    assert reaches(pattern, "s-1") is reached


@pytest.mark.parametrize(
    ("event", "topic"),
    [
        (Event("pipeline.phase", "s-1", by="orchestrator"), "session.s-1.orchestrator.pipeline"),
        (Event("passed", "s-1", by="tester"), "session.s-1.tester.passed"),
        (Event("pipeline.phase", "s-1", by="orchestrator/phases"), "session.s-1.orchestrator.phases"),
        (Event("job.finished", "s-1", by="orchestrator"), "session.s-1.status"),
        (Event("session.stalled", "s-1"), "session.s-1.status"),
        (Event("journal.repaired", "s-1"), "session.s-1.runtime.journal"),
        (Event("sessions.closed", "shared", by="guide"), "guide.sessions"),
        (Event("a b.c", "s.1", by="ex.tra"), "session.s_1.ex_tra.a_b"),
    ],
)
def test_the_topic_of_an_event(event, topic):
    assert event.topic == topic
    assert topic_segments(topic)
