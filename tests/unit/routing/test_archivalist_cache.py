from __future__ import annotations

from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.errors import InputError
from sylk_ray.routing import INTENTS, ArchivalistCache, Asked, Intent, classify
from sylk_ray.routing.archivalist_cache import TTL_S
from tests.unit.routing.labelled import NOW
from tests.unit.routing.test_route_cache import Now

INTENTS_HERE = INTENTS["archivalist"]


def asked(
    intent: Intent,
    subject: str = "auth_migration",
    *,
    query: str = "q",
    session: str = "s",
    time_scope: str = "",
    confidence: float = 1.0,
) -> Asked:
    return Asked(
        session=session,
        query=query,
        intent=intent,
        subject=subject,
        time_scope=time_scope,
        confidence=confidence,
    )


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def cache(now: Now) -> ArchivalistCache:
    return ArchivalistCache(now)


def test_the_same_intent_and_subject_hit(cache: ArchivalistCache):
    cache.put(asked(Intent.HISTORICAL, query="how did we handle auth migration"), b"so")
    found = cache.get(asked(Intent.HISTORICAL, query="how was the login migration done"))
    assert found is not None
    assert (found.response, found.how, found.hits) == (b"so", "exact", 1)


def test_a_text_and_its_paraphrase_share_an_answer_through_the_classifier(cache: ArchivalistCache):
    said, again = "how did we handle auth migration", "what did we do about the login migration?"
    cache.put(Asked.of("s", said, classify(said, now=NOW)), b"so")
    assert cache.get(Asked.of("s", again, classify(again, now=NOW))) is not None


@pytest.mark.parametrize(
    "other",
    [asked(Intent.OUTCOME), asked(Intent.HISTORICAL, "billing"), asked(Intent.HISTORICAL, session="other")],
)
def test_another_intent_subject_or_session_misses_so_that_the_archivalist_is_asked(
    cache: ArchivalistCache, other: Asked
):
    cache.put(asked(Intent.HISTORICAL), b"so")
    assert cache.get(other) is None


@pytest.mark.parametrize("intent", INTENTS_HERE)
def test_an_answer_ends_by_the_time_of_its_intent(cache: ArchivalistCache, now: Now, intent: Intent):
    cache.put(asked(intent), b"so")
    now.at += TTL_S[intent] - 0.1
    assert cache.get(asked(intent)) is not None
    now.at += 0.1
    assert cache.get(asked(intent)) is None


def test_the_times_are_those_of_the_spec():
    minutes = {intent.value: seconds / 60 for intent, seconds in TTL_S.items()}
    assert minutes == {"historical": 60, "activity": 5, "outcome": 30, "similar": 45, "resume": 1, "general": 15}


@pytest.mark.parametrize("intent", INTENTS_HERE)
def test_a_new_entry_ends_activity_on_its_subject_and_the_resume_of_its_session_alone(
    cache: ArchivalistCache, intent: Intent
):
    cache.put(asked(intent), b"so")
    cache.entry_stored("auth_migration", "s")
    ended = intent in (Intent.ACTIVITY, Intent.RESUME)
    assert (cache.get(asked(intent)) is None) == ended


@pytest.mark.parametrize(
    ("kept", "stored", "ended"),
    [
        ("auth_migration", "auth", True),
        ("auth", "auth_migration", True),
        ("", "auth", True),
        ("auth", "", True),
        ("authorization", "auth", False),
        ("billing", "auth_migration", False),
    ],
)
def test_subjects_touch_when_one_is_part_of_the_other(cache: ArchivalistCache, kept: str, stored: str, ended: bool):
    cache.put(asked(Intent.ACTIVITY, kept), b"so")
    assert cache.entry_stored(stored, "elsewhere") == ended
    assert (cache.get(asked(Intent.ACTIVITY, kept)) is None) == ended


def test_a_new_entry_of_another_session_leaves_resume(cache: ArchivalistCache):
    cache.put(asked(Intent.RESUME, ""), b"so")
    cache.entry_stored("auth", "other")
    assert cache.get(asked(Intent.RESUME, "")) is not None


def test_any_activity_of_a_session_ends_its_resume_and_nobody_elses(cache: ArchivalistCache):
    for session in ("s", "other"):
        cache.put(asked(Intent.RESUME, "", session=session), b"so")
    assert cache.session_active("s") == 1
    assert cache.get(asked(Intent.RESUME, "", session="s")) is None
    assert cache.get(asked(Intent.RESUME, "", session="other")) is not None


def test_a_time_that_is_not_there_falls_back_on_no_time_and_not_the_other_way(cache: ArchivalistCache):
    cache.put(asked(Intent.HISTORICAL), b"all")
    found = cache.get(asked(Intent.HISTORICAL, time_scope="last_month"))
    assert found is not None
    assert (found.response, found.how) == (b"all", "broad")
    cache.put(asked(Intent.OUTCOME, time_scope="last_month"), b"month")
    assert cache.get(asked(Intent.OUTCOME)) is None
    assert cache.get(asked(Intent.OUTCOME, time_scope="yesterday")) is None


def test_the_exact_time_comes_before_no_time(cache: ArchivalistCache):
    cache.put(asked(Intent.HISTORICAL), b"all")
    cache.put(asked(Intent.HISTORICAL, time_scope="last_month"), b"month")
    found = cache.get(asked(Intent.HISTORICAL, time_scope="last_month"))
    assert found is not None
    assert found.response == b"month"


@pytest.mark.parametrize("confidence", [0.0, 0.79])
def test_an_unsure_question_is_found_by_its_words_alone(cache: ArchivalistCache, confidence: float):
    cache.put(asked(Intent.HISTORICAL, query="the auth thing"), b"sure")
    assert cache.get(asked(Intent.HISTORICAL, query="auth, how?", confidence=confidence)) is None
    cache.put(asked(Intent.HISTORICAL, query="auth, how?", confidence=confidence), b"unsure")
    found = cache.get(asked(Intent.HISTORICAL, query=" Auth,  how ", confidence=confidence))
    assert found is not None
    assert found.response == b"unsure"
    sure = cache.get(asked(Intent.HISTORICAL, confidence=0.8))
    assert sure is not None
    assert sure.response == b"sure"


def test_without_a_subject_only_what_is_about_everything_is_found_by_its_meaning(cache: ArchivalistCache):
    for intent in INTENTS_HERE:
        cache.put(asked(intent, "", query="one"), b"so")
    found = {intent for intent in INTENTS_HERE if cache.get(asked(intent, "", query="two"))}
    assert found == {Intent.ACTIVITY, Intent.RESUME}


def test_general_questions_on_one_subject_are_different_questions(cache: ArchivalistCache):
    cache.put(asked(Intent.GENERAL, query="list the decisions on caching"), b"so")
    assert cache.get(asked(Intent.GENERAL, query="how many notes on caching")) is None
    assert cache.get(asked(Intent.GENERAL, query="List the decisions on caching?")) is not None


VECTORS = {
    "deadlock": (1.0, 0.0),
    "0.81": (0.81, 0.5864),
    "0.80": (0.8, 0.6),
    "0.79": (0.79, 0.6131),
    "none": (0.0, 0.0),
}


@pytest.mark.parametrize(("query", "found"), [("0.81", True), ("0.80", True), ("0.79", False), ("none", False)])
def test_a_similar_question_of_the_same_intent_hits_from_0_80_on(now: Now, query: str, found: bool):
    cache = ArchivalistCache(now, embed=VECTORS.__getitem__)
    cache.put(asked(Intent.SIMILAR, "lock", query="deadlock"), b"so")
    answer = cache.get(asked(Intent.SIMILAR, "other", query=query))
    assert (answer is not None) == found
    if answer is not None:
        assert answer.how == "similar"


@pytest.mark.parametrize(
    "other",
    [
        asked(Intent.OUTCOME, "x", query="0.81"),
        asked(Intent.SIMILAR, "x", query="0.81", time_scope="yesterday"),
        asked(Intent.SIMILAR, "x", query="0.81", session="other"),
    ],
)
def test_similarity_does_not_cross_intents_times_or_sessions(now: Now, other: Asked):
    cache = ArchivalistCache(now, embed=VECTORS.__getitem__)
    cache.put(asked(Intent.SIMILAR, "lock", query="deadlock"), b"so")
    assert cache.get(other) is None


def test_statistics_are_kept_by_intent(cache: ArchivalistCache):
    cache.put(asked(Intent.HISTORICAL), b"so", tokens=5_000)
    cache.get(asked(Intent.HISTORICAL))
    cache.get(asked(Intent.HISTORICAL, time_scope="today"))
    cache.get(asked(Intent.OUTCOME))
    cache.put(asked(Intent.ACTIVITY), b"so")
    cache.entry_stored("auth", "s")
    told = cache.statistics()
    historical = told.by_intent[Intent.HISTORICAL]
    assert (historical.hits, historical.broad, historical.misses, historical.hit_rate) == (2, 1, 0, 1.0)
    assert (told.by_intent[Intent.OUTCOME].misses, told.by_intent[Intent.ACTIVITY].invalidations) == (1, 1)
    assert told.tokens_saved == 10_000
    assert told.hit_rate == pytest.approx(2 / 3)


def test_a_full_cache_evicts_from_the_session_that_has_the_most(now: Now):
    cache = ArchivalistCache(now, max_entries=4)
    cache.put(asked(Intent.HISTORICAL, session="quiet"), b"so")
    for number in range(20):
        cache.put(asked(Intent.HISTORICAL, f"subject_{number}", session="busy"), b"so")
    assert cache.get(asked(Intent.HISTORICAL, session="quiet")) is not None
    assert cache.get(asked(Intent.HISTORICAL, "subject_19", session="busy")) is not None
    assert cache.get(asked(Intent.HISTORICAL, "subject_3", session="busy")) is None
    assert (cache.statistics().entries, cache.statistics().evictions) == (4, 17)


def test_an_answer_that_is_larger_than_the_cache_is_not_kept(now: Now):
    cache = ArchivalistCache(now, max_bytes=5_000)
    assert not cache.put(asked(Intent.HISTORICAL), b"x" * 5_000)
    assert cache.put(asked(Intent.HISTORICAL), b"x" * 4_000)


def test_a_closed_session_leaves_nothing(cache: ArchivalistCache):
    cache.put(asked(Intent.HISTORICAL), b"so")
    assert cache.session_closed("s") == 1
    assert cache.statistics().entries == 0


def test_an_intent_of_the_librarian_is_refused(cache: ArchivalistCache):
    with pytest.raises(InputError, match="no intent of the Archivalist"):
        cache.put(asked(Intent.LOCATE), b"so")


def test_threads_can_use_it_at_once(now: Now):
    cache = ArchivalistCache(now, max_entries=50)
    failures: list[Exception] = []

    def use(session: str) -> None:
        try:
            for number in range(500):
                cache.put(asked(Intent.ACTIVITY, f"s{number % 70}", session=session), session.encode())
                found = cache.get(asked(Intent.ACTIVITY, f"s{number % 70}", session=session))
                assert found is None or found.response == session.encode()
                cache.entry_stored(f"s{number % 7}", session)
        except Exception as error:
            failures.append(error)

    threads = [Thread(target=use, args=(f"session-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert cache.statistics().entries <= 50


questions = st.builds(
    Asked,
    session=st.sampled_from(["a", "b", "c"]),
    query=st.sampled_from(["one", "two"]),
    intent=st.sampled_from(INTENTS_HERE),
    subject=st.sampled_from(["", "auth", "auth_migration", "api"]),
    time_scope=st.sampled_from(["", "today"]),
    confidence=st.sampled_from([0.5, 0.9]),
)


def everything_is_alike(_: str) -> tuple[float, ...]:
    return (1.0,)


@given(
    st.lists(st.tuples(questions, st.sampled_from(["put", "get", "store", "wait"]), st.integers(0, 2_000))),
    st.integers(1, 5),
    st.booleans(),
)
def test_bounds_and_sessions_hold_whatever_happens(steps: list[tuple[Asked, str, int]], most: int, embedded: bool):
    now = Now()
    cache = ArchivalistCache(now, embed=everything_is_alike if embedded else None, max_entries=most, max_bytes=6_000)
    for question, step, size in steps:
        if step == "put":
            cache.put(question, question.session.encode() + b"." * size)
        elif step == "store":
            cache.entry_stored(question.subject, question.session)
        elif step == "wait":
            now.at += 50
        else:
            found = cache.get(question)
            if found is not None:
                assert found.response.startswith(question.session.encode())
                assert now.at - found.created_at < TTL_S[question.intent]
        told = cache.statistics()
        assert told.entries <= most
        assert told.bytes <= 6_000
