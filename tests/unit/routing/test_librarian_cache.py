from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.errors import InputError
from sylk_ray.routing import INTENTS, Asked, FileChange, Intent, LibrarianCache, classify
from sylk_ray.routing.librarian_cache import TTL_S
from tests.unit.routing.labelled import NOW
from tests.unit.routing.test_route_cache import Now

FILES = {"src/auth/login.py": "1", "src/auth/token.py": "2"}
INTENTS_HERE = INTENTS["librarian"]


def asked(
    intent: Intent,
    subject: str = "authentication",
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
def cache(now: Now) -> LibrarianCache:
    return LibrarianCache(now)


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("where is the auth code", "show me authentication"),
        ("what is our caching strategy", "how do we handle caching"),
        ("how does CreateSession work", "explain create_session()"),
    ],
)
def test_the_variations_of_the_spec_share_an_answer(cache: LibrarianCache, said: str, again: str):
    cache.put(Asked.of("s", said, classify(said, now=NOW)), b"here", sources=FILES)
    found = cache.get(Asked.of("s", again, classify(again, now=NOW)))
    assert found is not None
    assert found.response == b"here"


@pytest.mark.parametrize("intent", INTENTS_HERE)
def test_an_answer_ends_by_the_time_of_its_intent(cache: LibrarianCache, now: Now, intent: Intent):
    cache.put(asked(intent), b"here", sources=FILES)
    now.at += min(TTL_S[intent], 10**9) - 0.1
    assert cache.get(asked(intent)) is not None
    now.at += 0.1
    assert (cache.get(asked(intent)) is None) == (intent is not Intent.LOCATE)


def test_the_times_are_those_of_the_spec():
    assert {intent.value: seconds / 60 for intent, seconds in TTL_S.items()} == {
        "locate": float("inf"),
        "pattern": 60,
        "explain": 30,
        "general": 15,
    }


def test_a_location_of_nothing_does_not_hold_for_ever(cache: LibrarianCache, now: Now):
    cache.put(asked(Intent.LOCATE), b"nowhere")
    now.at += 15 * 60
    assert cache.get(asked(Intent.LOCATE)) is None


@pytest.mark.parametrize("intent", INTENTS_HERE)
@pytest.mark.parametrize(
    ("change", "ended"),
    [
        (FileChange("src/auth/login.py", "9"), {Intent.LOCATE, Intent.EXPLAIN}),
        (FileChange("src/auth/login.py", ""), {Intent.LOCATE, Intent.EXPLAIN, Intent.PATTERN}),
        (FileChange("src/auth/new.py", "9", added=True), {Intent.PATTERN}),
        (FileChange("src/auth/other.py", "9"), set[Intent]()),
        (FileChange("src/auth/login.py", "1"), set[Intent]()),
        (FileChange("src/billing/new.py", "9", added=True), set[Intent]()),
    ],
)
def test_a_changed_file_ends_the_answers_that_rest_on_it(
    cache: LibrarianCache, intent: Intent, change: FileChange, ended: set[Intent]
):
    cache.put(asked(intent), b"here", sources=FILES)
    assert cache.file_changed(change) == (intent in ended)
    assert (cache.get(asked(intent)) is None) == (intent in ended)


def test_a_change_in_one_sessions_worktree_is_none_in_anothers(cache: LibrarianCache):
    for session in ("s", "other"):
        cache.put(asked(Intent.LOCATE, session=session), b"here", sources=FILES)
    cache.file_changed(FileChange("src/auth/login.py", "9"), session="s")
    assert cache.get(asked(Intent.LOCATE, session="s")) is None
    assert cache.get(asked(Intent.LOCATE, session="other")) is not None


@pytest.mark.parametrize(("count", "left"), [(100, 1), (101, 0)])
def test_above_100_changes_all_answers_go(cache: LibrarianCache, count: int, left: int):
    cache.put(asked(Intent.GENERAL), b"here", sources=FILES)
    cache.files_changed([FileChange(f"docs/{number}.md", "9") for number in range(count)])
    assert cache.statistics().entries == left


@pytest.mark.parametrize("latest", ["9", ""])
def test_an_answer_that_was_overtaken_by_a_change_is_not_kept(cache: LibrarianCache, latest: str):
    cache.file_changed(FileChange("src/auth/login.py", latest))
    assert not cache.put(asked(Intent.LOCATE), b"here", sources=FILES)
    assert cache.put(asked(Intent.LOCATE), b"here", sources={"src/auth/login.py": latest})


def test_sessions_do_not_share_answers(cache: LibrarianCache):
    cache.put(asked(Intent.LOCATE), b"here", sources=FILES)
    assert cache.get(asked(Intent.LOCATE, session="other")) is None


def test_an_unsure_question_goes_by_its_words(cache: LibrarianCache):
    cache.put(asked(Intent.LOCATE, query="auth?", confidence=0.5), b"guess", sources=FILES)
    assert cache.get(asked(Intent.LOCATE, query="where is auth")) is None
    assert cache.get(asked(Intent.LOCATE, query="AUTH", confidence=0.6)) is not None


def test_a_similar_question_hits_once_there_is_an_embedder(now: Now):
    vectors = {"where is the auth code": (1.0, 0.2), "show me who may do what": (1.0, 0.3), "the weather": (-1.0, 1.0)}
    cache = LibrarianCache(now, embed=vectors.__getitem__)
    cache.put(asked(Intent.LOCATE, query="where is the auth code"), b"here", sources=FILES)
    found = cache.get(asked(Intent.LOCATE, "authorization", query="show me who may do what"))
    assert found is not None
    assert found.how == "similar"
    assert cache.get(asked(Intent.LOCATE, "weather", query="the weather")) is None
    assert cache.get(asked(Intent.EXPLAIN, "authorization", query="show me who may do what")) is None
    cache.file_changed(FileChange("src/auth/login.py", "9"))
    assert cache.get(asked(Intent.LOCATE, "authorization", query="show me who may do what")) is None


def test_statistics_are_kept_by_intent_with_the_tokens_saved(cache: LibrarianCache):
    cache.put(asked(Intent.LOCATE), b"here", sources=FILES)
    cache.get(asked(Intent.LOCATE))
    cache.get(asked(Intent.PATTERN))
    cache.file_changed(FileChange("src/auth/login.py", "9"))
    told = cache.statistics()
    assert (told.by_intent[Intent.LOCATE].hits, told.by_intent[Intent.LOCATE].invalidations) == (1, 1)
    assert told.by_intent[Intent.PATTERN].misses == 1
    assert (told.tokens_saved, told.hit_rate, told.entries) == (3_000, 0.5, 0)


def test_a_closed_session_leaves_nothing(cache: LibrarianCache):
    cache.put(asked(Intent.LOCATE), b"here", sources=FILES)
    assert cache.session_closed("s") == 1
    assert cache.get(asked(Intent.LOCATE)) is None


def test_an_intent_of_the_archivalist_and_a_cache_of_nothing_are_refused(cache: LibrarianCache, now: Now):
    with pytest.raises(InputError, match="no intent of the Librarian"):
        cache.put(asked(Intent.RESUME), b"here")
    with pytest.raises(InputError, match="holds nothing"):
        LibrarianCache(now, max_entries=0)


paths = st.sampled_from(["a/x.py", "a/y.py", "b/z.py"])
hashes = st.sampled_from(["1", "2"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.sampled_from(INTENTS_HERE),
            st.sampled_from(["auth", "api", "log"]),
            st.sampled_from(["put", "get", "change"]),
            paths,
            hashes,
        )
    ),
    st.integers(1, 4),
)
def test_a_location_never_outlives_its_file_and_bounds_hold(
    steps: list[tuple[str, Intent, str, str, str, str]], most: int
):
    cache = LibrarianCache(Now(), max_entries=most)
    current: dict[str, str] = {}
    for session, intent, subject, step, path, content in steps:
        question = asked(intent, subject, session=session)
        if step == "change":
            current[path] = content
            cache.file_changed(FileChange(path, content))
        elif step == "put":
            cache.put(question, f"{session} {path} {content}".encode(), sources={path: content})
        else:
            found = cache.get(question)
            if found is not None:
                whose, rests_on, read = found.response.decode().split()
                assert whose == session
                if intent in (Intent.LOCATE, Intent.EXPLAIN):
                    assert current.get(rests_on, read) == read
        assert cache.statistics().entries <= most
