from __future__ import annotations

import pytest

from sylk_ray.fairness import Capacity, FairShare, Group, InvalidRequest, Refused
from tests.unit.fairness.driven import said, want


def models(tokens: float = 6_000, slots: float = 8) -> FairShare:
    return FairShare(Capacity({"model:fast": slots, "tokens:fast": tokens}), now=0.0)


def call(key: str, tokens: float = 100, at: float = 0.0):
    return want(key, at=at, tokens={"fast": tokens}, **{"model:fast": 1})


def counter(share: FairShare, session: str, now: float = 0.0) -> float:
    return next(view.counter for view in share.snapshot(now).sessions if view.session == session)


def test_input_is_charged_at_the_start_and_output_as_it_becomes_known():
    share = models()
    holding = 1 / 8
    share.request(call("a/1", 1_000), "cell", 0.0)
    assert counter(share, "a") == pytest.approx(holding + 10)
    share.charge("a/1", 1_000, 500, 0.0)
    assert counter(share, "a") == pytest.approx(holding + 15)
    share.charge("a/1", 1_000, 500, 0.0)
    assert counter(share, "a") == pytest.approx(holding + 15), "the same again is no more"


def test_an_estimate_that_was_too_high_is_corrected_at_the_end():
    share = models()
    share.request(call("a/1", 3_000), "cell", 0.0)
    share.charge("a/1", 500, 100, 1.0)
    assert share.snapshot(1.0).sessions[0].tokens_used == 3_000
    share.release("a/1", 1.0)
    snapshot = share.snapshot(1.0)
    assert snapshot.sessions[0].tokens_used == 600
    assert snapshot.token_levels["fast"] == pytest.approx(5_500)
    assert counter(share, "a", 1.0) == pytest.approx(1 / 8 + 6)


def test_a_session_with_heavier_calls_gets_fewer_of_them():
    share = models(tokens=6_000_000, slots=1)
    for n in range(40):
        share.request(call(f"a/{n}", 400_000), "cell", 0.0)
        share.request(call(f"b/{n}", 100_000), "cell", 0.0)
    running, order = "a/0", ""
    for number in range(1, 31):
        (running,) = said(share.release(running, number * 2.0))
        order += running[0]
    assert 9 <= order.count("a") <= 11, "2 s of the slot and 4 s of tokens, against 2 s and 1 s: one to two"


def test_requests_wait_for_their_providers_bucket_and_the_wakeup_says_when():
    share = models(tokens=600)
    assert said(share.request(call("a/1", 700), "cell", 0.0)) == ["a/1"], "a positive bucket takes a large one"
    assert share.request(call("a/2"), "cell", 0.0) == []
    assert (
        share.place("a/2", 0.0) == '1st in line in its session; the provider "fast" is out of tokens, for 10.1 s more'
    )
    assert said(share.request(want("a/3", cpu=1), "cell", 0.0)) == ["a/3"], "who wants no tokens passes"
    share.heartbeat("cell", [call("a/1", 700), want("a/3", cpu=1)], [call("a/2")], 8.0)
    wakeup = share.next_wakeup(8.0)
    assert wakeup == pytest.approx(10.1)
    assert share.tick(10.0) == []
    assert said(share.tick(wakeup)) == ["a/2"]


def test_requests_wait_for_their_sessions_own_rate_while_others_go_on():
    share = models()
    share.set_group("a", Group(tokens_per_minute=60), 0.0)
    share.request(call("a/1", 61), "cell", 0.0)
    assert share.request(call("a/2"), "cell", 0.0) == []
    assert (
        share.place("a/2", 0.0) == "1st in line in its session; its session has used its tokens a minute, for 2 s more"
    )
    assert said(share.request(call("b/1"), "cell", 0.0)) == ["b/1"]
    assert share.next_wakeup(0.0) == pytest.approx(2.0)
    assert said(share.tick(2.0)) == ["a/2"]


def test_a_session_over_its_budget_is_refused_and_goes_on_with_a_larger_one():
    share = models(slots=1)
    share.set_group("a", Group(token_budget=1_000), 0.0)
    share.request(call("a/1"), "cell", 0.0)
    share.request(call("a/2"), "cell", 0.0)
    refused = share.charge("a/1", 100, 900, 1.0)
    assert said(refused) == ["Refused a/2"]
    assert refused[0].reason == 'the session "a" has used 1,000 of its 1,000 tokens'
    assert said(share.request(call("a/3"), "cell", 2.0)) == ["Refused a/3"]
    assert share.set_group("a", Group(token_budget=2_000), 3.0) == []
    assert share.request(call("a/4"), "cell", 3.0) == []
    assert said(share.release("a/1", 4.0)) == ["a/4"]


def test_what_was_used_before_a_restart_counts():
    share = models()
    share.set_group("a", Group(token_budget=1_000), 0.0, tokens_used=1_000)
    assert said(share.request(call("a/1"), "cell", 0.0)) == ["Refused a/1"]


def test_a_provider_without_tokens_is_refused():
    assert said(models(tokens=0).request(call("a/1"), "cell", 0.0)) == ["Refused a/1"]


def test_several_providers_in_one_request_are_told_apart():
    share = FairShare(Capacity({"tokens:x": 60, "tokens:y": 60}), now=0.0)
    share.request(want("a/1", tokens={"x": 10, "y": 10}), "cell", 0.0)
    with pytest.raises(InvalidRequest, match="several"):
        share.charge("a/1", 1, 1, 0.0)
    share.charge("a/1", 30, 0, 0.0, provider="y")
    assert share.snapshot(0.0).token_levels == {"x": 50, "y": 30}
    share.charge("a/unknown", 1, 1, 0.0)


@pytest.mark.parametrize(
    ("steps", "used", "level"),
    [
        ("request 100", 100, 900),
        ("request 100, charge 60", 100, 900),
        ("request 100, charge 160", 160, 840),
        ("request 100, charge 160, charge 160, charge 90", 160, 840),
        ("request 100, charge 60, release", 60, 940),
        ("request 100, charge 0, release", 0, 1_000),
        ("request 100, release", 100, 900),
        ("request 100, charge 60, in_all 60", 100, 900),
        ("request 100, charge 60, in_all 200", 240, 900),
        ("restore 100 60, in_all 60", 100, 960),
        ("restore 100 60, in_all 60, release", 60, 1_000),
        ("restore 100 160, in_all 160, charge 170, in_all 170", 170, 990),
        ("restore 100 60, open 360, release", 360, 1_000),
        ("in_all_of_another 60", 0, 1_000),
    ],
)
def test_what_is_charged(steps: str, used: float, level: float):
    """One call of the session ``a``; ``restore`` is its estimate and what it has used when it is taken up."""
    share = models(tokens=1_000)
    share.set_group("a", Group(), 0.0)
    for step in steps.split(", "):
        what, *amounts = step.split()
        first, *others = (float(amount) for amount in amounts) if amounts else (0.0,)
        if what == "request":
            share.request(call("a/1", first), "cell", 0.0)
        elif what == "restore":
            share.heartbeat("cell", [call("a/1", first)], [], 0.0, used={"a/1": others[0]})
        elif what == "charge":
            share.charge("a/1", first, 0, 0.0)
        elif what == "open":
            share.set_group("a", Group(), 0.0, tokens_used=first)
        elif what == "release":
            share.release("a/1", 0.0)
        else:
            share.used_in_all("a" if what == "in_all" else "b", first, 0.0)
    snapshot = share.snapshot(0.0)
    assert [view.session for view in snapshot.sessions] == ["a"]
    assert (snapshot.sessions[0].tokens_used, snapshot.token_levels["fast"]) == pytest.approx((used, level))


def test_tokens_that_only_the_holders_have_seen_count_for_the_budget():
    share = models(slots=1)
    share.set_group("a", Group(token_budget=800), 0.0)
    share.request(call("a/1"), "cell", 0.0)
    share.request(call("a/2"), "cell", 0.0)
    (refused,) = share.used_in_all("a", 700, 0.0)
    assert isinstance(refused, Refused)
    assert (refused.key, refused.over_budget) == ("a/2", True)


def test_what_waits_for_tokens_is_seen():
    share = models()
    share.set_group("a", Group(tokens_per_minute=60), 0.0)
    share.request(call("a/1", 61), "cell", 0.0)
    share.request(call("a/2"), "cell", 0.0)
    share.request(call("b/1"), "cell", 0.0)
    assert [view.waits_for_tokens for view in share.snapshot(0.0).sessions] == [pytest.approx(2.0), None]
