"""The counters: what holding and tokens cost."""

from __future__ import annotations

import pytest

from sylk_ray.fairness.durations import Durations
from sylk_ray.fairness.pool import Pool, demand_of
from sylk_ray.fairness.service import LEAST_S, RecentService, Service
from sylk_ray.fairness.token_bucket import TokenBucket

CAPACITY = {"cpu": 10.0, "memory": 100.0}


def test_the_counter_is_the_integral_of_the_dominant_share_by_weight():
    service = Service(2.0, 0.0)
    service.hold(demand_of({"cpu": 2, "memory": 50}), 0.0, CAPACITY, 0.0)
    service.hold(demand_of({"cpu": 4, "disk": 7}), 0.0, CAPACITY, 10.0)
    assert service.share(CAPACITY) == pytest.approx(0.6), "6 of 10 cpu by now, before 50 of 100 memory"
    assert service.counter(CAPACITY, 20.0) == pytest.approx((10 * 0.5 + 10 * 0.6) / 2, abs=LEAST_S)


def test_a_lease_is_charged_ahead_then_by_the_clock():
    service = Service(1.0, 0.0)
    service.hold(demand_of({"cpu": 10}), 4.0, CAPACITY, 0.0)
    assert [round(service.counter(CAPACITY, at), 6) for at in (0.0, 2.0, 4.0, 6.0)] == [4, 4, 4, 6]
    assert service.settled(CAPACITY, 6.0) == pytest.approx(6)


def test_what_was_charged_ahead_comes_back_when_a_lease_ends_early():
    service = Service(1.0, 0.0)
    early = service.hold(demand_of({"cpu": 10}), 100.0, CAPACITY, 0.0)
    service.hold(demand_of({"cpu": 10}), 2.0, CAPACITY, 0.0)
    service.let_go(early, CAPACITY, 1.0)
    assert service.counter(CAPACITY, 1.0) == pytest.approx(2 + 1)


def test_work_that_takes_no_time_still_takes_its_turn():
    service = Service(1.0, 0.0)
    for _ in range(10):
        service.let_go(service.hold(demand_of({"cpu": 5}), 1.0, CAPACITY, 0.0), CAPACITY, 0.0)
    assert service.counter(CAPACITY, 0.0) == pytest.approx(10 * LEAST_S / 2)


def test_charges_that_ended_early_are_not_kept():
    service = Service(1.0, 0.0)
    for _ in range(10_000):
        service.let_go(service.hold(demand_of({"cpu": 1}), 3600.0, CAPACITY, 0.0), CAPACITY, 0.0)
    assert len(service._ends) < 200


def test_recent_service_is_of_the_last_minute():
    recent = RecentService()
    recent.add(100.0, 0.0, 100.0)
    assert recent.total(100.0) == pytest.approx(60, abs=1.1)
    assert recent.total(130.0) == pytest.approx(30, abs=1.1)
    assert recent.total(200.0) == 0
    for second in range(1_000):
        recent.add(1.0, 200.0 + second, 201.0 + second)
    assert len(recent._slots) <= 61


def test_durations_are_learnt_by_kind_and_their_number_is_bounded():
    durations, one = Durations(), demand_of({"cpu": 1})
    assert durations.estimate_s(one) == 1.0
    durations.learn(one, 10.0)
    durations.learn(one, 20.0)
    assert durations.estimate_s(one) == pytest.approx(13.0)
    for amount in range(2, 1_000):
        durations.learn(demand_of({"cpu": amount}), 5.0)
    assert (len(durations._average), durations.estimate_s(one)) == (64, 1.0)


def test_tenths_add_up():
    pool = Pool({"cpu": 1.0})
    for _ in range(10):
        assert pool.fits(demand_of({"cpu": 0.1}))
        pool.take(demand_of({"cpu": 0.1}))
    assert not pool.fits(demand_of({"cpu": 0.1}))
    for _ in range(10):
        pool.give_back(demand_of({"cpu": 0.1}))
    assert pool.held == {}


def test_a_bucket_goes_into_debt_fills_at_its_rate_and_holds_a_minutes_worth():
    bucket = TokenBucket(60.0, 0.0)
    bucket.take(100.0, 0.0)
    assert (bucket.positive(0.0), bucket.positive_at(0.0)) == (False, 41.0)
    assert bucket.positive(41.0)
    assert bucket.level(1_000.0) == 60
    bucket.take(-30.0, 1_000.0)
    assert bucket.level(1_000.0) == 60
    bucket.change(30.0, 1_000.0)
    assert bucket.level(1_000.0) == 30
