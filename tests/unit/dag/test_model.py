from __future__ import annotations

from random import Random

import pytest

from sylk_ray.dag import Retry, did_you_mean, nearest


def test_a_back_off_grows_up_to_its_cap():
    retry = Retry(attempts=5, base_s=1, factor=3, max_s=20, jitter=0)
    assert [retry.delay_s(number, Random(1)) for number in (1, 2, 3, 4, 5000)] == [1, 3, 9, 20, 20]


def test_jitter_only_shortens():
    retry = Retry(attempts=1, base_s=10, jitter=0.5)
    delays = [retry.delay_s(1, Random(seed)) for seed in range(200)]
    assert 5 <= min(delays) < 6 < 9 < max(delays) <= 10


def test_no_base_means_no_delay_at_any_retry():
    assert Retry(base_s=0).delay_s(5000, Random(1)) == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Engineer", "engineer"), ("max-loops", "max_loops"), ("enginer", "engineer"), ("zzz", None)],
)
def test_the_nearest_name(name: str, expected: str | None):
    assert nearest(name, ["engineer", "max_loops"]) == expected


def test_no_hint_when_nothing_is_close():
    assert did_you_mean("zzz", ["engineer"]) == ""
