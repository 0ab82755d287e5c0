from __future__ import annotations

import time
from collections.abc import Collection
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.routing import SCOPES, TARGETS, Intent, Route, classify, intents_of
from sylk_ray.routing.rules import rule_book
from tests.unit.routing.labelled import NOW


def route(text: str, agents: Collection[str] = tuple(TARGETS)) -> Route:
    return classify(text, agents=agents, now=NOW)


@pytest.mark.parametrize(
    ("text", "intent", "subject"),
    [
        ("where is the auth code", Intent.LOCATE, "authentication"),
        ("where is the auth middleware", Intent.LOCATE, "auth_middleware"),
        ("show me authentication", Intent.LOCATE, "authentication"),
        ("which file has the login code", Intent.LOCATE, "authentication"),
        ("find CreateSession", Intent.LOCATE, "create_session"),
        ("what is our caching strategy", Intent.PATTERN, "caching"),
        ("how do we handle caching", Intent.PATTERN, "caching"),
        ("what is our approach to caching", Intent.PATTERN, "caching"),
        ("how does CreateSession work", Intent.EXPLAIN, "create_session"),
        ("explain create_session()", Intent.EXPLAIN, "create_session"),
        ("what does CreateSession do", Intent.EXPLAIN, "create_session"),
    ],
)
def test_the_librarians_examples_of_the_spec(text: str, intent: Intent, subject: str):
    found = route(text)
    assert (found.target, found.intent, found.subject) == ("librarian", intent, subject)
    assert found.confident


def test_another_question_on_the_code_is_general():
    found = route("what languages are used")
    assert (found.target, found.intent) == ("librarian", Intent.GENERAL)


@pytest.mark.parametrize(
    ("text", "intent", "subject", "time_scope"),
    [
        ("how did we handle auth migration", Intent.HISTORICAL, "auth_migration", ""),
        ("what changed in API recently", Intent.ACTIVITY, "api", "recently"),
        ("recent changes to the api", Intent.ACTIVITY, "api", "recently"),
        ("who worked on the scheduler last week", Intent.ACTIVITY, "scheduler", "last_week"),
        ("did the auth migration work", Intent.OUTCOME, "auth_migration", ""),
        ("did it work", Intent.OUTCOME, "", ""),
        ("similar issues to this", Intent.SIMILAR, "", ""),
        ("where did we leave off", Intent.RESUME, "", ""),
        ("continue where we left off yesterday", Intent.RESUME, "", "yesterday"),
        ("pick up where we stopped", Intent.RESUME, "", ""),
    ],
)
def test_the_archivalists_examples_of_the_spec(text: str, intent: Intent, subject: str, time_scope: str):
    found = route(text)
    assert (found.target, found.intent, found.subject) == ("archivalist", intent, subject)
    assert found.time_scope == time_scope


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("find out why the tests failed yesterday", "tester"),
        ("find a way to make startup quicker and implement it", "architect"),
        ("how do we handle caching", "librarian"),
        ("how did we handle caching", "archivalist"),
        ("how do other projects handle caching", "academic"),
        ("what is our approach to rate limiting", "librarian"),
        ("what is the best approach to rate limiting", "academic"),
        ("did the tests pass", "tester"),
        ("did the migration succeed", "archivalist"),
        ("resume the paused workflow", "orchestrator"),
        ("resume my last session's work", "archivalist"),
    ],
)
def test_hard_negatives(text: str, target: str):
    assert route(text).target == target


@pytest.mark.parametrize("text", ["", "   ", "?", "xyzzy", "42", "🙂", "lorem ipsum dolor sit amet"])
def test_what_says_nothing_is_a_guess(text: str):
    assert not route(text).confident


def test_a_route_says_why():
    assert route("where is the parser").reasons == ("it asks where something is",)


def test_an_agent_that_is_named_gets_it_even_if_it_is_none_of_the_known_ones():
    assert route("ask the librarian what changed").target == "librarian"
    found = route("ask security_reviewer to look at this", agents=(*TARGETS, "security_reviewer"))
    assert found.target == "security_reviewer"


def test_without_the_right_agent_the_next_best_gets_it_unsurely():
    found = route("research best practices for rate limiting", agents=("librarian",))
    assert found.target in ("librarian", "guide")
    assert not found.confident
    assert "the academic would have got it, and is not here" in found.reasons


def test_the_same_text_gives_the_same_route():
    assert route("what changed yesterday") == route("what changed yesterday")


@given(st.text(max_size=300), st.sets(st.sampled_from(sorted(TARGETS))))
def test_any_text_gets_a_sound_route(text: str, agents: set[str]):
    found = classify(text, agents=agents, now=NOW)
    assert found.target in agents | {"guide"}
    assert found.intent in intents_of(found.target)
    assert found.time_scope in ("", *SCOPES)
    assert 0 <= found.confidence <= 1
    assert found.subject == found.subject.lower()
    assert not set(found.subject) & set(" -./")


@given(st.lists(st.sampled_from([*sorted(rule_book().vocabulary), "what", "is", "the", "we", "how"]), max_size=40))
def test_any_words_of_the_rules_get_a_sound_route(words: list[str]):
    assert classify(" ".join(words), now=NOW).target in TARGETS


@pytest.mark.parametrize("said", ["what is ", "how are ", "which tests ", "where a ", "did we ", "a_", "a.", '"', "A"])
def test_a_text_that_is_made_to_be_slow_is_not(said: str):
    route("warm")
    started = time.process_time()
    route(said * 5_000)
    assert time.process_time() - started < 0.5


def test_a_rule_says_an_intent_that_its_target_has():
    for rule in rule_book().rules:
        assert rule.target in (*TARGETS, "{agent}")
        assert rule.intent is None or rule.intent in intents_of(rule.target)


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("what changed today", "today"),
        ("what changed this morning", "today"),
        ("what changed yesterday", "yesterday"),
        ("what changed since yesterday's merge", "yesterday"),
        ("what changed on monday", "this_week"),
        ("what changed last friday", "last_week"),
        ("what changed over the weekend", "last_week"),
        ("what changed 3 days ago", "last_week"),
        ("what changed two days ago", "this_week"),
        ("what changed in the last 24 hours", "yesterday"),
        ("what changed in the past two weeks", "this_month"),
        ("what changed in october", "last_month"),
        ("what changed in december", "last_year"),
        ("what changed in march", "this_year"),
        ("what changed since 2026-11-24", "yesterday"),
        ("what changed on 2019-01-01", "earlier"),
        ("what changed on 2026-13-99", ""),
        ("what changed lately", "recently"),
        ("what changed 9999 years ago", "earlier"),
        ("what changed", ""),
    ],
)
def test_a_time_is_told_by_name_from_a_wednesday_in_november(text: str, scope: str):
    assert route(text).time_scope == scope


@pytest.mark.parametrize("day", range(1, 29))
def test_a_weekday_is_always_within_the_last_seven_days(day: int):
    now = datetime.fromisoformat(f"2026-02-{day:02}T09:00:00+00:00")
    assert classify("what changed on tuesday", now=now).time_scope in ("yesterday", "this_week", "last_week")


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("where is sylk_ray/dag/model.py", "sylk_ray_dag_model_py"),
        ("where is auth.go", "auth_go"),
        ("where is TokenBucket.take", "token_bucket_take"),
        ("where is HTTPServer", "http_server"),
        ("where is MAX_RETRIES", "max_retries"),
        ("where is the GitHub client", "github_client"),
        ("where are the rate limiters", "rate_limiting"),
        ("where is the throttling", "rate_limiting"),
        ("explain the invalidation of the cache", "cache_invalidation"),
        ("where are the retry policies", "retry_policy"),
        ("wheres teh autentication", "authentication"),
        ("where is it", ""),
    ],
)
def test_subjects_are_in_snake_case_with_synonyms_folded(text: str, subject: str):
    assert route(text).subject == subject
