"""When a provider is left alone, and when it is tried again."""

from __future__ import annotations

from sylk_ray.llm.breaker import Breaker


def opened() -> Breaker:
    breaker = Breaker(failures=3, open_s=10, longest_open_s=25)
    for _ in range(3):
        assert breaker.admit(0)
        breaker.failed(0)
    return breaker


def test_failures_in_a_row_open_it_and_a_success_between_does_not():
    breaker = Breaker(failures=2)
    breaker.failed(0)
    breaker.succeeded()
    breaker.failed(1)
    assert breaker.state(1) == "closed"
    breaker.failed(2)
    assert breaker.state(2) == "open"
    assert not breaker.admit(2)


def test_after_a_while_one_call_may_try_and_its_success_closes_it():
    breaker = opened()
    assert (breaker.state(9.9), breaker.opens_in(4)) == ("open", 6)
    assert breaker.state(10) == "half_open"
    assert [breaker.admit(10), breaker.admit(10)] == [True, False]
    breaker.succeeded()
    assert (breaker.state(10), breaker.admit(10)) == ("closed", True)


def test_a_trial_that_fails_opens_it_for_twice_as_long_up_to_a_bound():
    breaker, now = opened(), 10.0
    for open_s in (20, 25, 25):
        assert breaker.admit(now)
        breaker.failed(now)
        assert breaker.opens_in(now) == open_s
        now += open_s
    assert breaker.admit(now)
    breaker.succeeded()
    for _ in range(3):
        breaker.failed(now)
    assert breaker.opens_in(now) == 10


def test_a_trial_that_was_given_up_leaves_the_way_to_the_next():
    breaker = opened()
    assert breaker.admit(10)
    breaker.abandoned()
    assert breaker.admit(10)


def test_calls_that_began_before_it_opened_do_not_keep_it_open():
    breaker = opened()
    breaker.failed(8)
    assert breaker.opens_in(8) == 2
