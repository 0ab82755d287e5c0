from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.errors import InputError
from sylk_ray.routing import Route, RouteCache


class Now:
    """A clock that a test drives."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def now() -> Now:
    return Now()


def to(target: str, confidence: float = 0.9) -> Route:
    return Route(target=target, confidence=confidence)


def test_a_route_is_found_again_whatever_the_spaces(now: Now):
    cache = RouteCache(now)
    cache.put("where is  the parser ", to("librarian"))
    assert cache.get(" where is the\nparser") == to("librarian")
    assert cache.get("Where is the parser") is None


def test_a_guess_and_a_very_long_text_are_not_kept(now: Now):
    cache = RouteCache(now)
    assert not cache.put("hm", to("guide", 0.79))
    assert cache.put("ok", to("guide", 0.8))
    assert not cache.put("x" * 2_001, to("guide"))


def test_a_route_expires(now: Now):
    cache = RouteCache(now, ttl_s=60)
    cache.put("a", to("librarian"))
    now.at += 59.9
    assert cache.get("a") is not None
    now.at += 0.1
    assert cache.get("a") is None


def test_the_least_recently_used_goes_first(now: Now):
    cache = RouteCache(now, max_entries=2)
    cache.put("a", to("librarian"))
    cache.put("b", to("librarian"))
    cache.get("a")
    cache.put("c", to("librarian"))
    assert [text for text in "abc" if cache.get(text)] == ["a", "c"]
    assert cache.statistics().evictions == 1


def test_what_all_share_is_fallen_back_on_and_never_written(now: Now):
    shared = RouteCache(now)
    shared.put("a", to("librarian"))
    mine = RouteCache(now, shared=shared)
    before = shared.statistics()
    assert mine.get("a") == to("librarian")
    mine.put("b", to("tester"))
    assert shared.peek("b") is None
    assert shared.statistics() == before


def test_a_sessions_own_route_comes_before_the_shared_one(now: Now):
    shared = RouteCache(now)
    shared.put("a", to("librarian"))
    mine = RouteCache(now, shared=shared)
    mine.put("a", to("tester"))
    assert mine.get("a") == to("tester")


def test_sessions_do_not_see_each_others_routes(now: Now):
    shared = RouteCache(now)
    one, other = RouteCache(now, shared=shared), RouteCache(now, shared=shared)
    one.put("a", to("librarian"))
    assert other.get("a") is None


def test_routes_to_an_agent_that_left_are_gone_the_shared_ones_too(now: Now):
    shared = RouteCache(now)
    shared.put("c", to("tester"))
    mine = RouteCache(now, shared=shared)
    mine.put("a", to("tester"))
    mine.put("b", to("librarian"))
    assert mine.agent_left("tester") == 1
    assert mine.get("a") is None
    assert mine.get("b") is not None
    assert mine.get("c") is None
    mine.agent_joined("tester")
    assert mine.get("c") is not None


def test_an_agent_that_joins_may_have_been_meant(now: Now):
    cache = RouteCache(now)
    cache.put("research x", to("librarian"))
    assert cache.agent_joined("academic") == 1
    assert cache.get("research x") is None


def test_statistics_tell_what_became_of_every_question(now: Now):
    shared = RouteCache(now)
    shared.put("b", to("tester"))
    cache = RouteCache(now, shared=shared)
    cache.put("a", to("librarian"))
    for text in "abc":
        cache.get(text)
    cache.agent_left("librarian")
    told = cache.statistics()
    assert (told.hits, told.fallback_hits, told.misses, told.entries, told.invalidations) == (2, 1, 1, 0, 1)
    assert told.hit_rate == pytest.approx(2 / 3)
    assert RouteCache(now).statistics().hit_rate == 0


def test_a_cache_of_nothing_is_refused(now: Now):
    with pytest.raises(InputError):
        RouteCache(now, max_entries=0)


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["put", "get", "wait", "left"]))),
    st.integers(1, 4),
)
def test_it_never_holds_more_than_it_may_nor_gives_what_is_too_old(steps: list[tuple[str, str]], most: int):
    now = Now()
    cache = RouteCache(now, max_entries=most, ttl_s=10)
    kept: dict[str, float] = {}
    for text, step in steps:
        if step == "put":
            cache.put(text, to("librarian"))
            kept[text] = now.at
        elif step == "wait":
            now.at += 4
        elif step == "left":
            cache.agent_left("librarian")
            kept.clear()
        elif cache.get(text) is not None:
            assert now.at - kept[text] < 10
        assert cache.statistics().entries <= most
